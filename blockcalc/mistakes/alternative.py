"""Mistakes as data: a name, and the equations that are computed instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from blockcalc.nn.norms import NORMS
from blockcalc.nn.spec import Spec
from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.expr import Slot
from blockcalc.ops.op import Array, Op, Ref
from blockcalc.program.program import Equation, Program, Section
from blockcalc.program.trace import Trace
from blockcalc.records import dataclass

NEW = "~"  # before the name of a step that only an alternative has

NORM_KINDS = tuple(f"{kind}_norm" for kind in NORMS)  # the kinds of sections that are norms


@dataclass(frozen=True)
class Alternative:
    """What is computed instead if a mistake is made at one place.

    Attributes
    ----------
    equations : tuple of Equation
        Those that replace equations of the program, by the name of the result, and new ones
        that they need, whose names begin with ``~``.
    arrays : mapping
        Inputs with other numbers, and new ones.
    words : mapping
        The fields of the sentence of the mistake, such as the eps.
    """

    equations: tuple[Equation, ...] = ()
    arrays: Mapping[str, Array] = field(default_factory=dict)
    words: Mapping[str, Any] = field(default_factory=dict)

    @property
    def changes(self) -> bool:
        """Tell whether it changes anything."""
        return bool(self.equations or self.arrays)

    def holds(self, other: Alternative) -> bool:
        """Tell whether another alternative is part of this one."""
        mine = {id(eq) for eq in self.equations}
        same = (id(eq) in mine or eq in self.equations for eq in other.equations)
        return all(same) and all(
            self.arrays.get(name) is array for name, array in other.arrays.items()
        )

    def with_(self, other: Alternative) -> Alternative | None:
        """Combine two alternatives; None if they change the same step or input."""
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
    """The block that is checked, from which alternatives are made.

    Attributes
    ----------
    spec : Spec
    trace : Trace
        The right numbers, with the backward pass if gradients are given.
    """

    spec: Spec
    trace: Trace

    @property
    def program(self) -> Program:
        return self.trace.program

    def equation(self, name: str) -> Equation | None:
        """Give the equation of a step by its recorded name or an alias; None if there is none."""
        own = self.program.aliases.get(name, name)
        return next((eq for eq in self.program.equations if eq.out.name == own), None)

    def sections(self, *kinds: str) -> Iterator[Section]:
        """Yield the computed sections of some kinds, in every block of a stack."""
        for section in self.program.sections:
            if section.kind in kinds and section.whole and not section.given:
                yield section

    def inside(self, section: Section) -> tuple[Equation, ...]:
        """Give the equations of a section."""
        return self.program.equations[section.first : section.last]


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
        Yields one alternative for each place of a block where the mistake can be made.
    same_result : bool
        Whether later steps come out right: another way, not a mistake.
    general : bool
        Whether more specific mistakes go first, as they do before a copied step.
    """

    name: str
    steps: str
    alternatives: Alternatives
    same_result: bool = False
    general: bool = False


def no_place(block: Block) -> Iterator[Alternative]:
    """Yield nothing: a slip is made from its cell, not from the block."""
    return iter(())


def everywhere(places: Sequence[Alternative]) -> Iterator[Alternative]:
    """Make each form of a mistake, such as another eps, at every place where it can be made."""
    forms: dict[str, list[Alternative]] = {}
    for place in places:
        words = {key: word for key, word in place.words.items() if key != "own"}
        forms.setdefault(repr(sorted(words.items())), []).append(place)
    for form in forms.values():
        every: Alternative | None = form[0]
        for place in form[1:]:
            every = every.with_(place) if every else None
        if every is not None and len(form) > 1:
            yield every


# what alternatives are built with ----------------------------------------------------------------


def instead(eq: Equation, op: Op, *inputs: Ref) -> Equation:
    """Compute a step by another operation; without operands, from its own."""
    return Equation(eq.out, op, inputs or eq.inputs)


def copied(eq: Equation, source: Ref) -> Equation:
    """Replace a step by another matrix."""
    return Equation(eq.out, Elementwise(Slot(0)), (source,))


def extra(name: str, op: Op, *inputs: Ref) -> Equation:
    """Make a step that only an alternative has; the operation gives its shape."""
    axes, shape = op.result(inputs)
    return Equation(Ref(NEW + name, name, axes, shape, "computed"), op, inputs)


def constant(name: str, array: Array, like: Ref) -> Ref:
    """Make an input that only an alternative has; its numbers go into ``arrays``."""
    return Ref(
        NEW + name,
        name,
        like.axes[-array.ndim :] if array.ndim else (),
        np.shape(array),
        "constant",
    )


def moving(make: Alternatives) -> Alternatives:
    """Drop equations that change no number; new steps come before those that need them."""

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
    """Make an alternative of what differs in another program, such as one with another eps.

    A step that is only an alias in the other program is replaced by the step it stands for; one
    that it does not have is left unchanged.
    """
    own = {eq.out.name: eq for eq in block.program.equations}
    other = {eq.out.name: eq for eq in program.equations}
    refs = program.refs()
    found = [
        eq for name, eq in other.items() if name not in own or _differs(own[name], eq)
    ]  # in its order: new steps come before those that need them
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
