"""RoPE: pairs, positions and angles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.explain.steps import explain
from blockcalc.notation.alphabets import Text
from blockcalc.views.errors import report
from tests.helpers import close, every_line, work
from tests.read_back import check, from_text, printed


@pytest.mark.parametrize(
    ("style", "want"),
    [
        ("interleaved", [-1.1426396637, 1.9220755965, 2.9598506679, 4.0297995017]),
        ("half", [-1.9841106486, 1.9599006675, 2.4623779024, 4.0197996683]),
    ],
)
def test_rope_turns_neighbours_or_halves(style: str, want: list[float]) -> None:
    eye = np.eye(4)
    data = {"x": [[1, 2, 3, 4]] * 2, "stop": "attn.scores",
            "attn": {"w_q": eye, "w_k": eye, "w_v": eye, "rope": {"style": style}}}  # fmt: skip
    spec = blockcalc.load(data)
    trace = blockcalc.run(spec)
    close(trace["attn.q_rope"], [[1, 2, 3, 4], want])
    for line in every_line(spec):
        if line.middle:
            check(printed(line, Text()), from_text)
    head: Any = next(explain(spec, trace))
    said = " | ".join(dict(head.facts)["conventions"])
    assert "RoPE rotates 4 columns of each head, paired" in said


def test_rope_with_some_dims_a_start_and_own_freqs() -> None:
    eye = np.eye(4)
    base: dict[str, Any] = {"x": [[1, 2, 3, 4]], "stop": "attn.scores"}
    weights = {"w_q": eye, "w_k": eye, "w_v": eye}
    part = work({**base, "attn": {**weights, "rope": {"dims": 2, "start": 1}}})["attn.q_rope"]
    close(part, [[np.cos(1) - 2 * np.sin(1), 2 * np.cos(1) + np.sin(1), 3, 4]])
    spec = blockcalc.load({**base, "attn": {**weights, "rope": {"dims": 2, "start": 1}}})
    assert any(
        Text().render(line.left) == "Q_rope[1,3]" and line.words == "not rotated, unchanged"
        for line in every_line(spec)
        if line.middle is None
    )
    own = work({**base, "attn": {**weights, "rope": {"freqs": [1.0], "start": 1}}})["attn.q_rope"]
    close(own, part)
    fused = work({**base, "attn": {"w_qkv": np.hstack([eye] * 3), "rope": {"dims": 2, "start": 1}}})
    close(fused["attn.q_rope"], part)
    for rope, said in (({"dims": 3}, "dims = 3 must be even and at most d_head = 4"), ({"dims": 6}, "at most d_head"),
                       ({"freqs": [1, 2, 3]}, "dims = 6 must be even and at most"), ({"theta": 0}, "must be positive"),
                       ({"freqs": [1], "dims": 4}, "1 freqs rotate 1 pairs"), ({"start": -1}, "a whole number from 0 to 1000000000 is expected"),
                       ({"theta": 10, "freqs": [1]}, "contradict each other")):  # fmt: skip
        with pytest.raises(blockcalc.BlockcalcError) as caught:
            blockcalc.load({**base, "attn": {**weights, "rope": rope}})
        assert said in report(caught.value)
