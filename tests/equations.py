"""The equations of all samples: one of each kind and size."""

from __future__ import annotations

import blockcalc
from blockcalc.nn.activations import ACTIVATIONS
from blockcalc.nn.block import build
from blockcalc.ops.op import Ref
from blockcalc.program.program import Equation
from tests.helpers import sample_specs


def _everything() -> list[Equation]:
    """Collect the equations of all samples and one for each activation."""
    extra = {
        "x": [[1, -2, 0.5], [0.25, 3, -1]],
        "attn": {"w_q": [[1], [2], [0]], "w_k": [[0], [1], [1]], "w_v": [[1, 0], [0, 2], [1, 1]],
                 "w_o": [[1, 2, 3], [0, 1, 0]], "b_q": [1], "b_k": [2], "b_v": [1, 0],
                 "b_o": [1, 1, 0], "softmax": "shifted", "scale": 0.5},
        "norm1": {"gamma": [1, 2, 3], "beta": [0, 1, 0]},
        "final_norm": {"beta": [0, 1, 0], "eps": 0.5},
    }  # fmt: skip
    specs = [*sample_specs(), blockcalc.load(extra)]
    equations = [eq for spec in specs for eq in build(spec).equations]
    ref = Ref("u", "U", ("token", "d_ff"), (2, 3), "computed")
    out = Ref("a", "A", ("token", "d_ff"), (2, 3), "computed")
    equations += [Equation(out, act.op, (ref,)) for act in ACTIVATIONS.values()]
    unique = {(eq.op, tuple(r.shape for r in eq.inputs)): eq for eq in equations}
    return list(unique.values())


EVERY = _everything()
