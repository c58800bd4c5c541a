"""A worksheet and its key: the steps of a block with blanks, and the arithmetic that fills them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from blockcalc.explain.depth import Depth
from blockcalc.explain.document import (
    Column,
    Document,
    Entry,
    Head,
    Heading,
    Line,
    Listing,
    Panel,
    Piece,
    Remark,
    Sign,
    StepPiece,
)
from blockcalc.explain.grids import Shown
from blockcalc.explain.head import head
from blockcalc.explain.picture.choice import Choice
from blockcalc.explain.steps import Explainer
from blockcalc.messages import known, say
from blockcalc.messages.words import say_count
from blockcalc.nn.settings import AttentionSettings
from blockcalc.nn.spec import Spec
from blockcalc.notation.quantities import significant
from blockcalc.ops.expr import At, Expr, Name, word
from blockcalc.ops.op import Ref
from blockcalc.program.trace import Step, Trace
from blockcalc.records import dataclass
from blockcalc.teach.blanks import ARITHMETIC, Cells, Gap, Level, room
from blockcalc.teach.columns import at_column, in_columns, stored_turned

SAID = ("rows", "rows.out_in", "softmax.plain", "softmax.shifted")  # conventions that say row
Points = Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Worksheet:
    """What a worksheet asks.

    Attributes
    ----------
    spec : Spec
    trace : Trace
    gaps : tuple of Gap
        The cells to fill in.
    depth : Depth
    level : Level
    columns : bool
        Whether tokens are columns.
    """

    spec: Spec
    trace: Trace
    gaps: tuple[Gap, ...]
    depth: Depth
    level: Level = Level.normal
    columns: bool = False

    @property
    def steps(self) -> dict[str, list[Gap]]:
        """The blanks by step, in order."""
        found: dict[str, list[Gap]] = {}
        for gap in self.gaps:
            found.setdefault(gap.step, []).append(gap)
        return found

    @property
    def points(self) -> Points:
        """What each step counts: by the file, else a point for each blank."""
        if self.spec.points:
            own = {self.trace.program.find(name): n for name, n in self.spec.points.items()}
            return {name: own[name] for name in self.steps if name in own}
        return {name: float(len(gaps)) for name, gaps in self.steps.items()}

    def sheet(self) -> Document:
        """Make what is handed out."""
        return self._document(_Sheet)

    def key(self) -> Document:
        """Make the key."""
        return self._document(_Key)

    def steps_shown(self) -> list[StepPiece]:
        """Give the steps that are asked about as pictures, with all blanks and no lines."""
        own = _Sheet(self, replace(self.depth, prose=False, pictures=True))
        return [replace(own.step(own.step_of(name)), lines=(), notes=()) for name in self.steps]

    def _document(self, kind: Callable[[Worksheet, Depth], _Part]) -> Document:
        def pieces(pictures: bool) -> Iterator[Piece]:
            own = kind(self, replace(self.depth, prose=False, pictures=pictures)).pieces()
            return in_columns(own, stored_turned(self.trace.program)) if self.columns else own

        return Document(
            lambda: pieces(False), drawn=lambda: pieces(True), live=lambda: list(pieces(False))
        )


class _Part(Explainer):
    """What worksheet and key share: cells, titles and notes of either form."""

    def __init__(self, own: Worksheet, depth: Depth) -> None:
        super().__init__(own.spec, own.trace, depth)
        self.own = own
        self.last = max(self.step_of(gap.step).index for gap in own.gaps)

    def step_of(self, name: str) -> Step:
        """Find a step."""
        return next(s for s in self.trace.steps() if s.equation.out.name == name)

    def cell(self, gap: Gap) -> Expr:
        """Write a cell: S[1,2]."""
        left = word("at", Name(self.made[gap.step].out.symbol), *_numbers(gap.at))
        return at_column(left) if self.own.columns else left

    def step_title(self, step: Step) -> str:
        """Give the title of a step; where tokens are columns, it says so."""
        title = super().step_title(step)
        section = self.program.section_of(step.index)
        if section is None or not self.own.columns:
            return title
        part = step.equation.out.name.removeprefix(section.name).removeprefix(".")
        key = f"teach.column.{section.kind}.{part or self.last_part(section)}"
        return say(key) if known(key) else title

    def notes(self, step: Step) -> Iterator[str]:
        """Leave out the notes that speak of rows if tokens are columns."""
        return iter(()) if self.own.columns else super().notes(step)

    def worked(self, step: Step, at: At, count: int) -> str | None:
        """Say nothing of the choice of cells: they are numbered."""
        return None

    def title(self) -> str:
        """Give the title of the block."""
        return self.spec.title or say("title.none")

    def points(self, room: bool) -> Listing:
        """List what each step counts, with room for the points reached."""
        rows = []
        points = self.own.points
        for name, gaps in self.own.steps.items():
            numbers = _between(gaps)
            rows.append((name, numbers, significant(points.get(name, 0.0), 6), *([""] * room)))
        total = significant(sum(points.values()), 6)
        rows.append((say("teach.total"), "", total, *([""] * room)))
        kinds = {
            "step": "name",
            "blanks": "text",
            "points": "number",
            **({"reached": "number"} if room else {}),
        }
        return _listing(kinds, rows, [len(rows) - 1])


class _Sheet(_Part):
    """The problem: given numbers, and steps whose blanks have room to write."""

    def __init__(self, own: Worksheet, depth: Depth) -> None:
        plain = Explainer(own.spec, own.trace, depth)
        self.blanks = Cells(plain).blanks(own.gaps)
        super().__init__(own, depth)
        self.choice = _Marked(self.choice, own.steps if own.level == Level.easy else {})

    def matrix(self, ref: Ref) -> Shown:
        """Give the shown form of a matrix, with its blanks."""
        shown = super().matrix(ref)
        shown.blanks = self.blanks.get(ref.name)
        return shown

    def pieces(self) -> Iterator[Piece]:
        """Give the worksheet."""
        own = head(self.spec, self.trace)
        facts = tuple((name, self._lines(lines)) for name, lines in own.facts)
        n = len(self.own.gaps)
        ask = say_count("teach.sheet.ask", n)
        title = say("teach.sheet.title", title=self.title())
        notes = "\n".join(filter(None, [self.spec.notes, ask, say("teach.sheet.rule")]))
        yield Head(title, notes, facts, (), say("teach.sheet.name"))
        yield Heading(say("heading.given"))
        yield self.given(self.program.inputs)
        yield from self.walk(0, self.last + 1)
        yield Heading(say("teach.points"))
        yield self.points(room=True)

    def _lines(self, lines: Sequence[str]) -> tuple[str, ...]:
        """Give conventions, in the words of columns where these are asked for."""
        if not self.own.columns:
            return tuple(lines)
        heads = {
            section.settings.n_heads
            for section in self.program.sections
            if isinstance(section.settings, AttentionSettings)
        }
        said = {say(f"convention.{key}"): say(f"teach.convention.{key}") for key in SAID}
        said |= {
            say("convention.heads", heads=n): say("teach.convention.heads", heads=n) for n in heads
        }
        return tuple(said.get(line, line) for line in lines)

    def step(self, step: Step) -> StepPiece:
        """Show one step; only easy ones have the entries marked that a blank is computed from."""
        piece = super().step(step)
        marked = self.own.level == Level.easy and step.equation.out.name in self.own.steps
        if piece.picture is None or marked:
            return piece
        parts = tuple(map(_plain, piece.picture.parts))
        return replace(piece, picture=replace(piece.picture, parts=parts))

    def lines(self, step: Step, shown: Shown, at: At) -> Iterator[Line]:
        """Give each blank of a step a line to write its arithmetic on."""
        for gap in self.own.steps.get(step.equation.out.name, ()):
            left = word("at", Name(shown.ref.symbol), *_numbers(gap.at))
            yield Line(left, "=", ARITHMETIC, "=", room(gap.number))

    @property
    def choosing(self) -> bool:
        """Tell that the marked cell is chosen here."""
        return True


class _Key(_Part):
    """The answers: a table, then the arithmetic of each blank."""

    def pieces(self) -> Iterator[Piece]:
        """Give the key."""
        title = say("teach.key.title", title=self.title())
        yield Head(title, None, (), ())
        yield self.answers()
        yield Heading(say("teach.key.arithmetic"))
        for name in self.own.steps:
            yield self.step(self.step_of(name))
        yield Heading(say("teach.points"))
        yield self.points(room=False)
        yield Remark(say("teach.key.rule"), quiet=True)

    def answers(self) -> Listing:
        """List the blanks with their numbers."""
        rows = []
        for gap in self.own.gaps:
            figure = self.matrix(self.made[gap.step].out).figure(gap.at)
            rows.append((f"({gap.number})", gap.step, self.cell(gap), figure))
        kinds = {"blank": "text", "step": "name", "cell": "formula", "answer": "formula"}
        return _listing(kinds, rows)

    def worked(self, step: Step, at: At, count: int) -> str | None:
        """Say which blanks the lines fill."""
        return say("teach.key.blanks", numbers=_between(self.own.steps[step.equation.out.name]))

    def lines(self, step: Step, shown: Shown, at: At) -> Iterator[Line]:
        """Write the arithmetic of each blank of a step."""
        for gap in self.own.steps[step.equation.out.name]:
            yield self.line(step, shown, gap.at)

    def step(self, step: Step) -> StepPiece:
        """Show one step, with the numbers that were blank marked."""
        piece = super().step(step)
        if piece.picture is None:
            return piece
        *before, result = map(_plain, piece.picture.parts)
        gaps = self.own.steps[step.equation.out.name]
        if isinstance(result, Panel) and step.value.ndim <= 2:
            shown = self.matrix(step.equation.out)
            result = replace(result, lit=frozenset(shown.place(gap.at) for gap in gaps))
        return replace(piece, picture=replace(piece.picture, parts=(*before, result)))


class _Marked(Choice):
    """Chooses the first blank of a step; of a step without blanks as ever."""

    def __init__(self, other: Choice, steps: Mapping[str, Sequence[Gap]]) -> None:
        self.other, self.steps = other, steps

    def begin(self) -> None:
        self.other.begin()

    def of(self, step: Step, operands: Sequence[Shown], shown: Shown) -> At:
        """Give the marked cell of a step."""
        gaps = self.steps.get(step.equation.out.name)
        return gaps[0].at if gaps else (0,) * step.value.ndim


def _listing(
    kinds: Mapping[str, str], rows: Iterable[tuple[Entry, ...]], totals: Sequence[int] = ()
) -> Listing:
    """Make a list from the kinds of its columns."""
    columns = (Column(say(f"column.teach.{key}"), kind) for key, kind in kinds.items())
    return Listing(tuple(columns), tuple(rows), tuple(totals))


def _numbers(at: At) -> Iterable[Name]:
    return (Name(str(i + 1)) for i in at)


def _bare(panel: Panel) -> Panel:
    """Leave out the marks of a panel."""
    return replace(panel, lit=frozenset(), worked=None)


def _plain(part: Panel | Sign) -> Panel | Sign:
    return _bare(part) if isinstance(part, Panel) else part


def _between(gaps: Sequence[Gap]) -> str:
    """Write the numbers of blanks: (1), (2), (3); of many the first and the last."""
    numbers = [f"({gap.number})" for gap in gaps]
    return ", ".join(numbers) if len(numbers) <= 4 else f"{numbers[0]} … {numbers[-1]}"
