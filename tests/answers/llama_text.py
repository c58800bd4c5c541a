"""Text as llama.cpp's evaluation callback prints it, written from the loops of its source."""

from __future__ import annotations

import numpy as np

from blockcalc.ops.op import Array


def _short(n: int, most: int = 3) -> list[int | None]:
    """Give the indices that are printed along an axis; None is the gap."""
    if n <= 2 * most:
        return list(range(n))
    return [*range(most), None, *range(n - most, n)]


def tensor_text(
    name: str, array: Array, op: str = "MUL_MAT", old: bool = False, dtype: str = "f32"
) -> str:
    """Print a tensor: ``old`` is the version whose sum is of what it shows."""
    ne = [*reversed(array.shape), 1, 1, 1, 1][:4]
    whole = array.reshape(ne[::-1])
    who = "ggml_debug" if old else "common_debug_cb_eval"
    sizes = ", ".join(map(str, ne))
    lines = [
        f"{who}: {name:>24} = ({dtype}) {op:>10}(src{{{sizes}}}, other{{{sizes}}}}}) = {{{sizes}}}"
    ]
    one, two, three = ("    ", " " * 8, " " * 12) if not old else (" " * 37, " " * 38, " " * 39)
    gap, end = ("..., ", "],") if old else ("   ..., ", "  ],")
    total = np.float32(0) if old else whole.astype(np.float32).sum()
    for part in whole:
        lines.append(f"{one}[")
        for i in _short(len(part)):
            if i is None:
                lines.append(f"{two}..., ")
                continue
            lines.append(f"{two}[")
            for j in _short(len(part[i])):
                if j is None:
                    lines.append(f"{three}..., ")
                    continue
                row = part[i][j]
                cells = []
                for k in _short(len(row)):
                    if k is None:
                        cells.append(gap)
                        continue
                    comma = ", " if k < len(row) - 1 else ""
                    cells.append(f"{row[k]:12.4f}{comma}")
                    total = total + np.float32(row[k]) if old else total
                lines.append(f"{three}[{''.join(cells)}{end}")
            lines.append(f"{two}],")
        lines += [f"{one}]", f"{one}sum = {total:f}"]
    return "\n".join(lines) + "\n"
