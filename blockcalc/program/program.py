"""Programs: named equations with axes and shapes, and no numbers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from blockcalc.errors import Fault, LookupFault
from blockcalc.messages import say
from blockcalc.messages.words import did_you_mean, listed
from blockcalc.ops.op import Gradient, Op, Ref


@dataclass(frozen=True, slots=True)
class Equation:
    """``out = op(inputs)``; operations and operands are symbols here, not numbers."""

    out: Ref
    op: Op
    inputs: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A run of equations that has a name of its own: an attention, a softmax, a norm.

    Attributes
    ----------
    name, kind : str
        ``norm1`` is of kind ``layer_norm``.
    settings : object
        The conventions in force in it, such as eps: a type of its own for each kind, or None.
    inputs : tuple of Ref
        What flows into it, weights aside.
    out : Ref
        What its name means.
    first, last : int
        Its equations are ``equations[first:last]``.
    whole : bool
        Whether it was written to its end, and not ended by ``stop``.
    given : bool
        Whether its result is an input, so that it has no equations.
    short : str
        The function by which formulas that sum up the block write it: LN; empty if they do not.
    gradient : callable or None
        Its closed form, in place of the chain rule through its inside.
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


Write = Callable[..., Ref]  # part, op, operands: writes one equation beside the gradient
ClosedForm = Callable[[Write, Equation, Ref], Gradient]
"""The gradient of what flows into a section, from its quotient and the gradient of that.

It writes what it needs on the way with the first argument, and gives the lines of the gradient.
"""


@dataclass(frozen=True)
class Program:
    """Equations in the order of their working; ``blocks`` are those of a stack.

    Where a backward pass follows, ``forward`` counts the equations before the loss.
    """

    inputs: tuple[Ref, ...]
    equations: tuple[Equation, ...]
    sections: tuple[Section, ...]
    aliases: Mapping[str, str]
    blocks: tuple[Section, ...] = ()
    forward: int | None = None

    def start(self) -> Program:
        """Give the forward pass alone."""
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
        """Turn a name, an alias or a unique end of one into the recorded name.

        Raises
        ------
        LookupFault
            Nothing ends so, or several steps do.
        """
        targets = {known: known for known in self.refs()}
        targets.update(self.aliases)
        if name in targets:
            return targets[name]
        if name.startswith("grad.") and ".from." not in name:
            parts = {t for k, t in targets.items() if k.startswith("grad.") and ".from." not in k
                     and k.endswith(name.removeprefix("grad"))}  # fmt: skip
            if len(parts) == 1:
                return parts.pop()
            if parts:
                text = say("step.several", name=name, names=listed(sorted(parts)))
                raise LookupFault(Fault(text))
        own = {
            k: t
            for k, t in targets.items()
            if name.startswith("grad.") or not k.startswith("grad.")
        }
        hits = sorted({t for known, t in own.items() if known.endswith("." + name)})
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

    def section_of(self, index: int) -> Section | None:
        """Give the innermost section that holds equation number ``index``."""
        return self._holders[index][-1] if index in self._holders else None

    def top_section_of(self, index: int) -> Section | None:
        """Give the outermost section that holds equation number ``index``."""
        return self._holders[index][0] if index in self._holders else None

    def block_of(self, index: int) -> Section | None:
        """Give the block of a stack that holds equation number ``index``."""
        at = bisect_right(self._block_starts, index) - 1
        return self.blocks[at] if at >= 0 and index < self.blocks[at].last else None

    @cached_property
    def _block_starts(self) -> list[int]:
        return [block.first for block in self.blocks]

    @cached_property
    def _holders(self) -> dict[int, list[Section]]:
        """List the sections that hold each equation, the outermost first."""
        found: dict[int, list[Section]] = {}
        for section in sorted(self.sections, key=lambda s: (s.first, -s.last)):
            for index in range(section.first, section.last):
                found.setdefault(index, []).append(section)
        return found

    def top_sections(self) -> list[Section]:
        """Give the sections that lie in no other, in order."""
        tops: list[Section] = []
        for section in sorted(self.sections, key=lambda s: (s.first, s.last > s.first, -s.last)):
            if not tops or section.first >= tops[-1].last:
                tops.append(section)
        return tops


def _first_run(name: str, known: Mapping[str, str]) -> str | None:
    """Offer the first run of a repeated block, where a name leaves out which run is meant."""
    parts = name.split(".", 2)
    run = ".".join((*parts[:2], "0", *parts[2:]))
    return say("hint.did_you_mean", word=run) if run in known else None
