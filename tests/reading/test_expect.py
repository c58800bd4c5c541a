"""What a file expects: answers that do not fit, and answers to numbers that were set."""

from __future__ import annotations

import pytest

from blockcalc.errors import InputError
from blockcalc.reading.load import load
from tests.blocks import changed_block
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
