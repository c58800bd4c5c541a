"""What each step counts: the same for all who are judged together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from blockcalc.check.run import Checked
from blockcalc.messages import say
from blockcalc.messages.words import listed, say_count, sentences
from blockcalc.notation.quantities import significant
from blockcalc.records import dataclass

FILE, ANSWERS, NAMED = "file", "answers", "named"


@dataclass(frozen=True)
class Points:
    """The points of every step that counts.

    Attributes
    ----------
    of : mapping
        By recorded name, in the order of the program.
    origin : str
        ``file``: FILE has points. ``answers``: the answers have them. ``named``: one for each step
        that is named in any of the answers.
    differing : tuple of str
        Steps to which the answers give different points; the first is taken.
    unused : bool
        Whether the answers have points too, and FILE's come before them.
    """

    of: Mapping[str, float]
    origin: str
    differing: tuple[str, ...] = ()
    unused: bool = False

    def rule(self) -> str:
        """Say what counts."""
        if not self.of:
            return say("points.named.none")
        said = [say_count(f"points.{self.origin}", len(self.of))]
        said += [say("points.differ", names=listed(self.differing))] if self.differing else []
        said += [say("points.unused")] if self.unused else []
        return sentences(said)


def points_of(all_checked: Sequence[Checked]) -> Points:
    """Choose what each step counts for all who are judged together.

    FILE comes before the answers, and these before one point for each step that any of them names.
    """
    first = all_checked[0]
    if first.points:
        unused = any(checked.matched.points for checked in all_checked)
        return Points(_in_order(first, first.points), FILE, unused=unused)
    found: dict[str, float] = {}
    differing: dict[str, None] = {}
    for checked in all_checked:
        for name, number in (checked.matched.points or {}).items():
            if found.setdefault(name, number) != number:
                differing[name] = None
    if found:
        return Points(_in_order(first, found), ANSWERS, tuple(differing))
    named = {name for checked in all_checked for name in checked.matched.named}
    return Points(_in_order(first, dict.fromkeys(named, 1.0)), NAMED)


def _in_order(checked: Checked, points: Mapping[str, float]) -> dict[str, float]:
    """Put steps in the order of the program."""
    program = checked.judgement.trace.program
    names: Iterable[str] = (*(r.name for r in program.inputs), *(e.out.name for e in program.equations))  # fmt: skip
    return {name: points[name] for name in names if name in points}


def shown(points: float) -> str:
    """Write points: 3, 2.5."""
    return significant(points, 6)
