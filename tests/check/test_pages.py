"""Published pages: the first wrong step of each, and the mistake if it has a name."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

import blockcalc
from blockcalc.answers.read import answers_of, read_answers
from blockcalc.check.run import Checked
from blockcalc.gradients.run import work_gradients
from blockcalc.mistakes.alternative import Block
from blockcalc.program.loss import is_backward
from tests.check.helpers import check_block, verdicts

PAGES = Path(__file__).parent / "pages"


@dataclass(frozen=True)
class Page:
    """What is said of a page.

    Attributes
    ----------
    first : str or None
        The first wrong step; None where all is right.
    after : mapping
        Verdicts of other steps.
    reason : str
        The mistake that the catalogue has for it.
    at : tuple of int
        The cell, where only one is wrong.
    """

    first: str | None
    after: dict[str, str] = field(default_factory=dict)
    reason: str = ""
    at: tuple[int, ...] = ()


EXPECTED = {
    "article_attention": Page("attn.z", {"residual1": "follows", "norm1": "rounded", "norm2": "right"}, "softmax_rounded_row", at=(1, 0)),
    "article_constant_row": Page("norm1", {"norm1.var": "right"}),
    "bert_pytorch": Page("norm1", reason="variance_sample"),
    "blog_add_norm": Page("norm1.var", {"norm1.mean": "right", "norm1.normalized": "follows"}),
    "blog_hidden": Page("attn.q"),
    "causal_last_value": Page("attn.z", {"attn.weights": "right"}),
    "column_plus_one": Page("attn.z", {"attn.weights": "rounded"}, "slip_carry"),
    "illustrated_rounded": Page("attn.weights", {"attn.scores": "right", "attn.z": "follows"}, at=(0, 0)),
    "illustrated_unscaled": Page("attn.scaled", {"attn.q": "right", "attn.weights": "follows", "attn.z": "follows"},
                                 "scale_missing"),
    "masked_row_nan": Page("attn.weights", reason="mask_row_undefined"),
    "masked_row_uniform": Page("attn.weights", reason="mask_finite"),
    "masked_row_unmasked": Page("attn.weights", reason="mask_finite"),
    "pencil": Page(None, {"norm2": "rounded", "residual2": "rounded"}),
    "pencil_nolan": Page(None, {"attn.weights": "rounded", "attn.z": "rounded"}),
    "picogpt_gelu": Page("ffn.act", {"ffn.pre": "right"}),
    "random_transformer_thirty": Page("attn.z", {"attn.scores": "right"}, "scale_other"),
    "raschka_hand_step": Page("norm1.var", {"norm1.mean": "rounded", "norm1.normalized": "follows"}, "variance_sample"),
    "rms_last_digit": Page("norm1", {"norm1.rms": "rounded"}, at=(0, 2)),
    "whole_matrix_norm": Page("norm1", reason="norm_over_tokens"),
    "yeh_backprop": Page("grad.ffn.pre", {"ffn.out": "right", "grad.ffn.w_2": "right", "grad.ffn.act": "right",
                                          "grad.ffn.b_1": "follows"}, "grad_relu_mask_missing"),
    "yeh_norm": Page("norm1.normalized", {"residual1": "rounded", "norm1": "follows", "ffn.pre": "follows"},
                     "variance_sample and eps_outside_other"),
    "yeh_relu_twice": Page("ffn.out", {"ffn.pre": "rounded", "residual2": "follows", "norm2": "follows"},
                           "activation_late"),
}  # fmt: skip


def checked(name: str) -> Checked:
    """Check a page: its own answers, or those beside it."""
    spec = blockcalc.load(PAGES / f"{name}.yaml")
    beside = PAGES / f"{name}.answers.yaml"
    answers = read_answers(beside) if beside.exists() else answers_of(spec)
    backward = any(is_backward(answer.name) for answer in answers.given)
    return check_block(Block(spec, (work_gradients if backward else blockcalc.run)(spec)), answers)


def test_every_page_has_a_verdict() -> None:
    pages = {p.name.split(".")[0] for p in PAGES.glob("*.yaml")}
    assert pages == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_first_wrong_step_of_a_page(name: str) -> None:
    page, found = EXPECTED[name], checked(name)
    given = verdicts(found)
    aliases = found.judgement.trace.program.aliases
    assert found.judgement.first_wrong == page.first
    assert found.ok is (page.first is None)
    assert not found.unreadable
    for step, verdict in page.after.items():
        assert given[aliases.get(step, step)] == verdict, step
    reasons = {" and ".join(r.names) for r in found.reasons if r.step == page.first}
    assert (page.reason in reasons) if page.reason else not reasons
    if page.at:
        assert page.first is not None
        bad = found.steps[page.first].bad
        assert bad.sum() == 1
        assert bad[page.at]
