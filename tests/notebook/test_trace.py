"""A run in Python: shown, completed, as a frame, as plain data."""

from __future__ import annotations

import copy
import json
import pickle
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.explain.data import run_document
from blockcalc.views import FORMATS
from tests.helpers import SAMPLES, STACK, TINY, TINY_SPEC, cli, text

TRACE = blockcalc.run(TINY_SPEC)


# in one line -----------------------------------------------------------------------------------


def test_lines_say_what_sizes_and_order() -> None:
    assert repr(TINY_SPEC) == "<Spec 'A Transformer block by hand (post-norm, three t…': post-norm; 3 tokens, d_model = 2, d_head = 2, d_ff = 3>"  # fmt: skip
    assert "24 steps, post-norm; 3 tokens, d_model = 2" in repr(TRACE)
    assert repr(TRACE.step("scores")) == "<Step 4, attn.scores: S = Q Kᵀ [query 3 × key 3]>"
    assert "pre-norm" in repr(TINY_SPEC.with_order("pre"))
    gradient = blockcalc.grad(blockcalc.sample("two_heads"), "sum")
    assert repr(gradient).endswith("; loss = -0.2333>")
    assert gradient["loss"] == pytest.approx(-0.2333, abs=5e-5)
    assert "34 pairs of steps, the first common step that differs is attn.q" in repr(blockcalc.compare(TINY_SPEC))  # fmt: skip
    assert "124,439,808 parameters" in repr(blockcalc.cost(preset="gpt2"))
    wrong = blockcalc.judge(TINY_SPEC, {"attn.scores": [[1, 0, 1], [1, 1, 2], [2, 1, 2]]})
    assert "1 step judged, 1 wrong, first attn.scores" in repr(wrong)
    assert "13 steps judged, nothing wrong" in repr(blockcalc.judge(TINY_SPEC))


# shown -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_show_prints_what_the_command_line_prints(capsys: pytest.CaptureFixture[str]) -> None:
    TRACE.show("scores", "norm1.*", digits=6, detail="cells")
    shown = capsys.readouterr().out
    args = ("--steps", "scores,norm1.*", "--digits", "6", "--detail", "cells", "--no-prose")
    assert shown == text(cli("run", TINY, *args))
    TRACE.show()
    assert capsys.readouterr().out == text(cli("run", TINY))
    TRACE.step("scores").show()
    assert re.search(r"S\[\d,\d\] = \d×\d \+ \d×\d = \d\n", capsys.readouterr().out)


@pytest.mark.slow
def test_every_kind_prints_itself(capsys: pytest.CaptureFixture[str]) -> None:
    TINY_SPEC.show()
    assert capsys.readouterr().out.split("══ Attention")[0] in text(cli("run", TINY))
    blockcalc.compare(TINY_SPEC).show()
    assert capsys.readouterr().out == text(cli("compare", TINY))
    blockcalc.cost(TINY_SPEC).show()
    assert capsys.readouterr().out.split("\n")[2:] == text(cli("cost", TINY)).split("\n")[2:]
    blockcalc.judge(TINY_SPEC).show()
    assert capsys.readouterr().out == text(cli("check", TINY))
    blockcalc.grad(TINY_SPEC, "sum").show()
    assert capsys.readouterr().out == text(cli("grad", TINY, "--loss", "sum"))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: TRACE.show("nosuch"), "nosuch"),
        (lambda: TRACE.show("attn.scoers"), "did you mean 'attn.scores'"),
        (lambda: TRACE.show(3), "3"),  # type: ignore[arg-type]
        (lambda: TRACE.show(detail="cell"), "did you mean 'cells'"),
        (lambda: TRACE.show(digits=18), "from 1 to 17"),
        (lambda: TRACE.show(digits=True), "from 1 to 17"),
        (lambda: TRACE.step("x"), "given matrix"),
        (lambda: TRACE.step("scoers"), "did you mean"),
    ],
)
def test_wrong_calls_are_refused_in_one_sentence(call: Any, said: str) -> None:
    with pytest.raises(blockcalc.UsageError, match=said):
        call()


def test_keys_that_may_stand_in_brackets() -> None:
    for spec in (TINY_SPEC, blockcalc.load(STACK)):
        trace = blockcalc.run(spec)
        keys = trace._ipython_key_completions_()
        assert {*trace, *spec.arrays} <= set(keys)
        assert all(trace[key] is not None for key in keys)
        assert len(keys) == len(set(keys))
    assert "scores" in TRACE._ipython_key_completions_()
    assert "scores" not in blockcalc.run(STACK)._ipython_key_completions_()  # of several blocks
    gradient = blockcalc.grad(TINY_SPEC, "sum")
    assert all(gradient[key] is not None for key in gradient._ipython_key_completions_())


# as values -------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_plain_data_is_what_is_exported(path: Any) -> None:
    trace = blockcalc.run(path)
    written = FORMATS["json"].write(run_document(trace.spec, trace))
    assert trace.to_dict() == json.loads(written)


@pytest.mark.slow
def test_gradients_as_plain_data() -> None:
    own = blockcalc.grad(TINY_SPEC, "sum").to_dict()
    assert own == json.loads(text(cli("export", TINY, "--json", "--grad", "--loss", "sum")))


def test_a_copy_keeps_its_spec_and_its_manners() -> None:
    for trace in (TRACE, blockcalc.grad(TINY_SPEC, "sum")):
        for other in (pickle.loads(pickle.dumps(trace)), copy.deepcopy(trace)):
            assert repr(other) == repr(trace)
            assert other._repr_html_() == trace._repr_html_()
    spec = TINY_SPEC.with_order("pre").with_eps(0.1)
    assert type(spec) is blockcalc.Spec
    assert type(blockcalc.load(spec)) is blockcalc.Spec
    assert blockcalc.load(spec) is spec


@pytest.mark.slow
def test_pages_and_frames_are_imported_only_when_asked_for() -> None:
    code = (
        "import sys, blockcalc; t = blockcalc.run(blockcalc.sample()); repr(t); t['scores'];"
        "sys.exit(any(n in sys.modules for n in ('pandas', 'rich', 'blockcalc.views')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# frames ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_step_as_a_frame_with_its_labels() -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    found = TRACE.to_frame("attn.weights")
    assert found.index.tolist() == found.columns.tolist() == ["t1", "t2", "t3"]
    assert (found.index.name, found.columns.name) == ("query", "key")
    assert found.loc["t2", "t3"] == TRACE["weights"][1, 2]
    assert np.array_equal(found.to_numpy(), TRACE["weights"])
    weight = TRACE.to_frame("attn.w_q")
    assert np.array_equal(weight.columns, [1, 2])
    mean = TRACE.to_frame("norm1.mean")
    assert list(mean.index) == ["t1", "t2", "t3"]
    assert np.array_equal(mean["norm1.mean"], TRACE["norm1.mean"])


@pytest.mark.slow
def test_heads_and_batches_are_levels_of_the_rows() -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    trace = blockcalc.run(blockcalc.sample("two_heads"))
    found = trace.to_frame("weights")
    assert found.index.names == ["head", "query"]
    assert found.loc[(2, "read"), "slowly"] == trace["weights"][1, 1, 2]
    eye = [[1, 0], [0, 1]]
    batch = blockcalc.run({
        "x": [[[1, 0], [0, 1]], [[2, 1], [1, 1]]], "tokens": [["a", "b"], ["c", "d"]],
        "attn": {"n_heads": 2, "w_q": eye, "w_k": eye, "w_v": eye}, "stop": "attn.weights",
    })  # fmt: skip
    found = batch.to_frame("weights")
    assert found.index.names == ["batch", "head", "query"]
    assert np.array_equal(found.columns, [1, 2])  # its two texts have other tokens
    assert found.loc[(2, 1, "d"), 1] == batch["weights"][1, 0, 1, 0]
    assert found.shape == (8, 2)


def test_without_pandas_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(blockcalc.UsageError, match="pandas") as caught:
        TRACE.to_frame("weights")
    assert "pip install pandas" in str(caught.value)
    with pytest.raises(blockcalc.LookupFault):
        TRACE.to_frame("nosuch")
