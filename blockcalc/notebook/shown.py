"""Show pieces of a document: as HTML in a notebook, printed anywhere, and in one line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from blockcalc.errors import Fault, UsageError
from blockcalc.messages import say
from blockcalc.messages.words import described, require_word
from blockcalc.notation.signs import clean

if TYPE_CHECKING:
    from blockcalc.explain.depth import Depth
    from blockcalc.explain.document import Piece

MOST_TITLE = 48  # characters of a title in one line
Kind = TypeVar("Kind")


class Shown:
    """Base of what shows itself as pieces of a document."""

    def _pieces(self) -> Iterator[Piece]:
        """Make what is shown."""
        raise TypeError(type(self).__name__)

    def _repr_html_(self) -> str:
        """Give the HTML for a notebook."""
        from blockcalc.views.html.page import page

        return page(self._pieces())

    def show(self) -> None:
        """Print it, as the command line does."""
        printed(self._pieces())


def as_kind(kind: type[Kind], value: Any) -> Kind:
    """Give a value the manners of a subclass that adds no fields; its contents are shared."""
    if isinstance(value, kind):
        return value
    own = kind.__new__(kind)
    own.__dict__.update(value.__dict__)
    return own


def in_one_line(text: str | None) -> str:
    """Write a title for one line: in quotes, harmless, shortened.

    Examples
    --------
    >>> in_one_line("A block")
    "'A block'"
    """
    words = " ".join(clean(text or say("title.none")).split())
    short = words if len(words) <= MOST_TITLE else words[: MOST_TITLE - 1] + say("grid.gap.mark")
    return f"'{short}'"


def tokens(shape: Sequence[int]) -> str:
    """Count the tokens of an x of this shape.

    Examples
    --------
    >>> tokens((3, 4)), tokens((1, 4)), tokens((2, 3, 4))
    ('3 tokens', '1 token', '2 × 3 tokens')
    """
    if len(shape) > 2 and shape[0] > 1:
        return say("repr.batch", n=shape[-2], batch=shape[0])
    return say("repr.tokens.one" if shape[-2] == 1 else "repr.tokens", n=shape[-2])


def steps(n: int) -> str:
    """Count steps.

    Examples
    --------
    >>> steps(1), steps(24)
    ('1 step', '24 steps')
    """
    return say("repr.steps.one" if n == 1 else "repr.steps", n=n)


def printed(pieces: Iterable[Piece]) -> None:
    """Print pieces as the command line does."""
    from blockcalc.views.screen import make_console
    from blockcalc.views.terminal import Terminal

    Terminal(make_console()).print(pieces)


def depth_of(patterns: Sequence[Any], detail: str, digits: int, whole: bool) -> Depth:
    """Make the depth of what is shown from the arguments of ``show``.

    Raises
    ------
    UsageError
        A pattern is no text, ``detail`` no word for it, or ``digits`` out of range.
    """
    from blockcalc.explain.depth import Depth, Detail

    require_word(say("show.detail"), detail, [str(word) for word in Detail])
    for pattern in patterns:
        if not isinstance(pattern, str):
            raise UsageError(Fault(say("show.pattern", got=described(pattern))))
    if isinstance(digits, bool) or not isinstance(digits, int) or not 1 <= digits <= 17:
        raise UsageError(Fault(say("show.digits", got=described(digits))))
    names = tuple(name for p in patterns for part in p.split(",") if (name := part.strip()))
    return Depth(Detail(detail), digits, not names, bool(whole), names, pictures=True)
