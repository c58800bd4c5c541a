"""What a block can reveal: the fields of each mistake, groups that are alike, the report."""

from __future__ import annotations

from functools import cache

import pytest

from blockcalc.check.power import Power, mistake_pieces, mistakes_data, power, power_pieces
from blockcalc.explain.document import Heading, Listing, Remark
from blockcalc.mistakes.catalogue import Catalogue
from blockcalc.mistakes.table import MISTAKES
from tests.check.helpers import SMALL, made

FEW = ("scale_missing", "scale_not_rooted", "eps_other", "mask_missing", "activation_other",
       "scale_on_q", "copied_step")  # fmt: skip
BLOCK = made(SMALL)


@cache
def found(*steps: str, decimals: int = 4) -> Power:
    """Try a few mistakes on the small block."""
    return power(Catalogue(BLOCK, [MISTAKES[name] for name in FEW]), steps, decimals)


def rows(of: Power, title: str) -> dict[str, str]:
    """Give the rows of the list below a heading."""
    pieces = list(power_pieces(of, ["norm2"]))
    titles = [p.title if isinstance(p, Heading) else "" for p in pieces]
    listing = pieces[next(i for i, t in enumerate(titles) if t.startswith(title)) + 1]
    assert isinstance(listing, Listing)
    return {str(row[0]): str(row[-1]) for row in listing.rows}


def test_a_mistake_is_seen_hidden_or_cannot_be_made() -> None:
    own = found("norm2")
    assert set(own.revealed) == {"scale_missing", "scale_not_rooted", "activation_other"}
    assert own.hidden == ("eps_other",)
    assert own.absent == ("mask_missing",)


def test_general_mistakes_and_other_ways_are_left_out() -> None:
    own = found("norm2")
    named = {*own.revealed, *own.hidden, *own.absent}
    assert not named & {"scale_on_q", "copied_step"}


def test_more_decimals_reveal_more() -> None:
    assert "eps_other" in found("norm2", decimals=12).revealed
    assert set(found("norm2", decimals=0).revealed) < set(found("norm2").revealed)


def test_a_step_before_the_mistake_reveals_none() -> None:
    own = found("attn.q")
    assert own.revealed == ()
    assert "scale_missing" in own.hidden


def test_mistakes_that_give_the_same_numbers_are_alike() -> None:
    both = [MISTAKES[name] for name in ("norm_mean_kept", "norm_rms_for_layer")]
    assert power(Catalogue(BLOCK, both), ["norm2"], 4).alike == ((both[0].name, both[1].name),)


def test_each_mistake_has_its_sentence_with_what_it_names_in_the_block() -> None:
    own = found("norm2")
    assert rows(own, "Not seen")["eps_other"] == (
        "these are the values with eps 1e-12 or 1e-08 or 1e-06 or … instead of 1e-05"
    )
    assert rows(own, "Seen")["scale_missing"] == (
        "these are the scores without the division by √d_head"
    )


def test_what_is_alike_is_one_row() -> None:
    own = Power((), (), (("a", "b"), ("a", "c"), ("b", "c")), ())
    assert rows(own, "Cannot") == {"a = b = c": "a = b = c"}


def test_nothing_is_listed_of_none() -> None:
    pieces = list(power_pieces(Power((), (), (), ("scale_missing",)), ["x"]))
    assert not any(isinstance(piece, Listing) for piece in pieces)
    assert any(isinstance(piece, Remark) and "0 of the 0" in piece.text for piece in pieces)


@pytest.mark.parametrize("name", ["softcap_missing", "softcap_after_mask"])
def test_no_mistake_is_named_that_no_block_can_make(name: str) -> None:
    data = mistakes_data()["mistakes"]
    assert isinstance(data, list)
    assert name not in {entry["name"] for entry in data}


def test_the_list_has_a_row_for_each_entry() -> None:
    listing = next(piece for piece in mistake_pieces() if isinstance(piece, Listing))
    assert [row[0] for row in listing.rows] == list(MISTAKES)
