"""Matrices as frames of pandas, which is imported only here."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

from blockcalc.errors import Fault, UsageError
from blockcalc.explain.depth import labels_of
from blockcalc.messages import say
from blockcalc.nn.spec import Spec
from blockcalc.ops.op import Array, Ref

if TYPE_CHECKING:
    import pandas as pd


def frame(ref: Ref, value: Array, spec: Spec) -> pd.DataFrame:
    """Give a matrix as a DataFrame: the last axis in columns, the others as levels of the rows.

    Tokens have their labels, all else is numbered from 1. A vector is one column under its name.
    """
    try:
        import pandas as pd
    except ImportError:
        text, hint = say("frame.pandas"), say("frame.pandas.hint")
        raise UsageError(Fault(text, hint=hint)) from None
    labels = labels_of(spec)
    axes, shape = ref.axes, ref.shape
    alone = 0 if "batch" not in axes else None
    if len(shape) == 1:
        index = pd.Index(_numbered(labels(axes[0], shape[0], alone)), name=axes[0])
        return pd.DataFrame({ref.name: value}, index=index)
    columns = pd.Index(_numbered(labels(axes[-1], shape[-1], alone)), name=axes[-1])
    keys: list[tuple[int | str, ...]] = []
    for at in product(*map(range, shape[:-2])):
        batch = dict(zip(axes, at, strict=False)).get("batch", alone)
        rows = _numbered(labels(axes[-2], shape[-2], batch))
        keys += [(*(i + 1 for i in at), row) for row in rows]
    if len(shape) == 2:
        return pd.DataFrame(value, index=pd.Index(rows, name=axes[-2]), columns=columns)
    index = pd.MultiIndex.from_tuples(keys, names=list(axes[:-1]))
    return pd.DataFrame(value.reshape(-1, shape[-1]), index=index, columns=columns)


def _numbered(labels: Sequence[str]) -> list[int] | list[str]:
    """Give the numbers 1, 2, … as whole numbers; other labels stay texts."""
    plain = [str(i) for i in range(1, len(labels) + 1)]
    return list(range(1, len(labels) + 1)) if list(labels) == plain else list(labels)
