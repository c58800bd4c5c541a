"""Programs: named equations with axes and shapes, without values."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from blockcalc.errors import Fault, LookupFault
from blockcalc.messages import say
from blockcalc.messages.words import did_you_mean, listed
from blockcalc.ops.op import Gradient, Op, Ref
from blockcalc.records import dataclass


@dataclass(frozen=True, slots=True)
class Equation:
    """``out = op(inputs)``; operands are references without values."""

    out: Ref
    op: Op
    inputs: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A named range of equations: an attention, a softmax, a norm.

    Attributes
    ----------
    name, kind : str
        ``norm1`` is of kind ``layer_norm``.
    settings : object
        Its conventions, such as eps: one type for each kind of section, or None.
    inputs : tuple of Ref
        Its inputs, without weights.
    out : Ref
        Its result, which its name refers to.
    first, last : int
        Its equations are ``equations[first:last]``.
    whole : bool
        Whether it is complete, not cut short by ``stop``.
    given : bool
        Whether its result is a given matrix, so it has no equations.
    short : str
        Its function name in the summary formulas of the block, such as LN; empty if it has none.
    gradient : callable or None
        Its closed gradient, used instead of the chain rule through its steps.
    """

    name: str
    kind: str
    settings: Any
    inputs: tuple[Ref, ...]
    out: Ref
    first: int
    last: int
    whole: bool = True
    given: bool = False
    short: str = ""
    gradient: ClosedForm | None = None


Write = Callable[..., Ref]  # part, op, operands: writes one intermediate equation of the gradient
ClosedForm = Callable[[Write, Equation, Ref], Gradient]
"""The gradient of the input of a section, from its quotient and the gradient of that.

It writes intermediate results with its first argument, and gives the equations of the gradient.
"""


@dataclass(frozen=True)
class Program:
    """Equations in the order of evaluation.

    Attributes
    ----------
    inputs : tuple of Ref
        The given matrices, in the order of use.
    equations : tuple of Equation
    sections : tuple of Section
        In the order of their ends.
    aliases : mapping
        Other names of steps, such as ``out``.
    blocks : tuple of Section
        The blocks of a stack; empty for a single block.
    forward : int or None
        With a backward pass, the number of equations before the loss.
    """

    inputs: tuple[Ref, ...]
    equations: tuple[Equation, ...]
    sections: tuple[Section, ...]
    aliases: Mapping[str, str]
    blocks: tuple[Section, ...] = ()
    forward: int | None = None

    def start(self) -> Program:
        """Give only the forward pass."""
        n = self.forward
        if n is None:
            return self
        return replace(
            self,
            inputs=tuple(ref for ref in self.inputs if not ref.name.startswith("loss.")),
            equations=self.equations[:n],
            sections=tuple(s for s in self.sections if s.last <= n),
            aliases={k: v for k, v in self.aliases.items() if not k.startswith("grad.")},
            forward=None,
        )

    def refs(self) -> dict[str, Ref]:
        """Give every name that has a value, inputs first."""
        known = {ref.name: ref for ref in self.inputs}
        known.update((eq.out.name, eq.out) for eq in self.equations)
        return known

    def find(self, name: str) -> str:
        """Resolve a name, an alias or a unique end of one to the name of a step.

        Raises
        ------
        LookupFault
            No step matches, or several steps do.
        """
        targets = {known: known for known in self.refs()}
        targets.update(self.aliases)
        if name in targets:
            return targets[name]
        hits = sorted(_matches(name, targets))
        if len(hits) == 1:
            return hits[0]
        if hits:
            raise LookupFault(Fault(say("step.several", name=name, names=listed(hits))))
        hint = (
            _first_run(name, targets)
            or did_you_mean(name, targets)
            or say("step.list", names=listed(self.refs()))
        )
        raise LookupFault(Fault(say("step.unknown", name=name), hint=hint))

    def after(self, name: str) -> set[str]:
        """Name every step that depends on a matrix."""
        found = {name}
        for eq in self.equations:
            if any(ref.name in found for ref in eq.inputs):
                found.add(eq.out.name)
        return found - {name}

    def section_of(self, index: int) -> Section | None:
        """Give the innermost section that contains equation number ``index``."""
        return self._holders[index][-1] if index in self._holders else None

    def top_section_of(self, index: int) -> Section | None:
        """Give the outermost section that contains equation number ``index``."""
        return self._holders[index][0] if index in self._holders else None

    def block_of(self, index: int) -> Section | None:
        """Give the block of a stack that contains equation number ``index``."""
        at = bisect_right(self._block_starts, index) - 1
        return self.blocks[at] if at >= 0 and index < self.blocks[at].last else None

    def own_name(self, index: int) -> str:
        """Give the name of equation number ``index`` in its block, without that of the block."""
        block, name = self.block_of(index), self.equations[index].out.name
        return name.removeprefix(f"{block.name}.") if block else name

    @cached_property
    def _block_starts(self) -> list[int]:
        return [block.first for block in self.blocks]

    @cached_property
    def _holders(self) -> dict[int, list[Section]]:
        """List the sections that contain each equation, the outermost first."""
        found: dict[int, list[Section]] = {}
        for section in sorted(self.sections, key=lambda s: (s.first, -s.last)):
            for index in range(section.first, section.last):
                found.setdefault(index, []).append(section)
        return found

    def top_sections(self) -> list[Section]:
        """Give the outermost sections, in order."""
        tops: list[Section] = []
        for section in sorted(self.sections, key=lambda s: (s.first, s.last > s.first, -s.last)):
            if not tops or section.first >= tops[-1].last:
                tops.append(section)
        return tops


def _matches(name: str, targets: Mapping[str, str]) -> set[str]:
    """Find the steps whose names end with ``name``; gradients only if it begins with ``grad.``."""
    gradient = name.startswith("grad.")
    if gradient and ".from." not in name:
        end = name.removeprefix("grad")
        whole = (known for known in targets if known.startswith("grad.") and ".from." not in known)
        if found := {targets[known] for known in whole if known.endswith(end)}:
            return found
    among = (known for known in targets if gradient or not known.startswith("grad."))
    return {targets[known] for known in among if known.endswith(f".{name}")}


def _first_run(name: str, known: Mapping[str, str]) -> str | None:
    """Suggest the first run of a repeated block for a name without a run number."""
    parts = name.split(".", 2)
    run = ".".join((*parts[:2], "0", *parts[2:]))
    return say("hint.did_you_mean", word=run) if run in known else None
