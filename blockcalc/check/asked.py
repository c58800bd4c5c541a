"""Check the options of a judgement that come from Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blockcalc.check.judge import Tolerance
from blockcalc.errors import Fault, UsageError
from blockcalc.messages import say
from blockcalc.messages.words import described, require_finite, require_whole


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
