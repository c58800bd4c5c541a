"""Summaries of a block: its data flow on one line, and its composed formulas."""

from __future__ import annotations

from collections.abc import Iterator

from blockcalc.messages import say
from blockcalc.nn.settings import AttentionSettings, FfnSettings
from blockcalc.ops.expr import Call, Expr, Name
from blockcalc.ops.op import Ref
from blockcalc.program.program import Program, Section

WORKS = (AttentionSettings, FfnSettings)


def composed_formulas(program: Program) -> Iterator[tuple[Expr, Expr]]:
    """Write the block as a few composed formulas; for a stack, its first block.

    A result that is used only once, by the next part, is substituted; norms and softmaxes
    are written as functions; projections keep their symbols.
    """
    last = program.blocks[0].last if program.blocks else len(program.equations)
    equations = program.equations[:last]
    tops = [s for s in program.top_sections() if s.last <= last]
    loose = [eq.out.name for i, eq in enumerate(equations) if program.section_of(i) is None]
    marks = [s.out.name for s in tops if s.first < s.last] + loose
    kept = {name for name in marks if _uses(program, name, last) != 1}
    kept.update(s.out.name for s in tops if isinstance(s.settings, WORKS) or s.given)
    kept.add(equations[-1].out.name)
    order = [eq.out for eq in equations if eq.out.name in kept]
    writer = _Writer(program, kept)
    for ref in order:
        yield Name(ref.symbol), writer.expand(ref)


def _uses(program: Program, name: str, last: int) -> int:
    """Count the uses of a result; a norm, written as one function, counts once."""
    users = set()
    for index, eq in enumerate(program.equations[:last]):
        if any(ref.name == name for ref in eq.inputs):
            top = program.top_section_of(index)
            users.add(top.name if top and top.short else eq.out.name)
    return len(users)


class _Writer:
    def __init__(self, program: Program, kept: set[str]) -> None:
        self.kept = kept
        self.made = {eq.out.name: eq for eq in program.equations}
        self.folded: dict[str, Section] = {
            s.out.name: s for s in program.sections if s.short and s.whole
        }
        self.projections = {
            eq.out.name
            for eq in program.equations
            if eq.out.part in ("query", "key", "value") or not eq.inputs
        }

    def expand(self, ref: Ref) -> Expr:
        """Write a result in terms of its operands."""
        if ref.name in self.folded:
            section = self.folded[ref.name]
            return Call(section.short, tuple(self.use(r) for r in section.inputs))
        eq = self.made[ref.name]
        return eq.op.formula([self.use(r) for r in eq.inputs])

    def use(self, ref: Ref) -> Expr:
        """Write an operand: as its symbol if it is kept or given, otherwise expanded."""
        named = ref.name in self.kept or ref.name in self.projections
        if named or ref.name not in self.made:
            return Name(ref.symbol)
        return self.expand(ref)


Station = tuple[str, str]  # the name of a result and how the flow writes its layer
Path = tuple[Station, ...]


def flow(program: Program, block: Section | None = None, first: int = 0) -> tuple[str, ...]:
    """Write the data flow of a block: the layers that x passes through.

    A residual is written as ``+ x``, the matrix that it adds; parallel branches are in brackets.
    ``block`` is one of a stack; without one, everything from equation ``first`` on.
    """
    index, last = (block.first, block.last) if block else (first, len(program.equations))
    into = {block.inputs[0].name: "x"} if block else {}
    prefix = f"{block.name}." if block else ""
    start = block.inputs[0].name if block else program.inputs[0].name
    paths: dict[str, Path] = {start: ((start, "x"),)} if index == 0 or block else {}
    here = paths.get(start, ())
    tops: dict[int, list[Section]] = {}
    for section in program.top_sections():
        tops.setdefault(section.first, []).append(section)
    while index < last:
        sections = tops.pop(index, [])
        if not sections:
            eq = program.equations[index]
            x, *results = eq.inputs
            station = f"+ {into.get(x.name, x.name.removeprefix(prefix))}"
            branches = _joined([paths.get(ref.name, ()) for ref in results])
            here = paths[eq.out.name] = (*branches, (eq.out.name, station))
            index += 1
        for section in sections:
            title = say(f"flow.{section.kind}")
            station = say("flow.given" if section.given else "flow.worked", title=title)
            before = paths.get(section.inputs[0].name, ())
            here = paths[section.out.name] = (*before, (section.out.name, station))
            index = section.last
    titles = tuple(title for _, title in here)
    return titles if block else (*titles, "out")


def _joined(branches: list[Path]) -> Path:
    """Write parallel branches of one residual: the layers they share, then each branch."""
    first, *others = branches
    if not others:
        return first
    shared = 0
    while all(path[: shared + 1] == first[: shared + 1] for path in others):
        shared += 1
    each = (" → ".join(title for _, title in path[shared:]) for path in branches)
    return (*first[:shared], ("", f"[{' | '.join(each)}]"))
