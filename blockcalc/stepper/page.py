"""The screen of a step: what stands where, at any width and height."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console

from blockcalc.explain.document import Panel, Sign
from blockcalc.messages import say
from blockcalc.messages.words import axis_word
from blockcalc.notation.signs import clean
from blockcalc.ops.expr import Name
from blockcalc.stepper.keys import KEYS, LOOKING, Keys, Mode, of_mode
from blockcalc.stepper.scene import FEWEST, Extent, shortened, sizes_of
from blockcalc.stepper.session import Session
from blockcalc.views.layout import Whole, shape_text
from blockcalc.views.picture.flow import INDENT, Flow, merged
from blockcalc.views.screen import Part, Span
from blockcalc.views.terminal import Terminal

LADDER = (64, 48, 40, 32, 28, 24, 20, 18, 16, 14, 12, 11, 10, 9, 8, 7, 6, 5)
LEAN = (8, 7, 6, 5, 4, FEWEST)
BAR = "reverse"
CURSOR = "bold magenta reverse"
NARROWEST = 20
COLUMN = 3  # the least width of a column with the space before it
FRAME = 4  # lines above and below the page of keys
LABEL = 5  # a label takes at most one of so many parts of the width
SHORTEST = 8  # columns of a label
ENOUGH = 4  # lines of a picture, for which the title is made shorter
LEAST = 2  # lines of a picture, for which the arithmetic is
Lines = list[list[Span]]


class Page(Terminal):
    """Lays out what a session shows.

    Parameters
    ----------
    console : Console
        Of the terminal: its encoding decides which signs are written.
    name : str
        What is worked: the title of the block, or the name of its file.
    """

    def __init__(self, console: Console, name: str) -> None:
        super().__init__(console)
        self.name = name
        self.rows = 0

    def draw(self, session: Session, width: int, height: int) -> Lines:
        """Give the lines of the screen: as many as it is high, none wider than it."""
        self.width, self.rows = max(width, NARROWEST), height
        head = self.head(session)
        foot = self.foot(session)
        room = max(height - len(head) - len(foot), 1)
        if session.mode == Mode.helping:
            keys = self.keys()
            session.scrolled = max(0, min(session.scrolled, len(keys) - room))
            body = keys[session.scrolled :][:room]
        elif session.mode == Mode.finding:
            body = self.found(session, room)
        else:
            body = self.body(session, room)
        body += [[] for _ in range(room - len(body))]
        lines = [*head, *body, *foot]
        return [cropped(line, width) for line in lines[:height]]

    # above and below --------------------------------------------------------------------

    def head(self, session: Session) -> Lines:
        """Write the bar at the top, and how far the step is on the way."""
        there, total = session.position + 1, len(session.numbers)
        where = say("stepper.where", n=there, total=total)
        if session.tried:
            where = f"{say('stepper.score', right=session.hits, n=session.tried)}   {where}"
        room = self.width - cell_len(where) - 2
        name = self.safe(shortened(clean(self.name), room - 2))
        bar = f" {name}{' ' * (room - cell_len(name))}{where} "
        done = self.width * there // total
        way: list[Span] = [
            (self.safe("═") * done, "cyan"),
            (self.rule() * (self.width - done), "quiet"),
        ]
        return [[(bar, BAR)], way]

    def rule(self) -> str:
        """Give the sign of a thin line."""
        return self.safe("─")

    def foot(self, session: Session) -> Lines:
        """Write what the last key brought about, or what is typed, and what the keys do now."""
        return [*self.said(session), self.legend(session)]

    def said(self, session: Session) -> Lines:
        """Write the line above the keys: what is typed, or what the last key brought about."""
        told = session.told
        if session.mode in (Mode.finding, Mode.typing):
            left = "/ "
            if session.mode == Mode.typing:
                left = f"{self.alphabet.render(session.line().left)} = "
            typed: list[Span] = [
                (f" {self.safe(left)}", "name"), (self.safe(session.typed), "bold"), (" ", BAR)
            ]  # fmt: skip
            return [[*typed, ("  ", ""), (self.safe(told[0]), told[1])] if told else typed]
        if told is None and session.hidden and session.mode in LOOKING:
            told = say("stepper.ask"), "quiet"
        return [[]] if told is None else self.lines(told, indent=1)

    def legend(self, session: Session) -> list[Span]:
        """Write what the keys do; where the screen is narrow, the most needed."""
        rows = [row for row in of_mode(session.mode) if row.foot]
        idle = {"turn"} if session.leads < 2 else set[str]()
        if len(self.keys()) <= self.rows - FRAME:
            idle.add("scroll")
        rows = [row for row in rows if row.name not in idle]
        while True:
            line: list[Span] = []
            for row in rows:
                hidden = ".show" if session.guessing else ".guess"
                name = row.name + hidden * (row.name == "reveal")
                does = self.safe(say(f"stepper.foot.{name}", axis=axis_word(session.lead_axis)))
                line += [
                    ("  " if line else " ", ""),
                    (self.sign(row), "bold"),
                    (f" {does}", "quiet"),
                ]
            last = max(row.foot for row in rows)
            if length(line) <= self.width or last == 1:
                return line
            rows = [row for row in rows if row.foot != last]

    def sign(self, row: Keys) -> str:
        """Write keys."""
        return row.plain if self.plain and row.plain else row.sign

    # the step ---------------------------------------------------------------------------

    def body(self, session: Session, room: int) -> Lines:
        """Write the step: its title, formula, picture and arithmetic; more if there is room."""
        rows, _ = sizes_of(session.explainer, session.step)
        arithmetic, needed = self.arithmetic(session), min(rows + 1, ENOUGH)
        for short, gap in ((False, 1), (True, 1), (True, 0)):
            title = self.short_title(session) if short else self.title(session)
            left = room - len(title) - len(arithmetic) - 2 * gap
            if left >= needed:
                break
        arithmetic = self.ended(arithmetic, max(room - len(title) - LEAST, 1))
        left = max(room - len(title) - len(arithmetic) - 2 * gap, 1)
        picture, whole = self.picture(session, left)
        if len(picture) > left:
            picture = around(picture, left)
        spare = left - len(picture) if whole else 0
        for extra in self.extras(session):
            if len(extra) <= spare:
                spare -= len(extra)
                title = [*title, *extra]
        apart: Lines = [[]] * gap
        return [*title, *apart, *picture, *apart, *arithmetic][: max(room, 1)]

    def ended(self, lines: Lines, most: int) -> Lines:
        """Give as many lines as there is room for, and say if others are left out."""
        if len(lines) <= most:
            return lines
        text = "".join(text for text, _ in lines[most - 1])
        mark = self.safe(" …")
        while cell_len(text + mark) > self.width and " " in text.strip():
            text = text.rstrip().rpartition(" ")[0]
        return [*lines[: most - 1], [(text + mark, "")]]

    def short_title(self, session: Session) -> Lines:
        """Write number, title and formula, and the name if it fits on the line."""
        step = session.step
        own = session.explainer.step_title(step)
        parts: list[Part] = [(f"{step.index + 1} ", "number"), " ", (own, "title")]
        named = self.lines(*parts, "  ", (step.equation.out.name, "name"), indent=INDENT, hang=2)
        first = named if len(named) == 1 else self.lines(*parts, indent=INDENT, hang=2)
        return [*first, *self.lines(self.formula(session), indent=INDENT, hang=2)]

    def title(self, session: Session) -> Lines:
        """Write number, section, title, name, formula and shape."""
        step = session.step
        eq = step.equation
        section, _ = session.section()
        own = session.explainer.step_title(step)
        parts: list[Part] = [
            (f"{step.index + 1} ", "number"), " ", (section, "section"), (" · ", "quiet"),
            (own, "title"), "  ", (eq.out.name, "name"),
        ]  # fmt: skip
        shape = shape_text(session.explainer.matrix(eq.out).operand)
        return [
            *self.lines(*parts, indent=INDENT, hang=2),
            *self.lines(
                self.formula(session), "  ", (Whole(shape), "quiet"), indent=INDENT, hang=2
            ),
        ]

    def formula(self, session: Session) -> str:
        """Write the formula of a step."""
        eq, render = session.step.equation, self.alphabet.render
        body = eq.op.formula([Name(ref.symbol) for ref in eq.inputs])
        formula = f"{render(Name(eq.out.symbol))} = {render(body)}"
        definition = session.explainer.definition(session.step)
        if definition is not None:
            formula += f", {render(definition[0])} = {render(definition[1])}"
        return formula

    def extras(self, session: Session) -> list[Lines]:
        """Write what is good to know where there is room: the operands, what the section is for."""
        parts: list[Part] = [(say("words.takes") + " ", "quiet")]
        for n, ref in enumerate(session.step.equation.inputs):
            parts += [", " if n else "", *self.operand(session.explainer.matrix(ref).operand)]
        _, prose = session.section()
        operands = self.lines(*parts, indent=INDENT, hang=2)
        return [operands, *([self.lines((prose, "quiet"), indent=INDENT)] if prose else [])]

    def arithmetic(self, session: Session) -> Lines:
        """Write the arithmetic of the selected cell, and the notes on the step."""
        found = self.lines(*self.worked(session.line()), indent=INDENT, hang=4)
        if not session.any_hidden:
            for note in session.notes():
                found += self.lines((note, "note"), indent=INDENT)
        return found

    def picture(self, session: Session, room: int) -> tuple[Lines, bool]:
        """Draw as many rows and columns as there is room for; tell whether it fits."""
        flow = Flow(self.drawing, self.width, self.width)
        every = [*self.extents(session, room)]
        lean = [Extent(n, lean=True, label=every[-1].label) for n in LEAN]
        for n, extent in enumerate([*every, *lean]):
            whole = n < len(every)  # else the result alone
            lines = self._drawn(flow, session.parts(extent)[0 if whole else -1 :], room)
            if session.mode in (Mode.cells, Mode.typing):
                lines = [[(t, _selected(t, s)) for t, s in line] for line in lines]
            if len(lines) <= room and all(length(line) <= self.width for line in lines):
                return lines, whole
        return lines, False

    def extents(self, session: Session, room: int) -> Iterator[Extent]:
        """Give how much of each matrix may fit, the most first.

        Other heads are shown where nothing is left out; little of operands before very little of
        the result.
        """
        rows, whole = sizes_of(session.explainer, session.step)
        label = max(self.width // LABEL, SHORTEST)
        for n in (whole, *(n for n in LADDER if n < whole)):
            if min(n, rows) < room and n <= max(room, self.width // COLUMN):
                if n == whole and session.leads > 1:
                    yield Extent(n, others=True, label=label)
                yield Extent(n, label=label)
                if n == whole:
                    yield Extent(n, lean=True, label=label)
        for n in LEAN:
            yield Extent(n, lean=True, label=label)

    def _drawn(self, flow: Flow, parts: Sequence[Panel | Sign], room: int) -> Lines:
        items: list[Panel | Sign | None] = []
        for part in parts:
            if items and isinstance(part, Panel) and isinstance(items[-1], Panel):
                items.append(None)
            items.append(part)
        indent: Span = (" " * INDENT, "")
        rows = [[[indent, *spans] for spans in merged(row)] for row in flow.rows(items)]
        apart: Lines = [[]] if sum(map(len, rows)) + len(rows) <= room else []
        return [line for n, row in enumerate(rows) for line in (*(apart if n else []), *row)]

    # pages over the step ----------------------------------------------------------------

    def found(self, session: Session, room: int) -> Lines:
        """List the steps that match what is typed."""
        index = session.index
        if not session.matches:
            return [[], *self.lines((say("stepper.find.none"), "note"), indent=INDENT)]
        wide = max(cell_len(self.safe(index.names[i])) for i in session.matches)
        listed: Lines = []
        first = max(0, min(session.chosen - room // 2, len(session.matches) - room))
        for n, i in enumerate(session.matches[first : first + room], first):
            name = self.safe(index.names[i])
            text = f"{index.numbers[i]:>4}  {name}{' ' * (wide - cell_len(name))}  "
            title = self.safe(shortened(index.titles[i], max(self.width - cell_len(text) - 1, 1)))
            if n == session.chosen:
                listed.append([(f"{text}{title} ", BAR)])
            else:
                listed.append([(text, "name"), (title, "")])
        return listed

    def keys(self) -> Lines:
        """Write what every key does."""
        rows = [row for row in KEYS if {Mode.steps, Mode.cells} & {*row.modes}]
        signs = {row.name: self.safe(self.sign(row)) for row in rows}
        wide = max(map(cell_len, signs.values())) + 2
        found: Lines = [[], [(" " * INDENT + say("stepper.keys"), "title")], []]
        for row in rows:
            if row.name == "more":
                continue
            sign = signs[row.name]
            parts: list[Part] = [
                (Whole(sign + " " * (wide - cell_len(sign))), "bold"), say(f"stepper.key.{row.name}")
            ]  # fmt: skip
            found += self.lines(*parts, indent=INDENT, hang=wide + 1)
        return found


def _selected(text: str, style: str) -> str:
    """Give the style of a part of a picture where a cell is selected with the arrow keys."""
    return CURSOR if style == "cell" and text.strip() else style


def length(line: Sequence[Span]) -> int:
    """Give the width of a line, without the spaces at its end."""
    return cell_len("".join(text for text, _ in line).rstrip())


def cropped(line: Sequence[Span], width: int) -> list[Span]:
    """Cut a line where the screen ends."""
    found: list[Span] = []
    used = 0
    for text, style in line:
        text = text if used + cell_len(text) <= width else set_cell_size(text, max(width - used, 0))
        used += cell_len(text)
        found.append((text, style))
    return found


def around(lines: Lines, room: int) -> Lines:
    """Choose the lines around the selected cell, under the first, which has the labels."""
    spots = [
        n
        for n, line in enumerate(lines)
        if any(text.strip() and style in ("cell", CURSOR) for text, style in line)
    ]
    spot = spots[0] if spots else 0
    if room == 1:
        return [lines[spot]]
    first = max(1, min(spot - (room - 1) // 2, len(lines) - room + 1))
    return [lines[0], *lines[first : first + room - 1]]
