"""The block seen whole: its data flow in one line, and its few composed formulas."""

from __future__ import annotations

from collections.abc import Iterator

from blockcalc.expr import Call, Expr, Name
from blockcalc.ops import Ref
from blockcalc.program import Program, Section
from blockcalc.titles import say

FOLDED = {"layer_norm": "LN", "rms_norm": "RMSNorm", "softmax": "softmax"}


def composed_formulas(program: Program) -> Iterator[tuple[Expr, Expr]]:
    """Write the block as its few formulas, as a text would close.

    A result that is used only once, by the next part, is written into it; norms and softmaxes
    are written as functions; projections keep their letters.
    """
    tops = program.top_sections()
    loose = [e.out.name for i, e in enumerate(program.equations)
             if not any(s.first <= i < s.last for s in tops)]  # fmt: skip
    marks = [s.out.name for s in tops if s.first < s.last] + loose
    kept = {name for name in marks if _uses(program, name) != 1}
    kept.update(s.out.name for s in tops if s.kind in ("attention", "ffn"))
    kept.add(program.equations[-1].out.name)
    order = [e.out for e in program.equations if e.out.name in kept]
    writer = _Writer(program, kept)
    for ref in order:
        yield Name(ref.symbol), writer.expand(ref)


def _uses(program: Program, name: str) -> int:
    """Count who takes a result; a norm, written as one function, counts once."""
    users = set()
    tops = program.top_sections()
    for index, eq in enumerate(program.equations):
        if any(ref.name == name for ref in eq.inputs):
            holders = [s.name for s in tops if s.kind in FOLDED and s.first <= index < s.last]
            users.add(holders[0] if holders else eq.out.name)
    return len(users)


class _Writer:
    def __init__(self, program: Program, kept: set[str]) -> None:
        self.kept = kept
        self.made = {eq.out.name: eq for eq in program.equations}
        self.folded: dict[str, Section] = {
            s.out.name: s for s in program.sections if s.kind in FOLDED
        }
        self.projections = {
            eq.out.name
            for eq in program.equations
            if eq.out.name.rpartition(".")[2].partition("_")[0] in ("q", "k", "v")
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


def flow(program: Program) -> tuple[str, ...]:
    """Draw the order of the block as the stations that x passes.

    A residual is written as what is added: ``+ x``.
    """
    tops = {s.first: s for s in program.top_sections()}
    stations = ["x"]
    index = 0
    while index < len(program.equations):
        section = tops.pop(index, None)
        if section is None:
            eq = program.equations[index]
            stations.append(f"+ {eq.inputs[0].name}")
            index += 1
        else:
            given = "flow.given" if section.settings.get("given") else "flow.worked"
            stations.append(say(given, title=say(f"flow.{section.kind}")))
            index = section.last
    return (*stations, "out")
