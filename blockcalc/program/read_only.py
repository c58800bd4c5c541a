"""Read-only arrays: those of a spec or a trace must stay what was computed with them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray


def read_only(arrays: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
    """Give a mapping without assignment, with arrays that cannot be made writeable.

    Examples
    --------
    >>> arrays = read_only({"x": np.ones(2)})
    >>> arrays["x"].flags.writeable = True
    Traceback (most recent call last):
    ...
    ValueError: cannot set WRITEABLE flag to True of this array
    """
    if isinstance(arrays, MappingProxyType):
        return arrays
    return MappingProxyType({name: _view(array) for name, array in arrays.items()})


def _view(array: NDArray[Any]) -> NDArray[Any]:
    """Give a view of an array whose base is read-only: NumPy lets nobody make it writeable."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base.setflags(write=False)
        base = base.base
    if base is not None and _writeable(base):
        array = array.copy()
        array.setflags(write=False)
    return array.view()


def _writeable(buffer: Any) -> bool:
    """Tell whether the memory of an array may change through the object that owns it."""
    try:
        return not memoryview(buffer).readonly
    except TypeError:
        return True
