"""A file to fill in: it runs as it is, has what was asked for, and says what each matrix is."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import yaml

import blockcalc
from blockcalc.docs.template import ACTIVATIONS, STYLES, Wanted, template
from blockcalc.shell.offers import Line, offers
from tests.helpers import cli, text
from tests.shell.commands import COMMANDS

SIZES = [(1, 1, 1), (3, 4, 2), (4, 6, 3), (2, 8, 4), (5, 2, 1)]
ALL = [  # RoPE takes pairs of columns
    (name, size)
    for name, style in STYLES.items()
    for size in SIZES
    if not style.rope or size[1] // size[2] % 2 == 0
]


@pytest.mark.parametrize(("style", "size"), ALL, ids=str)
def test_every_style_and_size_runs_as_it_is(style: str, size: tuple[int, int, int]) -> None:
    tokens, d_model, heads = size
    spec = blockcalc.loads(template(Wanted(tokens, d_model, heads, style)))
    trace = blockcalc.run(spec)
    assert trace["out"].shape == (tokens, d_model)
    assert np.isfinite(trace["out"]).all()
    assert spec.remarks == ()
    assert spec.order == STYLES[style].order
    numbers = np.concatenate([a.ravel() for name, a in spec.arrays.items() if "rope" not in name])
    assert (numbers == np.round(numbers)).all()
    shape = (tokens, tokens) if heads == 1 else (heads, tokens, tokens)
    assert trace["weights"].shape == shape


@pytest.mark.parametrize("style", STYLES)
def test_the_default_numbers_are_worth_working(style: str) -> None:
    trace = blockcalc.run(blockcalc.loads(template(Wanted(3, 4, 2, style))))
    x = trace["x"]
    assert set(x.ravel()) <= {-1, 0, 1, 2, 3}
    assert len(np.unique(x, axis=0)) == 3
    assert all(np.unique(row).size > 1 for row in x)
    for name in ("w_q", "w_k", "w_v"):
        assert set(trace[name].ravel()) <= {-1, 0, 1}
        assert np.linalg.matrix_rank(trace[name]) >= 2
    assert not np.array_equal(trace["w_q"], trace["w_k"])
    weights = trace["weights"]
    assert not np.allclose(weights[:, -1], 1 / 3, atol=0.02)
    assert np.count_nonzero(trace["w_o"])


def test_every_matrix_has_a_comment_with_its_shape() -> None:
    for style in STYLES:
        body = template(Wanted(2, 4, 2, style))
        data = yaml.safe_load(body)
        for part in ("attn", "ffn"):
            for name in (n for n in data[part] if n.startswith("w_")):
                value = np.array(data[part][name])
                shape = " × ".join(map(str, value.shape))
                assert re.search(rf"# \[{re.escape(shape)}\]: .*\n  {name}:\n", body), name


@pytest.mark.parametrize("heads", [1, 2])
def test_the_commented_answers_can_be_uncommented(heads: int) -> None:
    body = template(Wanted(2, 4, heads))
    assert "\n# expect:\n" in body
    spec = blockcalc.loads(body.replace("\n# expect:\n#", "\nexpect:\n"))
    assert np.isnan(spec.expect["attn.scores"]).all()


def test_every_activation_that_is_named_is_one() -> None:
    for name in ACTIVATIONS:
        body = template(Wanted()).replace("activation: relu", f"activation: {name}")
        assert blockcalc.run(blockcalc.loads(body))["out"].any()


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"heads": 3}, "4 is not a multiple of 3 heads .*1, 2, 4"),
        ({"style": "lama"}, "did you mean 'llama'"),
        ({"style": "llama", "d_model": 6, "heads": 2}, "here it is 3"),
    ],
)
def test_what_cannot_be_is_refused(wanted: dict[str, object], said: str) -> None:
    with pytest.raises(blockcalc.UsageError, match=said):
        Wanted(**wanted)  # type: ignore[arg-type]


def test_the_help_and_completion_list_every_style() -> None:
    (option,) = (p for p in COMMANDS["new"].params if p.name == "style")
    assert all(re.search(rf"\b{name}\b", option.help) for name in STYLES)
    assert [o.word for o in offers(COMMANDS, {}, Line(["new", "--style"], ""))] == list(STYLES)


@pytest.mark.slow
def test_the_command_writes_a_file_that_runs(tmp_path: Path) -> None:
    args = ("new", "--tokens", "2", "--d-model", "4", "--heads", "2", "--style", "gpt2")
    shown = text(cli(*args))
    done = cli(*args, "-o", "mine.yaml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"mine.yaml" in done.stderr
    written = (tmp_path / "mine.yaml").read_text(encoding="utf-8")
    assert written == shown.replace("blockcalc run FILE", "blockcalc run mine.yaml")
    assert "Attention weights" in text(cli("run", "mine.yaml", cwd=tmp_path))
    again = cli("new", "-o", "mine.yaml", cwd=tmp_path)
    assert (again.returncode, (tmp_path / "mine.yaml").read_text(encoding="utf-8")) == (3, written)
    text(cli("new", "-o", "mine.yaml", "--force", cwd=tmp_path))
    assert "d_model = 4" in (tmp_path / "mine.yaml").read_text(encoding="utf-8")
    for wrong in (("--heads", "3"), ("--tokens", "0"), ("--style", "x"), ("-o", "mine.json")):
        refused = cli("new", *wrong, cwd=tmp_path)
        assert (refused.returncode, refused.stdout) == (2, b"")
    assert text(cli("new", "-o", "-")) == text(cli("new"))
