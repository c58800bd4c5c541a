"""Escape text for Markdown: GitHub, pandoc and Quarto show it as typed."""

from __future__ import annotations

import re

from blockcalc.notation.alphabets import Latex
from blockcalc.notation.signs import clean
from blockcalc.ops.expr import Expr

# entities where a renderer looks for signs before it reads escapes: mathematics, tables, HTML
_ENTITIES = {"$": "&#36;", "|": "&#124;", "<": "&lt;", ">": "&gt;", "&": "&amp;", "`": "&#96;"}
_SIGNS = re.compile(
    r"[\\*{}\[\]#~^@!\"']"
    r"|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"  # within a word it is no emphasis
    r"|-(?=-)|(?<=-)-|\.(?=\.)"  # pandoc makes dashes and an ellipsis of them
    r"|^[-+=:%]"  # what begins a line
    r"|:(?=[\w+-]+:)"  # the name of an emoji
)
_LIST = re.compile(r"\(?(\w+)[.)](?=\s|$)")
_LOWERED = re.compile(r"\\mathrm\{([A-Za-z]+)\\_([A-Za-z]+)\}")
_CODE = re.compile(r"[\w.\[\]/=-]+")


def escape(text: str) -> str:
    r"""Escape a text so that no sign in it is read as markup, wherever it stands.

    Examples
    --------
    >>> print(escape("a|b *c* d_model $x$ <i>"))
    a&#124;b \*c\* d_model &#36;x&#36; &lt;i&gt;
    >>> print(escape("1. first"), escape("- second"), escape("--all"))
    1\. first \- second \-\-all
    >>> print(escape("so :smile:, 1:2:3"))
    so \:smile:, 1\:2:3
    """
    safe = clean(text).strip()
    marks = {m.start() for m in _SIGNS.finditer(safe)}
    if item := _LIST.match(safe):
        marks.add(item.end() - 1)
    return "".join(_ENTITIES.get(c, f"\\{c}" if i in marks else c) for i, c in enumerate(safe))


class Math(Latex):
    r"""The alphabet of formulas within Markdown.

    No sign but a letter stands after a backslash: GitHub takes ``\,`` for an escaped comma,
    and pandoc's MathML knows no ``\thinspace``.

    Examples
    --------
    >>> from blockcalc.ops.expr import Binary, Call, Name
    >>> print(Math().render(Binary("@", Name("Q"), Name("K"))))
    Q\hspace{2pt}K
    >>> print(Math().render(Call("GELU_tanh", (Name("x"),))))
    \mathrm{GELU}_{\mathrm{tanh}}(x)
    """

    def render(self, expr: Expr) -> str:
        """Write an expression on one line."""
        text = super().render(expr).replace(r"\, ", r"\hspace{2pt}")
        return _LOWERED.sub(r"\\mathrm{\1}_{\\mathrm{\2}}", text)


def code(text: str) -> str:
    """Write a name as code, or as a text if it has signs that code cannot show.

    Examples
    --------
    >>> print(code("attn.w_q"), code("a`|b"))
    `attn.w_q` a&#96;&#124;b
    """
    return f"`{text}`" if _CODE.fullmatch(text) else escape(text)
