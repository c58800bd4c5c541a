"""What a file expects: answers that do not fit, and answers to numbers that were set."""

from __future__ import annotations

import pytest

from blockcalc.errors import InputError
from blockcalc.reading.load import load
from tests.blocks import BLOCK, changed_block
from tests.helpers import HERE, refused


@pytest.mark.slow
def test_several_answers_that_do_not_fit_are_one_message() -> None:
    expect = {"attn.scores": [[1]], "attn.z": [[1]], "norm1": [[1, 2]]}
    said = refused(lambda: changed_block(expect=expect))
    assert said.count("\n") == 1
    assert "so are 2 more" in said
    assert "under expect" in said


def test_what_is_set_may_change_the_shape_of_answers() -> None:
    spec = load(str(HERE.parent / "samples" / "tiny.yaml"), [("x", "[[1, 2], [3, 4]]")])
    assert set(spec.expect) < set(load(str(HERE.parent / "samples" / "tiny.yaml")).expect)
    (told,) = spec.remarks
    assert "attn.scores" in told
    with pytest.raises(InputError) as caught:
        load(str(HERE.parent / "samples" / "tiny.yaml"), [("expect.attn.scores", "[[1, 2]]")])
    assert "attn.scores is 3×3" in caught.value.faults[0].message


OWN = {**BLOCK, "expect": {"norm1.mean": [0.0, 0.0, 0.0], "attn.q": [[0.0] * 2] * 3}}


def test_what_is_set_may_remove_steps_that_have_answers_or_points() -> None:
    spec = load({**OWN, "points": {"norm1.mean": 2, "attn.q": 1}}, [("norm.kind", "rms")])
    assert list(spec.expect) == ["attn.q"]
    assert spec.points == {"attn.q": 1}
    assert any("ignored: norm1.mean" in remark for remark in spec.remarks)
    alone = load({**BLOCK, "points": {"norm1.mean": 2}}, [("norm.kind", "rms")])
    assert alone.points == {}
    assert any("points" in remark for remark in alone.remarks)


@pytest.mark.parametrize("section", ["expect", "points"])
def test_a_misspelt_name_is_refused_whatever_is_set(section: str) -> None:
    own = {**BLOCK, section: {"norm1.meen": [1.0, 2.0, 3.0] if section == "expect" else 1}}
    with pytest.raises(InputError, match=r"no step 'norm1\.meen'"):
        load(own, [("norm.kind", "rms")])


def test_a_name_that_is_set_itself_is_refused() -> None:
    sets = [("norm.kind", "rms"), ("expect.norm1.mean", "[1, 2, 3]")]
    with pytest.raises(InputError, match=r"no step 'norm1\.mean'"):
        load(OWN, sets)


def test_gradients_may_be_expected() -> None:
    names = {"grad.attn.q": [[0, 0]] * 3, "loss": [1], "new.attn.w_q": [[1, 0], [0, 1]]}
    spec = load({**BLOCK, "expect": names})
    assert set(spec.expect) == set(names)
    with pytest.raises(InputError, match=r"grad\.attn\.q is 3×2, and this is 1×1"):
        load({**BLOCK, "expect": {"grad.attn.q": [[1]]}})


def test_expected_gradients_of_steps_that_are_gone_are_ignored() -> None:
    ffn = {"w_1": [[1, 0, 1], [0, 1, -1]], "w_2": [[1, 0], [0, 1], [1, 1]]}
    data = {**BLOCK, "ffn": ffn, "expect": {"grad.ffn.w_1": [[0, 0, 0], [0, 0, 0]]}}
    other = {"ffn": {"w_1": [[1, 0], [0, 1]], "w_2": [[1, 0], [0, 1]]}}
    spec = load(data, list(other.items()))
    assert not spec.expect
    assert "grad.ffn.w_1" in spec.remarks[-1]
