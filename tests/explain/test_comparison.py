"""Two runs side by side: what is paired, what differs, and what a person is told."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len

import blockcalc
from blockcalc.docs.samples import files, folder
from blockcalc.explain.comparison import compare
from blockcalc.explain.depth import Depth
from blockcalc.explain.document import Head, Overview, PairPiece
from blockcalc.nn.block import build
from blockcalc.nn.spec import Spec
from blockcalc.program.align import align, common
from tests.blocks import block, stack
from tests.helpers import cli, matrix, text

pytestmark = pytest.mark.slow

X = matrix(np.random.RandomState(1), 3, 4)


def pieces_of(a: Spec, b: Spec, **depth: Any) -> list[Any]:
    return list(compare((a, blockcalc.run(a)), (b, blockcalc.run(b)), Depth(**depth)))


def facts_of(a: Spec, b: Spec) -> dict[str, tuple[str, ...]]:
    return dict(next(p for p in pieces_of(a, b) if isinstance(p, Head) and p.facts).facts)


def overview(a: Spec, b: Spec) -> dict[tuple[int | None, int | None], str]:
    found = next(p for p in pieces_of(a, b) if isinstance(p, Overview))
    return {(m.first, m.second): f"{m.name} {m.words}".strip() for m in found.matches}


@pytest.mark.parametrize("path", files(), ids=lambda p: p.stem)
def test_post_and_pre_keep_their_own_orders_and_pair_what_both_do(path: Path) -> None:
    post, pre = (blockcalc.load(path, order=order) for order in ("post", "pre"))
    programs = build(post), build(pre)
    pairs = list(align(*programs))
    for side in (0, 1):
        own = [pair[side] for pair in pairs if pair[side] is not None]
        assert own == list(range(len(programs[side].equations)))
    names = []
    for i, j in pairs:
        if i is not None and j is not None:
            assert programs[0].equations[i].out.name == programs[1].equations[j].out.name
            names.append(programs[0].equations[i].out.name)
    ends = {name.rpartition(".")[2] for name in names}
    assert {"residual1", "residual2", "out"} <= ends
    assert not any(re.search(r"(^|\.)norm[12]", name) for name in names)


def test_the_difference_is_that_of_the_numbers() -> None:
    spec = blockcalc.load({"x": X, **block(2)}, order="post")
    pre = spec.with_order("pre")
    a, b = blockcalc.run(spec), blockcalc.run(pre)
    pieces = pieces_of(spec, pre, digits=15)
    found = next(p for p in pieces if isinstance(p, Overview))
    seen = 0
    for m in found.matches:
        if m.largest:
            largest = np.abs(a[m.name] - b[m.name]).max()
            assert float(f"{m.largest.digits}e{m.largest.exponent or 0}") == pytest.approx(largest)
            seen += 1
    assert seen >= 10
    last = next(p for p in pieces if isinstance(p, PairPiece))
    assert last.match.name == "norm2, residual2"
    less = [float(f.digits) for row in last.rows[0][2][1].rows for f in row]
    np.testing.assert_allclose(less, (b["out"] - a["out"]).ravel(), atol=1e-12)


def test_a_file_with_itself_differs_nowhere() -> None:
    spec = blockcalc.load({"x": X, **block(2)})
    pieces = pieces_of(spec, spec)
    assert pieces[0].headline == "No common step differs."
    pairs = [p for p in pieces if isinstance(p, PairPiece)]
    assert len(pairs) == len(build(spec).equations) + 1
    assert all(p.match.words == "equal" and len(p.rows[0]) == 1 for p in pairs)


def test_the_first_step_that_differs_is_named() -> None:
    data = {"x": X, **block(2)}
    other = {**data, "ffn": {**data["ffn"], "activation": "gelu"}}
    a, b = blockcalc.load(data), blockcalc.load(other)
    assert pieces_of(a, b)[0].headline == "The first common step that differs is ffn.act."
    facts = facts_of(a, b)
    assert facts["A"] == ("activation ReLU",)
    assert facts["B"] == ("activation GELU in the erf form",)
    assert facts["Inputs and weights"] == ("the same in both",)


def test_what_is_given_is_held_against_each_other() -> None:
    data = {"x": X, **block(2)}
    b = {
        "x": [row[:] for row in X[:2]],
        **data | {"x": X[:2]},
        "final_norm": {"gamma": [1, 2, 3, 4]},
    }
    facts = facts_of(blockcalc.load(data), blockcalc.load(b))
    assert facts["Inputs and weights"] == ("x: 3×4 in A, 2×4 in B", "final_norm.gamma only in B")
    changed = json.loads(json.dumps(data))
    changed["ffn"]["w_1"][0][0] += 1
    facts = facts_of(blockcalc.load(data), blockcalc.load(changed))
    assert facts["Inputs and weights"] == ("ffn.w_1: 1 of 24 numbers differ",)


def test_words_where_nothing_can_be_subtracted() -> None:
    data = {"x": X, **block(2)}
    causal = {**data, "attn": {**data["attn"], "causal": True}}
    padded = {**data, "attn": {**data["attn"], "padding": ["keep", "keep", "pad"]}}
    shorter = {**data, "x": X[:2]}
    a, b = blockcalc.load(causal), blockcalc.load(padded)
    assert "attn.masked masked at different places" in overview(a, b).values()
    assert "attn.masked equal" in overview(a, a).values()
    assert (
        "attn.q 3×4 in A, 2×4 in B"
        in overview(blockcalc.load(data), blockcalc.load(shorter)).values()
    )
    assert "attn.masked only in A" in overview(a, blockcalc.load(data)).values()
    rounded = pieces_of(
        a, blockcalc.load({**causal, "attn": {**causal["attn"], "scale": 0.5 + 1e-15}})
    )
    words = {p.match.words for p in rounded if isinstance(p, PairPiece)}
    assert "equal up to round-off" in words


def test_some_steps_of_either() -> None:
    data = {"x": X, **block(2)}
    a = blockcalc.load(data)
    b = blockcalc.load({**data, "final_norm": {}})
    pieces = pieces_of(a, b, patterns=("final_norm*", "attn.q"))
    names = [p.match.name for p in pieces if isinstance(p, PairPiece)]
    assert names == ["attn.q", *(f"final_norm{part}" for part in (".mean", ".centered", ".var", ".std", ""))]  # fmt: skip
    only_out = pieces_of(a, b, patterns=("out",))
    assert [type(p).__name__ for p in only_out] == ["Remark", "Heading", "PairPiece"]
    with pytest.raises(blockcalc.BlockcalcError, match=r"no step is named 'attn\.p'"):
        pieces_of(a, b, patterns=("attn.p",))
    c = blockcalc.load({**data, "title": "Another"})
    assert pieces_of(a, c)[0].title == "A: A Transformer block by hand; B: Another"


def test_files_with_names_are_named(tmp_path: Path) -> None:
    specs = []
    for name in ("a", "b"):
        path = tmp_path / f"{name}.yaml"
        path.write_text("x: [[1, 2]]\nattn: {out: [[1, 1]]}\n")
        specs.append(blockcalc.load(path))
    facts = facts_of(specs[0], specs[1])
    assert facts["A"] == (str(tmp_path / "a.yaml"),)


def test_stacks_are_paired_block_by_block() -> None:
    post, pre = (blockcalc.load(stack(3, X, order)) for order in ("post", "pre"))
    names = [m for (i, j), m in overview(post, pre).items() if i and j]
    for n in range(3):
        assert any(m.startswith(f"blocks.{n}.residual2") for m in names)


def test_the_heaviest_common_part() -> None:
    assert common(["a", "b"], ["a", "b"], set()) == [(0, 0), (1, 1)]
    assert common(["norm1", "attn"], ["attn", "norm1"], {"norm1"}) == [(0, None), (1, 0), (None, 1)]
    assert common(["a"], ["b"], set()) == [(0, None), (None, 0)]
    assert common([], ["b"], set()) == [(None, 0)]


# the command ----------------------------------------------------------------------------


def test_the_embedded_sample_in_both_orders() -> None:
    out = text(cli("compare"))
    assert "══ Step by step ══" in out
    assert re.search(r"^ 16   21  ffn\.pre +2$", out, re.MULTILINE)
    assert re.search(
        r"^      16  norm2\.mean +applied to residual1; step 20 in A$", out, re.MULTILINE
    )
    outputs = out.partition("══ The two runs ══")[0].rstrip()
    assert outputs.endswith("t3 │  1  -1    t3 │ 1  1.000      t3 │ 0  2.000")
    assert text(cli("compare", "--brief")).rstrip() == outputs
    for width in ("20", "40", "80"):
        narrow = text(cli("compare", COLUMNS=width))
        assert "…" not in narrow
        if width == "80":
            assert max(map(len, narrow.splitlines())) <= 80


def test_chosen_steps_of_either() -> None:
    tiny, part = str(folder() / "tiny.yaml"), str(folder() / "tiny_from_attention.yaml")
    out = text(cli("compare", tiny, part, "--steps", "attn.q,residual1"))
    assert re.findall(r"^([AB][^=:\n]*?)  (\S+)  ", out, re.MULTILINE) == [("A 1", "attn.q"), ("A 10, B 1", "residual1")]  # fmt: skip
    out = text(cli("compare", tiny, "--steps", "out"))
    assert "Step by step" not in out
    assert "A 24, B 24  norm2, residual2  largest |B - A| 3" in out
    done = cli("compare", tiny, "--steps", "attn.k_rope")
    assert done.returncode == 2
    assert "no step is named 'attn.k_rope'" in done.stderr.decode()


def test_files_and_options_of_the_command() -> None:
    tiny = str(folder() / "tiny.yaml")
    three = str(folder() / "three_features.yaml")
    out = text(cli("compare", tiny, three, "--eps", "0.1", "--round", "3"))
    assert "tiny.yaml" in out
    assert "three_features.yaml" in out
    assert "eps = 0.1" in out
    assert "rounded to 3 decimals" in out
    out = text(cli("compare", "-", tiny, stdin=Path(tiny).read_bytes()))
    assert "No common step differs." in out
    for args, said in (
        (("-", "-"), "only one of the two"),
        (("none.yaml",), "no such file"),
        ((tiny, "none.yaml"), "no such file"),
    ):
        done = cli("compare", *args)
        assert done.returncode == 2
        assert said in done.stderr.decode()


def test_an_order_that_needs_more_than_is_given_is_refused() -> None:
    data = json.dumps({"norm": "pre", "x": [[1, 2]], "attn": {}, "stop": "norm1"}).encode()
    for command in (("compare", "-"), ("run", "-", "--norm", "post")):
        done = cli(*command, stdin=data)
        assert done.returncode == 2
        assert "'attn.w_q' is required" in done.stderr.decode()
    spec = blockcalc.load(json.loads(data))
    with pytest.raises(blockcalc.BlockcalcError, match=r"attn\.w_q"):
        blockcalc.run(spec.with_order("post"))


def test_differences_of_tiny_numbers_are_differences() -> None:
    x = [[1e-15, 2e-15], [3e-15, 1e-15]]
    data = {"x": x, "attn": {"out": [[0, 0], [0, 0]]}, "stop": "residual1"}
    other = {**data, "attn": {"out": [[1e-15, 0], [0, 0]]}}
    pieces = pieces_of(blockcalc.load(data), blockcalc.load(other))
    found = next(p for p in pieces if isinstance(p, Overview))
    assert [m.words for m in found.matches] == [""]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_headings_of_the_overview_stand_over_their_columns(language: str) -> None:
    out = text(cli("--lang", language, "compare", str(folder() / "tiny.yaml"), COLUMNS="100"))
    lines = out.splitlines()
    (head,) = (n for n, line in enumerate(lines) if re.match("  A    B  ", line))
    before, _, _ = lines[head].rpartition("|B - A|")
    before = before.rstrip().rpartition("  ")[0] + "  "
    row = next(line for line in lines[head + 1 :] if line.startswith("  1    6"))
    assert cell_len(before) == row.index("attn.q") + len("attn.weights.exp  ")
