"""Which printed digits are certain: reported if some are not, and counted for round-off."""

from __future__ import annotations

import blockcalc
from blockcalc.explain.depth import Depth
from blockcalc.explain.document import Listing, Piece, Remark
from blockcalc.explain.steps import explain


def pieces(spec: blockcalc.Spec, **depth: object) -> list[Piece]:
    return list(explain(spec, blockcalc.run(spec), Depth(prose=False, **depth)))  # type: ignore[arg-type]


def test_nothing_is_said_where_every_digit_is_certain() -> None:
    found = pieces(blockcalc.sample("tiny"), digits=16, patterns=("attn.q",))
    assert not any("certain" in piece.text for piece in found if isinstance(piece, Remark))


def test_a_number_that_is_round_off_is_printed_as_0_and_counted() -> None:
    spec = blockcalc.load(
        {"x": [[0.1, 0.2, 0.3]], "attn": {"w_q": [[1], [1], [-1]]}, "stop": "attn.q"}
    )
    assert blockcalc.run(spec)["attn.q"][0, 0] != 0
    (table,) = (p for p in pieces(spec, verify=True) if isinstance(p, Listing))
    assert table.rows[0][0] == "attn.q"
