"""Build programs: layers add equations, aliases and sections to a builder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from typing import Any

from blockcalc.errors import Fault, InputError
from blockcalc.messages import say
from blockcalc.messages.words import dims
from blockcalc.ops.op import Op, Ref
from blockcalc.program.program import ClosedForm, Equation, Program, Section
from blockcalc.records import dataclass


class Missing(InputError):
    """A matrix that a step needs is not given; ``key`` is the key for it."""

    def __init__(self, key: str) -> None:
        super().__init__(Fault(say("key.required", key=key), hint=say("key.required.stop")))
        self.key = key


class Misfit(InputError):
    """The output of a layer does not have the shape of the residual; ``key`` would fix it."""

    def __init__(self, name: str, x: Ref, y: Ref) -> None:
        section = name.rpartition(".")[0]
        text = say("shape.residual", name=y.name, has=dims(y.shape), x=x.name, wanted=dims(x.shape))
        sizes = {"rows": y.shape[-1], "cols": x.shape[-1]}
        hint = say("shape.residual.hint", name=f"{section}.w_o", **sizes)
        super().__init__(Fault(text, hint=hint))
        self.key = f"{section}.w_v"


class Finished(Exception):
    """The step named by ``stop`` has been written and a later step was requested."""


@dataclass(eq=False, repr=False)
class Open:
    """A section that is being written."""

    settings: Any


@dataclass(eq=False, repr=False)
class Builder:
    """Builds a program; layers are plain functions that take a builder.

    Layers name their steps and weights as in a single block; within ``block`` the builder adds the
    prefixes of the block to both.

    Parameters
    ----------
    shapes : mapping
        The shape of every given matrix, by its name in the file.
    stop : str, optional
        The name of the last step to write.
    seed : int, optional
        The seed of random numbers.
    drawn : int
        How many random numbers earlier steps have used.
    inputs, equations, sections, blocks, aliases
        What has been written so far; see ``Program``.
    stopped : bool
        Whether the step named by ``stop`` has been written.
    steps, keys : str
        The prefixes of the names of steps and of weights in the current block.
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
        """Give the shape of a given matrix, () if it is not given."""
        return self.shapes.get(self.keys + name, ())

    def given(
        self, name: str, symbol: str, axes: tuple[str, ...], role: str = "weight", part: str = ""
    ) -> Ref:
        """Declare a given matrix.

        Raises
        ------
        Missing
            The matrix is not given.
        """
        name = self.keys + name
        if name not in self.inputs:
            if self.stopped:
                raise Finished
            if name not in self.shapes:
                raise Missing(name)
            self.inputs[name] = Ref(name, symbol, axes, self.shapes[name], role, part)
        return self.inputs[name]

    def add(
        self,
        name: str,
        symbol: str,
        op: Op,
        *inputs: Ref,
        axes: tuple[str, ...] | None = None,
        part: str = "",
    ) -> Ref:
        """Write one equation and return its result; ``axes`` renames the axes of the result."""
        if self.stopped:
            raise Finished
        natural, shape = op.result(inputs)
        out = Ref(self.steps + name, symbol, axes or natural, shape, "computed", part)
        self.equations.append(Equation(out, op, inputs))
        self.stopped = out.name == self.stop
        return out

    def alias(self, ref: Ref, *names: str) -> None:
        """Make other names mean an existing step, instead of writing a copy."""
        others = [full for name in names if (full := self.steps + name) != ref.name]
        self.aliases.update((name, ref.name) for name in others)
        self.stopped = self.stopped or self.stop in others

    @contextmanager
    def section(
        self,
        name: str,
        kind: str,
        *inputs: Ref,
        settings: Any = None,
        short: str = "",
        gradient: ClosedForm | None = None,
    ) -> Iterator[Open]:
        """Group the equations written inside; the last one is the result of the section.

        Yields the open section; its settings may be replaced inside. If ``stop`` ends a section
        before its result, the section's name is not an alias of the last step.
        """
        first, done, opened = len(self.equations), False, Open(settings)
        try:
            yield opened
            done = True
        finally:
            last = len(self.equations)
            if last > first:
                out, full = self.equations[-1].out, self.steps + name
                section = Section(
                    full, kind, opened.settings, inputs, out, first, last, done,
                    short=short, gradient=gradient,
                )  # fmt: skip
                self.sections.append(section)
                if done:
                    self.alias(out, name, f"{name}.out")

    def given_section(self, name: str, kind: str, ref: Ref, *inputs: Ref) -> None:
        """Add a section with a given result instead of equations."""
        here = len(self.equations)
        full = self.steps + name
        self.sections.append(Section(full, kind, None, inputs, ref, here, here, given=True))
        self.alias(ref, name, f"{name}.out")

    @contextmanager
    def block(self, steps: str, keys: str, x: Ref) -> Iterator[None]:
        """Write one block of a stack; ``steps`` and ``keys`` are prefixes of its steps and weights.

        Without prefixes, a single block.
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
                self.blocks.append(Section(name, "block", None, (x,), out, first, last))
                if done:
                    self.alias(out, name, f"{name}.out")

    def program(self) -> Program:
        """Return the finished program."""
        return Program(
            tuple(self.inputs.values()),
            tuple(self.equations),
            tuple(self.sections),
            dict(self.aliases),
            tuple(self.blocks),
        )
