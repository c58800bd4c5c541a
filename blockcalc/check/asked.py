"""Check what a judgement is asked: options that come from Python, and points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from blockcalc.check.judge import Tolerance
from blockcalc.errors import Fault, InputError, LookupFault, UsageError
from blockcalc.limits import MOST_POINTS
from blockcalc.messages import say
from blockcalc.messages.words import described, require_finite, require_whole
from blockcalc.nn.spec import Spec
from blockcalc.program.program import Program


def tolerance_of(tolerance: Any) -> Tolerance | None:
    """Make the tolerance of a number; None stays None.

    Raises
    ------
    UsageError
        It is not a finite number of at least 0.
    """
    return None if tolerance is None else Tolerance(require_finite("tolerance", tolerance))


def layer_of(layer: Any) -> int | None:
    """Convert the number of a layer, also one of NumPy; None stays None.

    Raises
    ------
    UsageError
        It is not a whole number of at least 0.
    """
    return None if layer is None else require_whole("layer", layer, 0)


def require_names(names: Any) -> None:
    """Raise an error unless this is None or a mapping of texts to texts.

    Raises
    ------
    UsageError
    """
    if names is not None and not isinstance(names, Mapping):
        raise UsageError(Fault(say("api.names", got=described(names))))
    for text in (*(names or {}), *(names or {}).values()):
        if not isinstance(text, str):
            raise UsageError(Fault(say("api.names", got=described(text))))


def found_step(program: Program, name: Any) -> str:
    """Give the recorded name of a step.

    Raises
    ------
    LookupFault
        No step matches, or several do, or the name is no text.
    """
    if not isinstance(name, str):
        raise LookupFault(Fault(say("step.type", got=described(name))))
    return program.find(name)


def points_asked(points: Any, program: Program) -> dict[str, float]:
    """Give what each step counts, by recorded name.

    Raises
    ------
    UsageError
        It is no mapping of steps to numbers from 0 to the most that a step may count, or gives
        one step different points.
    """
    if not isinstance(points, Mapping):
        raise UsageError(Fault(say("points.mapping", what=described(points))))
    found: dict[str, float] = {}
    for name, given in points.items():
        step = found_step(program, name)
        number = require_finite(f"points['{name}']", given)
        if number > MOST_POINTS:
            got = described(given)
            raise UsageError(Fault(say("points.range", most=f"{MOST_POINTS:,}", got=got)))
        if found.setdefault(step, number) != number:
            raise UsageError(Fault(say("points.twice", name=name, step=step)))
    return found


def file_points(spec: Spec, program: Program) -> dict[str, float]:
    """Give what each step counts by the points of FILE, by recorded name.

    Raises
    ------
    InputError
        A name is no step, or two names of one step have different points.
    """
    found: dict[str, float] = {}
    for name, number in spec.points.items():
        try:
            step = program.find(name)
        except LookupFault as error:
            place = spec.source.place(("points", name)) if spec.source else None
            raise InputError(replace(error.faults[0], place=place)) from None
        if found.setdefault(step, number) != number:
            place = spec.source.place(("points", name)) if spec.source else None
            raise InputError(Fault(say("points.twice", name=name, step=step), place))
    return found
