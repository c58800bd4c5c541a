"""Central differences: a right gradient is never called wrong, and a wrong one is found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc import BlockcalcError
from blockcalc.explain.document import Remark
from blockcalc.gradients.differences import Difference, differences
from blockcalc.gradients.run import gradient_of, scale, work_gradients
from blockcalc.gradients.tables import numeric
from blockcalc.nn.spec import Spec
from blockcalc.program.trace import Trace
from blockcalc.reading.load import load
from tests.helpers import (
    THREE,
    changed_trace,
    cli,
    sample_specs,
)

pytestmark = pytest.mark.slow

EQUAL_ROW = {
    "x": [[1, 0], [0, 1], [1, 1]],
    "attn": {"w_q": [[1, 0], [1, 1]], "w_k": [[1, 0], [0, 1]], "w_v": [[1, 0], [1, 1]]},
    "ffn": {"activation": "gelu", "w_1": [[1, 0, 1], [0, 1, -1]], "w_2": [[1, 0], [0, 1], [1, 1]]},
    "norm": "pre",
}


def judged(data: Any) -> list[Difference]:
    spec = blockcalc.load(data)
    return differences(spec, None, work_gradients(spec))


def broken(trace: Trace, name: str, factor: float) -> Trace | None:
    """Multiply the largest entry of a gradient; None where it counts for nothing."""
    g = gradient_of(trace, name).copy()
    at = np.unravel_index(int(np.abs(g).argmax()), g.shape)
    if abs(g[at]) < 0.01 * scale(trace):
        return None
    g[at] *= factor
    key = trace.program.aliases.get(f"grad.{name}", f"grad.{name}")
    return replace(trace, arrays={**trace.arrays, key: g})


def test_a_row_of_equal_numbers_bends_within_the_usual_step() -> None:
    assert not any(d.wrong or d.unjudged for d in judged(EQUAL_ROW))


@pytest.mark.parametrize("eps", [1e-5, 1e-8, 1e-12])
@pytest.mark.parametrize("order", ["pre", "post"])
def test_equal_rows_with_any_eps(eps: float, order: str) -> None:
    assert not any(d.wrong for d in judged({**EQUAL_ROW, "norm": {"order": order, "eps": eps}}))


def random_block(seed: int) -> dict[str, Any]:
    """Draw a block with equal or almost equal rows, and scales up to 16 powers of ten apart."""
    rng = np.random.RandomState(seed)
    t, d, f, spread = (
        rng.randint(1, 4),
        rng.randint(2, 5),
        rng.randint(1, 5),
        [0, 1, 3, 8][seed % 4],
    )

    def drawn(rows: int, cols: int) -> Any:
        return (rng.normal(0, 1, (rows, cols)) * 10.0 ** rng.uniform(-spread, spread)).tolist()

    x = np.array(drawn(t, d))
    if rng.rand() < 0.4:
        x[0] = x[0, 0]
    if rng.rand() < 0.2:
        x[-1] = x[-1, 0] * (1 + 1e-9 * rng.normal(size=d))
    return {
        "x": x.tolist(),
        "attn": {"w_q": drawn(d, 2), "w_k": drawn(d, 2), "w_v": drawn(d, d)},
        "ffn": {"activation": str(rng.choice(["relu", "gelu", "silu", "tanh"])), "w_1": drawn(d, f), "w_2": drawn(f, d)},
        "norm": {"order": str(rng.choice(["pre", "post"])), "kind": str(rng.choice(["layer", "rms"])),
                 "eps": float(rng.choice([0, 1e-5, 1e-12]))},
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(40))
def test_no_right_gradient_is_called_wrong(seed: int) -> None:
    try:
        found = judged(random_block(seed))
    except BlockcalcError:  # too large for float64
        return
    assert not [d for d in found if d.wrong]


@pytest.mark.parametrize("factor", [1.001, 2.0, -1.0, 0.0])
@pytest.mark.parametrize("spec", sample_specs(), ids=lambda s: f"{s.title}-{s.order}")
def test_a_wrong_gradient_is_found(spec: Spec, factor: float) -> None:
    trace = work_gradients(spec)
    found = 0
    for name in ("x", *(n for n in spec.arrays if ".w_" in n)):
        wrong = broken(trace, name, factor)
        if wrong is not None:
            found += 1
            assert name in [d.name for d in differences(spec, None, wrong) if d.wrong]
            break
    assert found or spec.arrays["x"].shape[-1] == 2


def test_what_cannot_be_judged_is_said() -> None:
    data = {"x": [[1.0, 1.0 + 1e-15, 1.0 - 1e-15]], "norm": {"order": "pre", "eps": 0}, "attn": {"out": [[0, 0, 0]]},
            "ffn": {"w_1": [[1], [2], [-3]], "w_2": [[1, 2, 3]]}}  # fmt: skip
    found = {d.name: d for d in judged(data)}
    assert found["x"].unjudged == 3
    assert not any(d.wrong for d in found.values())
    done = cli(
        "grad", "-", "--numeric", "--steps", "loss", stdin=repr(data).replace("'", '"').encode()
    )
    assert done.returncode == 0
    assert "grad.x: differences cannot check 3 entries" in done.stdout.decode()


@pytest.mark.parametrize("kind", ["sum", "mse", None])
def test_numeric_agrees_for_every_sample(kind: str | None) -> None:
    for spec in sample_specs():
        trace = work_gradients(spec, kind)
        assert all(d.relative <= 1e-6 for d in differences(spec, kind, trace)), spec.title


def test_numeric_notices_a_wrong_gradient() -> None:
    spec = load(THREE)
    trace = work_gradients(spec)
    trace = changed_trace(trace, "grad.attn.w_v", 0.01)
    worst = max(differences(spec, None, trace), key=lambda d: d.relative)
    assert worst.name == "attn.w_v"
    assert worst.relative > 1e-3


def test_remarks_are_of_numbers() -> None:
    spec = load(THREE)
    trace = work_gradients(spec)
    trace = changed_trace(trace, "grad.attn.w_v", 1)
    pieces = list(numeric(differences(spec, None, trace)))
    assert any(isinstance(p, Remark) and "grad.attn.w_v disagrees" in p.text for p in pieces)


def test_numeric_moves_as_little_as_it_must() -> None:
    even = {
        "x": [[1, 1, 1], [1, 2, 4]],
        "attn": {"out": [[1, 1, 1], [0, 0, 1]]},
        "loss": {"with": [[1, 2, 3], [3, 1, 2]]},
    }
    for norm in ({"eps": 1e-3, "eps_place": "outside"}, {"eps": 1e-8}, {"eps": 0}):
        spec = load({**even, "norm": norm})
        found = differences(spec, None, work_gradients(spec))
        assert not any(d.wrong or d.unjudged for d in found), norm
    small = {
        "x": [[1e-160, 2e-160]],
        "attn": {"out": [[1e-160, 1e-160]]},
        "stop": "residual1",
        "loss": {"kind": "sum"},
    }
    spec = load(small)
    assert all(d.relative <= 1e-6 for d in differences(spec, None, work_gradients(spec)))
