"""The live page as one file: readable as it is, computed again by its own script."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from blockcalc.explain.depth import Depth
from blockcalc.explain.document import Given, Head, Heading, Remark, StepPiece
from blockcalc.messages import language, say
from blockcalc.nn.spec import Spec
from blockcalc.notation.alphabets import Text
from blockcalc.program.trace import Trace
from blockcalc.views.html.mathml import MathMl
from blockcalc.views.html.tables import grid_table
from blockcalc.views.html.text import safe
from blockcalc.views.page.data import page_data
from blockcalc.views.page.forms import Live, live

MODULES = ("functions", "evaluate", "digits", "trees", "model", "tables", "address", "main")
_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./(\w+)\.mjs";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:function\*?|const|class) (\w+))", re.MULTILINE)
_TEXT, _MATH = Text(), MathMl()


def html_bytes(run: tuple[Spec, Trace, Depth], fragment: bool = False) -> bytes:
    """Write the page of a block.

    Parameters
    ----------
    run : (Spec, Trace, Depth)
        The block, its run, and how much is shown.
    fragment : bool
        Has no effect: a page is always whole.
    """
    return "".join(_page(live(*run))).encode()


@cache
def script() -> str:
    """Join the modules of the script, each after those that it imports from."""
    folder = files("blockcalc.views.page")
    parts = []
    for name in MODULES:
        text = folder.joinpath(f"{name}.mjs").read_text(encoding="utf-8")
        given = ", ".join(_EXPORT.findall(text))
        bare = _EXPORT.sub("", _IMPORT.sub(r"const \1 = $\2;", text.removeprefix("// @ts-check\n")))
        parts.append(f"const ${name} = (() => {{\n{bare}return {{ {given} }};\n}})();\n")
    return '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"


@cache
def style() -> str:
    """Read the style of the page."""
    return files("blockcalc.views.page").joinpath("page.css").read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _page(own: Live) -> Iterator[str]:
    variant = own.variants[0]
    title = next((piece.title for piece in variant.pieces if isinstance(piece, Head)), "blockcalc")
    policy = (
        f"default-src 'none'; script-src {_hash(script())}; style-src {_hash(style())}; "
        "base-uri 'none'; form-action 'none'"
    )
    lang = {"zh": "zh-CN"}.get(language(), language())
    yield f'<!doctype html>\n<html lang="{lang}">\n<head>\n<meta charset="utf-8">\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield f"<title>{safe(title)}</title>\n<style>{style()}</style>\n</head>\n<body>\n"
    yield from _head(variant.pieces[0], title)
    yield _strip()
    yield '<main id="steps">\n'
    yield from _steps(own)
    yield "</main>\n"
    yield f'<aside id="cell" aria-label="{safe(say("page.cell"))}" hidden><div class="body"></div></aside>\n'
    data = json.dumps(page_data(own), ensure_ascii=False, separators=(",", ":"))
    escaped = data.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    yield f'<script type="application/json" id="data">{escaped}</script>\n'
    yield f"<script>{script()}</script>\n</body>\n</html>\n"


def _head(head: object, title: str) -> Iterator[str]:
    yield f"<header>\n<h1>{safe(title)}</h1>\n"
    if isinstance(head, Head):
        for line in (head.notes or "").splitlines():
            yield f"<p>{safe(line)}</p>\n"
        yield '<dl class="facts">'
        for name, lines in head.facts:
            yield f"<dt>{safe(name)}</dt><dd>{'<br>'.join(map(safe, lines))}</dd>"
        yield "</dl>\n"
        yield from (f'<p class="note">{safe(hint)}</p>\n' for hint in head.hints)
    yield f"<noscript><p>{safe(say('page.no_script'))}</p></noscript>\n"
    yield f'<div class="settings" role="group" aria-label="{safe(say("page.settings"))}" hidden>\n'
    for key in ("order", "mask", "activation"):
        yield f'<label>{safe(say(f"page.{key}"))}<select id="set-{key}"></select></label>\n'
    for key in ("eps", "scale"):
        hint = safe(say("page.file"))
        yield (
            f'<label>{safe(say(f"page.{key}"))}<input id="set-{key}" inputmode="decimal" '
            f'placeholder="{hint}"></label>\n'
        )
    for key, text in (("heat", "page.heat"), ("hide", "page.guess")):
        yield f'<label class="box"><input type="checkbox" id="{key}">{safe(say(text))}</label>\n'
    yield f'<button type="button" id="undo">{safe(say("page.undo"))}</button>\n'
    yield f'<button type="button" id="reset">{safe(say("page.reset"))}</button>\n'
    yield '<span id="status" class="note" role="status"></span>\n</div>\n</header>\n'


def _strip() -> str:
    before, after, steps = (safe(say(f"page.{key}")) for key in ("before", "after", "steps"))
    return (
        f'<nav id="strip" aria-label="{steps}" hidden><div>'
        f'<button type="button" id="before" aria-label="{before}">←</button>'
        f'<input type="range" id="slider" min="1" value="1" aria-label="{steps}">'
        f'<button type="button" id="after" aria-label="{after}">→</button>'
        '<span id="where"></span></div></nav>\n'
    )


def _steps(own: Live) -> Iterator[str]:
    """Write every step of the first form, for readers without a script and for print."""
    for piece in own.variants[0].pieces:
        if isinstance(piece, Heading):
            prose = f"<p>{safe(piece.prose)}</p>" if piece.prose else ""
            yield f'<div class="heading"><h2>{safe(piece.title)}</h2>{prose}</div>\n'
        elif isinstance(piece, Given):
            yield '<section class="given"><div class="row">'
            for operand, grids in piece.matrices:
                name = f"<code>{safe(operand.name)}</code>"
                yield f'<div class="named">{name}{"".join(map(grid_table, grids))}</div>'
            yield "</div></section>\n"
        elif isinstance(piece, StepPiece):
            yield from _step(piece)
        elif isinstance(piece, Remark):
            yield f'<p class="note">{safe(piece.text)}</p>\n'


def _step(piece: StepPiece) -> Iterator[str]:
    head = f'<span class="number">{piece.number}</span> {safe(piece.title)} <code>{safe(piece.name)}</code>'
    yield f'<section class="step"><h3>{head}</h3>'
    yield f'<div class="formula">{_MATH.equation(piece.left, piece.formula)}</div>'
    yield f'<div class="row">{"".join(map(grid_table, piece.grids))}</div>'
    for line in piece.lines[:1]:
        if line.middle is not None:
            parts = (_TEXT.render(e) for e in (line.left, line.middle, line.result))
            left, middle, result = parts
            yield f'<p class="line">{safe(f"{left} {line.relation} {middle} {line.equals} {result}")}</p>'
    yield from (f'<p class="note">{safe(note)}</p>' for note in piece.notes)
    yield "</section>\n"
