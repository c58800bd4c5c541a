"""SVG: a step as the picture of its equation, or its heat map; light and dark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from rich.cells import cell_len

from blockcalc.errors import Fault, UsageError
from blockcalc.explain.document import Line, Panel, Sign, StepPiece
from blockcalc.messages import say
from blockcalc.views.layout import shape_text
from blockcalc.views.picture.shades import GROUNDS, INKS, QUIET
from blockcalc.views.picture.svg import (
    CELL,
    LINE,
    Drawn,
    box,
    moved,
    panel,
    shown,
    sign,
    width_of,
    write,
)

MARGIN = 16.0
ROOM = 960.0  # the width after which panels go to the next row
BESIDE, BELOW = 32.0, 16.0  # between two pictures, and between two rows
FEWEST = 72  # characters on a line of text, however narrow the picture

LIGHT = {
    "ground": "#ffffff", "ink": "#1f2328", "quiet": QUIET, "name": "#0550ae", "frame": "#8c959f",
    "lit": "#fff1c2", "cell": "#ffd866", "border": "#9a6700",
    "shades": GROUNDS, "inks": INKS,
}  # fmt: skip
DARK = {
    "ground": "#0d1117", "ink": "#e6edf3", "quiet": "#9198a1", "name": "#79c0ff", "frame": "#6e7681",
    "lit": "#4b3a06", "cell": "#7a5b00", "border": "#e3b341",
    "shades": ("#0d1117", "#14315e", "#1f4f99", "#6ea8fe", "#b6d4ff"), "inks": ("#e6edf3",) * 3 + ("#0d1117",) * 2,
}  # fmt: skip
FONTS = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Noto Sans Mono CJK SC',monospace"


def svg_bytes(pictures: Mapping[str, StepPiece], fragment: bool = False) -> bytes:
    """Draw the one step that there is.

    Raises
    ------
    UsageError
        There are several, or none.
    """
    if len(pictures) != 1:
        text = say("svg.several", n=len(pictures)) if pictures else say("svg.none")
        raise UsageError(Fault(text, hint=say("svg.hint")))
    return picture_bytes(next(iter(pictures.values())))


def picture_bytes(step: StepPiece, fragment: bool = False) -> bytes:
    """Draw a step: its name and formula, the picture of its equation, the worked lines, notes."""
    rows = _rows(step)
    widest = max((sum(part.width for part in row) for row in rows), default=0.0)
    length = max(FEWEST, int(widest / CELL))
    elements: list[str] = []
    y = MARGIN
    for spans in (_heading(step), *([[(line, "")] for line in _wrapped(_formula(step), length)])):
        x = MARGIN
        for text, kind in spans:
            elements.append(write(x, y + LINE / 2, text, kind))
            x += width_of(text)
            widest = max(widest, x - MARGIN)
        y += LINE
    for row in rows:
        above = max(part.above for part in row)
        y += BELOW / 2
        x = MARGIN
        for part in row:
            elements.append(moved(x, y + above, part.elements))
            x += part.width
        y += above + max(part.below for part in row) + BELOW / 2
    for text, kind in _below(step):
        for line in _wrapped(text, length):
            elements.append(write(MARGIN, y + LINE / 2, line, kind))
            widest = max(widest, width_of(line))
            y += LINE
    return _page(widest + 2 * MARGIN, y + MARGIN, step, elements)


def _rows(step: StepPiece) -> list[list[Drawn]]:
    """Draw the parts of a picture in rows; a sign stays with the panel after it."""
    assert step.picture is not None
    sizes = {operand.name: operand for operand in (*step.operands, step.result)}
    parts: list[Panel | Sign] = [*step.picture.parts, *step.picture.others]
    rows: list[list[Drawn]] = [[]]
    waiting: list[Drawn] = []
    before: Panel | Sign | None = None
    for part in parts:
        if isinstance(part, Panel) and isinstance(before, Panel):
            waiting.append(Drawn(BESIDE, 0.0, 0.0, ()))
        before = part
        if isinstance(part, Sign):
            waiting.append(sign(part))
            continue
        own = [*waiting, panel(part, sizes.get(part.key[0]))]
        if rows[-1] and sum(d.width for d in (*rows[-1], *own)) > ROOM:
            rows.append([])
            own = [d for d in own if d.elements]
        rows[-1] += own
        waiting = []
    rows[-1] += waiting
    return [row for row in rows if row]


def _heading(step: StepPiece) -> list[tuple[str, str]]:
    """Give number, title and name, each with its class."""
    return [(f"{step.number} ", "symbol"), (f"{step.title}  ", "strong"), (step.name, "name")]


def _formula(step: StepPiece) -> str:
    """Write the formula of a step, and its shape."""
    text = shown(step.left)
    if step.operands:
        text += f" = {shown(step.formula)}"
    if step.operands and step.definition:
        name, body = step.definition
        text += f", {shown(name)} = {shown(body)}"
    return f"{text}  {shape_text(step.result)}"


def _below(step: StepPiece) -> Iterator[tuple[str, str]]:
    """Give the texts below a picture, each with its class."""
    if step.worked and len(step.lines) > 1:
        yield say("words.lead", text=step.worked), "quiet"
    for line in step.lines:
        yield _line(line), "worked" if len(step.lines) == 1 else ""
    for note in step.notes:
        yield note, "quiet"
    parts = step.picture.parts if step.picture is not None else ()
    if any(isinstance(part, Panel) and part.shades for part in parts):
        yield say("heat.legend"), "quiet"


def _line(line: Line) -> str:
    """Write one line of arithmetic."""
    left, result = shown(line.left), shown(line.result)
    if line.middle is None:
        return f"{left} = {result} ({line.words or ''})"
    text = f"{left} {line.relation} {shown(line.middle)} {line.equals} {result}"
    return text + (f" ({say('words.shortened')})" if line.shortened else "")


def _wrapped(text: str, length: int) -> Iterator[str]:
    """Break a text at its spaces; a word is not broken."""
    line = ""
    for word in shown(text).split(" "):
        if line and cell_len(line) + 1 + cell_len(word) > length:
            yield line
            line = "   "
        line += f" {word}" if line else word
    yield line


def _page(width: float, height: float, step: StepPiece, elements: Sequence[str]) -> bytes:
    """Put a frame around what was drawn: its size, its style, and its text for screen readers."""
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    said = "\n".join([_formula(step), *(text for text, _ in _below(step))])
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" class="bc-picture">',
            f"<title>{escape(shown(f'{step.title}, {step.name}'))}</title>",
            f"<desc>{escape(said)}</desc>",
            f"<style>{_style()}</style>",
            box(0.0, 0.0, width, height, "ground"),
            *filter(None, elements),
            "</svg>\n",
        ]
    ).encode()


def _style() -> str:
    """Write the style: the colours of light ground, and of dark ground where that is set."""
    fixed = f".bc-picture text{{font-family:{FONTS};font-size:14px;white-space:pre}}"
    fixed += ".bc-picture .bc-symbol,.bc-picture .bc-strong,.bc-picture .bc-sign,.bc-picture .bc-worked{font-weight:bold}"
    fixed += ".bc-picture .bc-frame{fill:none}.bc-picture .bc-cell{stroke-width:2}"
    return f"{fixed}{_colours(LIGHT)}@media (prefers-color-scheme:dark){{{_colours(DARK)}}}"


def _colours(colours: Mapping[str, object]) -> str:
    shades, inks = colours["shades"], colours["inks"]
    assert isinstance(shades, tuple)
    assert isinstance(inks, tuple)
    rules = {
        "text": f"fill:{colours['ink']}", ".bc-ground": f"fill:{colours['ground']}", ".bc-quiet": f"fill:{colours['quiet']}",
        ".bc-name": f"fill:{colours['name']}", ".bc-symbol": f"fill:{colours['name']}", ".bc-frame": f"stroke:{colours['frame']}",
        ".bc-lit": f"fill:{colours['lit']}", ".bc-cell": f"fill:{colours['cell']};stroke:{colours['border']}",
        **{f".bc-shade{n}": f"fill:{c}" for n, c in enumerate(shades)}, **{f".bc-ink{n}": f"fill:{c}" for n, c in enumerate(inks)},
    }  # fmt: skip
    return "".join(f".bc-picture {name}{{{rule}}}" for name, rule in rules.items())
