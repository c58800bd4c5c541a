"""Text in HTML: formulas, numbers and labels with all markup escaped."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

from blockcalc.notation.alphabets import GRADIENT, Text
from blockcalc.notation.signs import clean
from blockcalc.ops.expr import Blank, Expr, Figure


def safe(text: str) -> str:
    r"""Escape markup, and control and invisible characters.

    Examples
    --------
    >>> safe("<b>" + chr(27))
    '&lt;b&gt;\\x1b'
    """
    return html.escape(clean(text))


def tag(name: str, content: str, own: str = "", **attributes: str) -> str:
    """Write an element around finished HTML; ``own`` is its class, without the prefix.

    Examples
    --------
    >>> tag("b", safe("a < b"), "name", title="x")
    '<b class="bc-name" title="x">a &lt; b</b>'
    """
    classes = f' class="bc-{own}"' if own else ""
    rest = "".join(f' {key}="{html.escape(value)}"' for key, value in attributes.items())
    return f"<{name}{classes}{rest}>{content}</{name}>"


class Html(Text):
    """The alphabet of HTML: subscripts and powers of ten are raised and lowered by elements.

    Examples
    --------
    >>> Html().symbol("W_Q"), Html().figure(Figure("1.2", -5))
    ('W<sub>Q</sub>', '1.2×10<sup>-5</sup>')
    """

    def symbol(self, symbol: str) -> str:
        """Write a symbol: its subscript and its superscript are elements."""
        if symbol.startswith(GRADIENT):
            return "d" + self.symbol(symbol.removeprefix(GRADIENT))
        base, _, raised = symbol.partition("^")
        base, _, lowered = base.partition("_")
        if not base:
            return safe(symbol)
        out = safe(Text.symbol(self, base))
        out += tag("sub", safe(lowered)) if lowered else ""
        return out + (tag("sup", safe(raised)) if raised else "")

    def figure(self, f: Figure) -> str:
        """Write a number, with its power of ten raised; a blank is a box, or a line to write on."""
        if isinstance(f, Blank):
            return tag(
                "span", tag("sup", str(f.number)) if f.number else "", "room" if f.wide else "blank"
            )
        digits = safe(Text.figure(self, Figure(f.digits)))
        return digits if f.exponent is None else f"{digits}×10{tag('sup', str(f.exponent))}"

    def _call(self, function: str, args: Sequence[Expr]) -> tuple[str, int]:
        return super()._call(safe(function), args)


def value_of(f: Figure) -> float:
    """Give the value of a shown number; nan of a blank.

    Examples
    --------
    >>> value_of(Figure("-1.5", 2))
    -150.0
    """
    return math.nan if isinstance(f, Blank) else float(f.digits) * 10.0 ** (f.exponent or 0)
