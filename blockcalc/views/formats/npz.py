"""npz: the matrices of a document as NumPy arrays, readable without pickle."""

from __future__ import annotations

import io
from collections.abc import Mapping

import numpy as np

from blockcalc.ops.op import Array


def npz_bytes(arrays: Mapping[str, Array], fragment: bool = False) -> bytes:
    """Write matrices by name."""
    target = io.BytesIO()
    np.savez(target, **arrays)  # type: ignore[arg-type]
    return target.getvalue()
