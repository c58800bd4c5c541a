"""Programs: named equations with axes and shapes, and no numbers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from blockcalc.card import Op, Ref, dims
from blockcalc.errors import Fault, InputError, LookupFault
from blockcalc.titles import say


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
    settings : dict
        The conventions in force in it, such as eps.
    inputs : tuple of Ref
        What flows into it, weights aside.
    out : Ref
        What its name means.
    first, last : int
        Its equations are ``equations[first:last]``.
    whole : bool
        Whether it was written to its end, and not ended by ``stop``.
    """

    name: str
    kind: str
    settings: Mapping[str, Any]
    inputs: tuple[Ref, ...]
    out: Ref
    first: int
    last: int
    whole: bool = True


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


MOST_LISTED = 40


def listed(names: Iterable[str]) -> str:
    """List names for a message, not more than a person would read."""
    all_names = list(names)
    text = ", ".join(all_names[:MOST_LISTED])
    more = len(all_names) - MOST_LISTED
    return say("step.more", names=text, n=more) if more > 0 else text


def did_you_mean(word: str, known: Mapping[str, Any] | list[str]) -> str | None:
    """Make a sentence that offers the nearest known word, if one is near."""
    import difflib  # only where something went wrong

    near = difflib.get_close_matches(word, list(known), n=1) or difflib.get_close_matches(
        word.lower(), list(known), n=1
    )
    return say("hint.did_you_mean", word=near[0]) if near else None


class Missing(InputError):
    """A matrix that a step needs is not given; ``key`` is where it would be written."""

    def __init__(self, key: str) -> None:
        super().__init__(Fault(say("key.required", key=key), hint=say("key.required.stop")))
        self.key = key


class Misfit(InputError):
    """A residual cannot add what a layer gave to what went into it; ``key`` would mend it."""

    def __init__(self, name: str, x: Ref, y: Ref) -> None:
        section = name.rpartition(".")[0]
        text = say("shape.residual", name=y.name, has=dims(y.shape), x=x.name, wanted=dims(x.shape))
        sizes = {"rows": y.shape[-1], "cols": x.shape[-1]}
        hint = say("shape.residual.hint", name=f"{section}.w_o", **sizes)
        super().__init__(Fault(text, hint=hint))
        self.key = f"{section}.w_v"


class Finished(Exception):
    """The step named by ``stop`` has been written, and something after it was asked for."""


@dataclass
class Builder:
    """Writes a program; layers are plain functions that take one.

    Layers name their steps and weights as in a block that stands alone; within ``block`` the builder
    puts the block's own names before both.

    Parameters
    ----------
    shapes : mapping
        The shape of every given matrix, by its name in the file.
    stop : str, optional
        Nothing after the step of this name is written.
    seed : int, optional
        Where drawn numbers begin; ``drawn`` counts those that steps have taken.
    """

    shapes: Mapping[str, tuple[int, ...]]
    stop: str | None = None
    seed: int | None = None
    drawn: int = 0
    inputs: dict[str, Ref] = field(default_factory=dict)
    equations: list[Equation] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    blocks: list[Section] = field(default_factory=list)
    aliases: dict[str, str] = field(default_factory=dict)
    stopped: bool = False
    steps: str = ""
    keys: str = ""

    def has(self, name: str) -> bool:
        """Tell whether a matrix is given."""
        return self.keys + name in self.shapes

    def shape(self, name: str) -> tuple[int, ...]:
        """Give the shape of a given matrix, () where there is none."""
        return self.shapes.get(self.keys + name, ())

    def given(self, name: str, symbol: str, axes: tuple[str, ...], role: str = "weight") -> Ref:
        """Declare a given matrix."""
        name = self.keys + name
        if name not in self.inputs:
            if self.stopped:
                raise Finished
            if name not in self.shapes:
                raise Missing(name)
            self.inputs[name] = Ref(name, symbol, axes, self.shapes[name], role)
        return self.inputs[name]

    def add(
        self, name: str, symbol: str, op: Op, *inputs: Ref, axes: tuple[str, ...] | None = None
    ) -> Ref:
        """Write one equation; ``axes`` renames those that the operation gives."""
        if self.stopped:
            raise Finished
        natural, shape = op.result(inputs)
        out = Ref(self.steps + name, symbol, axes or natural, shape, "computed")
        self.equations.append(Equation(out, op, inputs))
        self.stopped = out.name == self.stop
        return out

    def alias(self, ref: Ref, *names: str) -> None:
        """Let names mean a step that is already there, where a copy would be written."""
        others = [full for name in names if (full := self.steps + name) != ref.name]
        self.aliases.update((name, ref.name) for name in others)
        self.stopped = self.stopped or self.stop in others

    @contextmanager
    def section(
        self, name: str, kind: str, *inputs: Ref, **settings: Any
    ) -> Iterator[dict[str, Any]]:
        """Group what is written inside; its last equation is its result.

        Yields the settings, to which what is learned inside may be added. One that ``stop`` ends
        before its result is worked gives no name to what it has reached.
        """
        first, done = len(self.equations), False
        try:
            yield settings
            done = True
        finally:
            last = len(self.equations)
            if last > first:
                out, full = self.equations[-1].out, self.steps + name
                self.sections.append(Section(full, kind, settings, inputs, out, first, last, done))
                if done:
                    self.alias(out, name, f"{name}.out")

    def given_section(self, name: str, kind: str, ref: Ref, *inputs: Ref) -> None:
        """Note a section whose result is given instead of worked."""
        here = len(self.equations)
        full = self.steps + name
        self.sections.append(Section(full, kind, {"given": True}, inputs, ref, here, here))
        self.alias(ref, name, f"{name}.out")

    @contextmanager
    def block(self, steps: str, keys: str, x: Ref) -> Iterator[None]:
        """Write one block of a stack: its steps begin with ``steps``, its weights with ``keys``.

        With no names of its own, a block that stands alone.
        """
        first, self.steps, self.keys, done = len(self.equations), steps, keys, False
        try:
            yield
            done = True
        finally:
            self.steps = self.keys = ""
            last = len(self.equations)
            if steps and last > first:
                name, out = steps.removesuffix("."), self.equations[-1].out
                self.blocks.append(Section(name, "block", {}, (x,), out, first, last))
                if done:
                    self.alias(out, name, f"{name}.out")

    def program(self) -> Program:
        """Close the book."""
        return Program(
            tuple(self.inputs.values()),
            tuple(self.equations),
            tuple(self.sections),
            dict(self.aliases),
            tuple(self.blocks),
        )
