"""The block seen whole: its data flow in one line, and its few composed formulas."""

from __future__ import annotations

from collections.abc import Iterator

from blockcalc.messages import say
from blockcalc.ops.expr import Call, Expr, Name
from blockcalc.ops.op import Ref
from blockcalc.program.program import Program, Section

FOLDED = {"layer_norm": "LN", "rms_norm": "RMSNorm", "softmax": "softmax"}


def composed_formulas(program: Program) -> Iterator[tuple[Expr, Expr]]:
    """Write the block as its few formulas, as a text would close; of a stack, its first block.

    A result that is used only once, by the next part, is written into it; norms and softmaxes
    are written as functions; projections keep their letters.
    """
    last = program.blocks[0].last if program.blocks else len(program.equations)
    equations = program.equations[:last]
    tops = [s for s in program.top_sections() if s.last <= last]
    loose = [eq.out.name for i, eq in enumerate(equations) if program.section_of(i) is None]
    marks = [s.out.name for s in tops if s.first < s.last] + loose
    kept = {name for name in marks if _uses(program, name, last) != 1}
    kept.update(s.out.name for s in tops if s.kind in ("attention", "ffn"))
    kept.add(equations[-1].out.name)
    order = [eq.out for eq in equations if eq.out.name in kept]
    writer = _Writer(program, kept)
    for ref in order:
        yield Name(ref.symbol), writer.expand(ref)


def _uses(program: Program, name: str, last: int) -> int:
    """Count who takes a result; a norm, written as one function, counts once."""
    users = set()
    for index, eq in enumerate(program.equations[:last]):
        if any(ref.name == name for ref in eq.inputs):
            top = program.top_section_of(index)
            users.add(top.name if top and top.kind in FOLDED else eq.out.name)
    return len(users)


class _Writer:
    def __init__(self, program: Program, kept: set[str]) -> None:
        self.kept = kept
        self.made = {eq.out.name: eq for eq in program.equations}
        self.folded: dict[str, Section] = {
            s.out.name: s for s in program.sections if s.kind in FOLDED and s.whole
        }
        self.projections = {
            eq.out.name
            for eq in program.equations
            if eq.out.name.rpartition(".")[2].partition("_")[0] in ("q", "k", "v") or not eq.inputs
        }

    def expand(self, ref: Ref) -> Expr:
        """Write a result by what it is made of."""
        if ref.name in self.folded:
            section = self.folded[ref.name]
            return Call(FOLDED[section.kind], tuple(self.use(r) for r in section.inputs))
        eq = self.made[ref.name]
        return eq.op.formula([self.use(r) for r in eq.inputs])

    def use(self, ref: Ref) -> Expr:
        """Write an operand: by its letter where it is kept or given, else expanded."""
        named = ref.name in self.kept or ref.name in self.projections
        if named or ref.name not in self.made:
            return Name(ref.symbol)
        return self.expand(ref)


def flow(program: Program, block: Section | None = None, first: int = 0) -> tuple[str, ...]:
    """Draw the order of a block as the stations that x passes.

    A residual is written as what is added: ``+ x``. ``block`` is one of a stack; without one,
    everything from equation ``first`` on.
    """
    tops: dict[int, list[Section]] = {}
    for section in program.top_sections():
        tops.setdefault(section.first, []).append(section)
    index, last = (block.first, block.last) if block else (first, len(program.equations))
    stations = ["x"] if index == 0 or block else []
    into = {block.inputs[0].name: "x"} if block else {}
    prefix = f"{block.name}." if block else ""
    while index < last:
        here = tops.pop(index, [])
        if not here:
            added = program.equations[index].inputs[0].name
            stations.append(f"+ {into.get(added, added.removeprefix(prefix))}")
            index += 1
        for section in here:
            given = "flow.given" if section.settings.get("given") else "flow.worked"
            stations.append(say(given, title=say(f"flow.{section.kind}")))
            index = section.last
    return tuple(stations) if block else (*stations, "out")
