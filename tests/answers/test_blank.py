"""A blank file of answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from blockcalc import Spec, loads
from blockcalc.answers.blank import MOST_CELLS, blank_text
from blockcalc.answers.names import match
from blockcalc.answers.read import read_answers
from blockcalc.errors import UsageError
from blockcalc.gradients.run import work_gradients
from blockcalc.nn.block import build
from tests.helpers import sample_specs


@pytest.mark.parametrize("spec", sample_specs(), ids=lambda s: f"{s.title}-{s.order}")
def test_it_is_read_back_with_every_cell_open(tmp_path: Path, spec: Spec) -> None:
    for program in (build(spec), work_gradients(spec, "sum", False).program):
        path = tmp_path / "answers.yaml"
        path.write_text(blank_text(program), encoding="utf-8")
        found = match(read_answers(path), program)
        assert not found.unreadable
        shapes = {eq.out.name: eq.out.shape for eq in program.equations}
        assert {name: a.values.shape for name, a in found.steps.items()} == shapes
        assert not any(a.judged.any() for a in found.steps.values())


def test_it_says_how_to_fill_it(tmp_path: Path) -> None:
    program = build(loads("x: [[1, 2], [3, 4]]\nattn: {out: [[0, 1], [1, 0]]}\n"))
    text = blank_text(
        program, {"residual1", "norm1.mean"}, {"norm1.mean": "Mean of each row"}, "my\x1bfile.yaml"
    )
    assert text == (
        "# Answers for my\\x1bfile.yaml\n"
        "# Write your numbers over the question marks; a cell that stays ? is not judged.\n"
        "# A number is right to half a unit of its last digit: 0.17 means 0.165 to 0.175. 1/3 is exact, 1/1.73 is not.\n"
        "# Then: blockcalc check my\\x1bfile.yaml THIS_FILE\n"
        "\n# token 2 × d_model 2\nresidual1:\n  - [?, ?]\n  - [?, ?]\n"
        "\n# Mean of each row: token 2\nnorm1.mean: [?, ?]\n"
    )
    (tmp_path / "a.yaml").write_text(text.replace("[?, ?]", "[0.50, ?]", 1))
    (residual, _) = read_answers(tmp_path / "a.yaml").given
    assert residual.judged.sum() == 1
    assert residual.half[0, 0] == 0.005


def test_the_head_says_which_options_go_with_it() -> None:
    program = build(loads("x: [[1, 2], [3, 4]]\nattn: {out: [[0, 1], [1, 0]]}\n"))
    text = blank_text(program, {"residual1"}, None, "a.yaml", " --loss sum", ["Of the loss L\x1b"])
    assert "# Then: blockcalc check a.yaml THIS_FILE --loss sum\n# Of the loss L\\x1b\n" in text


def test_too_many_cells_are_refused() -> None:
    n = MOST_CELLS // 8
    program = build(loads(f"x: {{zeros: [{n}, 2]}}\nattn: {{out: {{zeros: [{n}, 2]}}}}\n"))
    with pytest.raises(UsageError, match="choose steps with --steps"):
        blank_text(program)
    assert blank_text(program, {"norm1.mean"})
