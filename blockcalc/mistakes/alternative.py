"""Mistakes as data: a name, and the equations that someone who makes it works instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blockcalc.nn.spec import Spec
from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.expr import Slot
from blockcalc.ops.op import Array, Op, Ref
from blockcalc.program.program import Equation, Program, Section
from blockcalc.program.trace import Trace

NEW = "~"  # before the name of a step that only an alternative has


@dataclass(frozen=True)
class Alternative:
    """What is worked instead where a mistake is made at one place.

    Attributes
    ----------
    equations : tuple of Equation
        Those that take the place of the program's by the name of their result, and new ones, whose names begin with
        ``~``, that they need.
    arrays : mapping
        Inputs with other numbers, and new ones.
    words : mapping
        What the sentence of the mistake names, such as the eps.
    """

    equations: tuple[Equation, ...] = ()
    arrays: Mapping[str, Array] = field(default_factory=dict)
    words: Mapping[str, Any] = field(default_factory=dict)

    def holds(self, other: Alternative) -> bool:
        """Tell whether another is a part of it."""
        return set(other.equations) <= set(self.equations) and all(
            self.arrays.get(name) is array for name, array in other.arrays.items()
        )

    def with_(self, other: Alternative) -> Alternative | None:
        """Make both; None where they change the same thing."""
        mine = {eq.out.name for eq in self.equations} | self.arrays.keys()
        if mine & ({eq.out.name for eq in other.equations} | other.arrays.keys()):
            return None
        return Alternative(
            (*self.equations, *other.equations),
            {**self.arrays, **other.arrays},
            {**other.words, **self.words},
        )


@dataclass(frozen=True)
class Block:
    """The block that is checked: what the alternatives are made from.

    Attributes
    ----------
    spec : Spec
    trace : Trace
        Its right numbers; the backward pass too, where gradients are given.
    """

    spec: Spec
    trace: Trace

    @property
    def program(self) -> Program:
        return self.trace.program

    def equation(self, name: str) -> Equation | None:
        """Give the equation of a step by its recorded name or an alias; None where there is none."""
        own = self.program.aliases.get(name, name)
        return next((eq for eq in self.program.equations if eq.out.name == own), None)

    def sections(self, *kinds: str) -> Iterator[Section]:
        """Yield the worked sections of some kinds, of every block of a stack."""
        for section in self.program.sections:
            if section.kind in kinds and section.whole and not section.given:
                yield section

    def inside(self, section: Section) -> tuple[Equation, ...]:
        """Give the equations of a section."""
        return self.program.equations[section.first : section.last]

    def ending(self, *ends: str) -> Iterator[Equation]:
        """Yield the equations of the forward pass whose names end so, in whole parts, in every block."""
        stop = self.program.forward
        for eq in self.program.equations[:stop]:
            if any(eq.out.name == end or eq.out.name.endswith(f".{end}") for end in ends):
                yield eq

    def named(self, eq: Equation, section: Section | str, name: str) -> Equation | None:
        """Give the step of this name that stands in the same section, by its short name: ``q`` of ``blocks.0.attn``."""
        prefix = section if isinstance(section, str) else section.name
        return self.equation(f"{prefix}.{name}")


Alternatives = Callable[[Block], Iterator[Alternative]]


@dataclass(frozen=True)
class Mistake:
    """An entry of the catalogue; its sentence is the text ``mistake.`` and its name.

    Attributes
    ----------
    name : str
    steps : str
        The steps at which it is made, as a pattern: ``attn.scaled``.
    alternatives : callable
        Yields what is worked instead, one alternative for each place of a block where it can be made.
    same_result : bool
        Whether what follows comes out right: another way, and no mistake.
    general : bool
        Whether more special entries go first, as where a whole step was copied.
    """

    name: str
    steps: str
    alternatives: Alternatives
    same_result: bool = False
    general: bool = False


def no_place(block: Block) -> Iterator[Alternative]:
    """Yield nothing: a slip is made from its cell, and not from the block."""
    return iter(())


# what alternatives are built with ----------------------------------------------------------------


def instead(eq: Equation, op: Op, *inputs: Ref) -> Equation:
    """Work a step by another operation, or of other operands; without any, of its own."""
    return Equation(eq.out, op, inputs or eq.inputs)


def copied(eq: Equation, source: Ref) -> Equation:
    """Take another matrix in place of a step."""
    return Equation(eq.out, Elementwise(Slot(0)), (source,))


def extra(name: str, op: Op, *inputs: Ref) -> Equation:
    """Write a step that only an alternative has; its shape is that which the operation gives."""
    axes, shape = op.result(inputs)
    return Equation(Ref(NEW + name, name, axes, shape, "computed"), op, inputs)


def constant(name: str, array: Array, like: Ref) -> Ref:
    """Name an input that only an alternative has; its numbers go under ``arrays``."""
    return Ref(
        NEW + name,
        name,
        like.axes[-array.ndim :] if array.ndim else (),
        np.shape(array),
        "constant",
    )


def moving(make: Alternatives) -> Alternatives:
    """Leave out what changes no number of a block; new steps stand before those that need them."""

    def only(block: Block) -> Iterator[Alternative]:
        return (change for change in make(block) if _moves(block, change))

    return only


def _moves(block: Block, change: Alternative) -> bool:
    right = block.trace.arrays
    values = {**right, **change.arrays}
    for eq in change.equations:
        with np.errstate(all="ignore"):
            value = eq.op.forward([values[ref.name] for ref in eq.inputs])
        own = right.get(eq.out.name)
        if own is None:
            values[eq.out.name] = value
        elif own.shape != value.shape or not np.allclose(own, value, 1e-12, 1e-15, equal_nan=True):
            return True
    return False


def rewritten(
    block: Block, program: Program, arrays: Mapping[str, Array], **words: Any
) -> Alternative:
    """Give the alternative of another program, such as that of a spec with another eps: what differs in it.

    A step of the block that the other program does not have, because it is only another name there, is that other
    step; one that it lacks altogether is left as it is.
    """
    own = {eq.out.name: eq for eq in block.program.equations}
    other = {eq.out.name: eq for eq in program.equations}
    refs = program.refs()
    found = [
        eq for name, eq in other.items() if name not in own or _differs(own[name], eq)
    ]  # in its order: what is new stands before those that need it
    for name, eq in own.items():
        alias = program.aliases.get(name)
        if name not in other and alias is not None and alias != name and alias in refs:
            found.append(copied(eq, refs[alias]))
    known = {ref.name: block.trace.arrays[ref.name] for ref in block.program.inputs}
    changed = {
        ref.name: arrays[ref.name]
        for ref in program.inputs
        if ref.name not in known or not np.array_equal(arrays[ref.name], known[ref.name])
    }
    return Alternative(tuple(found), changed, words)


def _differs(a: Equation, b: Equation) -> bool:
    return a.op != b.op or [r.name for r in a.inputs] != [r.name for r in b.inputs]
