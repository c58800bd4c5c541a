"""What a second attack found: hostile texts and files, and what must be said of them."""

from __future__ import annotations

import json
import sys
import time
import timeit
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.checkpoints.checkpoint import open_checkpoint
from blockcalc.explain.depth import Depth
from blockcalc.explain.document import Closing, StepPiece
from blockcalc.explain.steps import explain
from blockcalc.files.decode import read_text
from blockcalc.files.tensors import tensors
from blockcalc.notation.alphabets import Text
from blockcalc.program.trace import Trace
from blockcalc.reading.load import load
from blockcalc.views.errors import report
from tests.helpers import HERE, cli

pytestmark = pytest.mark.slow

EYE = {"eye": 2}
BLOCK: dict[str, Any] = {
    "x": [[1, 0], [0, 1], [1, 1]],
    "attn": {"w_q": EYE, "w_k": EYE, "w_v": EYE},
    "ffn": {"w_1": [[1, 0, 1], [0, 1, 1]], "w_2": [[1, 0], [0, 1], [1, 1]]},
}


def refused(call: Any) -> str:
    with pytest.raises(blockcalc.BlockcalcError) as error:
        call()
    assert error.value.exit_code == 2
    return report(error.value)


def loaded(**more: Any) -> blockcalc.Spec:
    return load({**BLOCK, **more})


# texts that take long ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        'notes: "a\n  ' + "ee: " * 4000 + '! ?"\n',
        "notes: a\nb:\n  " + "- " * 20000 + "[!\n",
        "x: [[a, " + "1,1, " * 1500 + "\n",
        "x: [[a, " + "1,1, " * 1500 + "]]\n",
        "tokens: [" + ", ".join(map(str, range(20000))) + "]\nx: [[1]]\nattn: {out: [[1]]}\n",
    ],
)
def test_no_text_takes_long(text: str) -> None:
    begun = time.perf_counter()
    with suppress(blockcalc.BlockcalcError):
        load(read_text(text, "a.yaml").data)
    assert time.perf_counter() - begun < 3


# numbers that do not stay --------------------------------------------------------------------


def test_a_number_too_small_is_refused_in_json(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(
        '{"title": "1e-999", "x": [[0, 1e-7],\n [0, 25e-400]], "attn": {"out": [[1, 1], [1, 1]]}}'
    )
    said = refused(lambda: load(str(path)))
    assert said.startswith(f"{path}:2:6: 25e-400 is too small for float64")
    path.write_text(
        '{"title": "1e-999", "x": [[0, 1e-7], [0, 0e-400]], "attn": {"out": [[1, 1], [1, 1]]}}'
    )
    assert load(str(path)).arrays["x"][0, 1] == 1e-7
    path.write_text('{"x": [[1, 2]], "attn": {"out": [[1, 1]]}, "norm": {"eps": 1e-400}}')
    assert "1e-400 is too small" in refused(lambda: load(str(path)))


@pytest.mark.parametrize(
    "number", ["1E-400", "0." + "0" * 400 + "1", "-0." + "0" * 250 + "1e-90", "0.1e-0400"]
)
def test_a_number_too_small_is_refused_in_json_in_every_spelling(
    number: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.json"
    path.write_text(f'{{"x": [[0, {number}]], "attn": {{"out": [[1, 1]]}}}}')
    said = refused(lambda: load(str(path)))
    assert said.startswith(f"{path}:1:12: {number[:37]}")
    assert "too small for float64" in said


@pytest.mark.parametrize("number", ["1E-300", "0." + "0" * 250 + "1", "0e-400", "-0.00E-999"])
def test_what_float64_holds_is_read_beside_zeros(number: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(f'{{"title": "e-999", "x": [[0, {number}]], "attn": {{"out": [[1, 1]]}}}}')
    assert load(str(path)).arrays["x"][0, 1] == float(number)


def test_json_with_zeros_is_read_about_as_fast_as_the_standard_library_reads_it(
    tmp_path: Path,
) -> None:
    rows = [[i * 1e-6 * (-1) ** j for j in range(500)] for i in range(500)]
    path = tmp_path / "a.json"
    path.write_text(
        json.dumps({"x": [[1] * 500], "attn": {"out": rows[:1]}, "ffn": {"w_1": rows, "w_2": rows}})
    )

    def best(read: Callable[[], object]) -> float:
        return min(timeit.repeat(read, number=1, repeat=5))

    # 1.4 times; a walk over every number in Python makes it 9
    assert best(lambda: load(str(path))) < 4 * best(lambda: json.loads(path.read_text()))


def test_a_csv_of_quoted_cells(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    own = {"file": str(path)}

    def x(text: str) -> Any:
        path.write_text(text)
        return load({"x": own, "attn": {"out": own}}).arrays["x"].tolist()

    assert x('"1", "2.5"\n3,4\n') == [[1, 2.5], [3, 4]]
    assert x("1;2\n3;4\n") == [[1, 2], [3, 4]]
    for text, column in (('"0,5"\n"0,1"', 1), ("1,2,\n1,2,3", 5), ("1,,2", 3), ('1,"1,000"', 3),
                         ('"1,2\n', 1), ('""1"",2', 1), ("1,2\n1,a", 3)):  # fmt: skip
        said = refused(lambda text=text: x(text))
        assert (
            f"x.csv:{text.count(chr(10), 0, -1) + 1 if 'a' in text else 1}:{column}: a number"
            in said
        )
    path.write_text("9007199254740993\n")
    spec = load({"x": own, "attn": {"out": own}})
    assert "x has whole numbers" in spec.remarks[0]


# files that are more than they seem --------------------------------------------------------


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_an_archive_of_another_compression_is_refused(method: int, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(tmp_path / "b.npz", a=np.ones((2, 2)))
    with zipfile.ZipFile(tmp_path / "b.npz") as from_, zipfile.ZipFile(path, "w", method) as to:
        to.writestr("a.npy", from_.read("a.npy"))
    assert "compressed in a way" in refused(lambda: tensors(path))
    np.savez_compressed(path, a=np.ones((2, 2)))
    assert tensors(path)[0].shape == (2, 2)


def test_a_file_without_tensors_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path)
    assert "holds no tensor" in refused(
        lambda: load({"x": {"file": str(path)}, "attn": {"out": [[1]]}})
    )


def test_odd_folders_of_models(tmp_path: Path) -> None:
    pytest.importorskip("safetensors", reason="safetensors is an extra")
    folder = tmp_path / "bert"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(
        (HERE / "checkpoints" / "bert" / "model.safetensors").read_bytes()
    )
    (folder / "config.json").symlink_to("config.json")
    said = refused(lambda: open_checkpoint(str(folder)))
    assert "cannot be read" in said
    (folder / "config.json").unlink()
    (folder / "config.json").write_text('{"model_type": "bert", "model_type": "gpt2"}')
    assert "model_type is given twice" in refused(lambda: open_checkpoint(str(folder)))
    assert "cannot be written into a text file" in refused(lambda: open_checkpoint("d\udcff"))


# sizes -----------------------------------------------------------------------------------------


def test_what_the_steps_hold_is_bounded() -> None:
    long = {"zeros": [20000, 2]}
    assert "the steps would hold" in refused(lambda: blockcalc.run(loaded(x=long)))
    causal = {**BLOCK["attn"], "causal": True}
    assert "the steps would hold 400000000" in refused(lambda: loaded(x=long, attn=causal))
    blocks = [{"attn": BLOCK["attn"], "repeat": 1000}]
    data = {"x": {"zeros": [3000, 2]}, "blocks": blocks}
    assert "are allowed" in refused(lambda: blockcalc.run(load(data)))


def test_one_causal_pattern_serves_all_blocks() -> None:
    own = {**BLOCK["attn"], "causal": True}
    spec = load({"x": BLOCK["x"], "blocks": [{"attn": own}, {"attn": own}]})
    assert spec.arrays["blocks.0.attn.causal"] is spec.arrays["blocks.1.attn.causal"]


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as on Linux")
def test_too_little_memory_is_one_line(tmp_path: Path) -> None:
    import resource
    import subprocess

    (tmp_path / "a.yaml").write_text(
        "x: {zeros: [30000, 2000]}\nattn: {out: {zeros: [30000, 2000]}}\n"
    )

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (700 * 2**20, 700 * 2**20))

    done = subprocess.run(
        [sys.executable, "-m", "blockcalc", "run", "a.yaml"], cwd=tmp_path, capture_output=True,
        preexec_fn=limit, check=False, env={"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(HERE.parent)},
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.decode() == "there is not enough memory for this\n"


# names under stop --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stop", "unnamed"),
    [
        ("attn.weights", ("attn.out", "attn")),
        ("attn.weights.sum", ("attn.weights", "attn.out")),
        ("ffn.act", ("ffn.out", "ffn")),
        ("norm1.var", ("norm1", "norm1.out", "norm1.normalized")),
    ],
)
def test_a_part_that_stop_ends_has_no_name(stop: str, unnamed: tuple[str, ...]) -> None:
    trace = blockcalc.run(loaded(stop=stop))
    names = {*trace, *trace.program.aliases}
    assert not names & set(unnamed)
    assert trace.program.find("out") == stop
    closing = next(p for p in explain(loaded(stop=stop), trace, Depth()) if isinstance(p, Closing))
    written = Text().render(closing.formulas[-1][1])
    if stop == "attn.weights.sum":
        assert written == "Σ exp(Q Kᵀ / √d_head)"
    elif stop == "norm1.var":
        assert written.startswith("Σ (")


def test_stop_at_the_end_of_a_part_names_it() -> None:
    for stop in ("attn.out", "norm1", "ffn"):
        trace: Trace = blockcalc.run(loaded(stop=stop))
        assert trace.program.find(stop) == list(trace)[-1]


def test_round_off_is_no_number_after_a_function_of_it() -> None:
    spec = loaded(stop="ffn.act")
    trace = blockcalc.run(spec)
    assert 0 < trace["ffn.act"][0, 2] < 1e-15
    found = explain(spec, trace, Depth(patterns=("ffn.act",)))
    piece = next(p for p in found if isinstance(p, StepPiece))
    assert piece.grids[0].rows[0][2].digits == "0"
    middle = piece.lines[2].middle
    assert middle is not None
    assert Text().render(middle) == "max(0, 0)"


# messages --------------------------------------------------------------------------------------


def test_several_answers_that_do_not_fit_are_one_message() -> None:
    expect = {"attn.scores": [[1]], "attn.z": [[1]], "norm1": [[1, 2]]}
    said = refused(lambda: loaded(expect=expect))
    assert said.count("\n") == 1
    assert "so are 2 more" in said
    assert "under expect" in said


def test_an_entry_of_what_is_no_list() -> None:
    data = {"x": {"value": [[1, 2]]}, "attn": {"out": [[1, 2]]}}
    said = refused(lambda: load(data, [("x.0.0", "5")]))
    assert said.startswith("--set x.0.0=5: an index needs a list")


def test_a_run_of_a_repeated_block_is_offered() -> None:
    spec = load(
        {"x": BLOCK["x"], "blocks": [{"attn": BLOCK["attn"]}, {"attn": BLOCK["attn"], "repeat": 2}]}
    )
    trace = blockcalc.run(spec)
    said = refused(lambda: trace["blocks.1.attn.q"])
    assert "did you mean 'blocks.1.0.attn.q'" in said


def test_masks_by_head_where_there_is_one_head() -> None:
    keep = [[[1, 0, 0], [1, 1, 0], [1, 1, 1]]]
    one = blockcalc.run(loaded(attn={**BLOCK["attn"], "mask": {"keep": keep}}))
    two = blockcalc.run(loaded(attn={**BLOCK["attn"], "mask": {"keep": keep[0]}}))
    assert np.array_equal(one["out"], two["out"])
    add = [[[0, float("-inf"), 0]] * 3]
    assert blockcalc.run(loaded(attn={**BLOCK["attn"], "mask": {"add": add}}))[
        "attn.weights"
    ].shape == (3, 3)


def test_masks_of_a_batch_in_a_block_that_repeats() -> None:
    keep = [[[[1, 0]] * 2], [[[1, 1]] * 2]]
    own = {**BLOCK["attn"], "mask": {"keep": keep}}
    x = [[[1, 0], [0, 1]], [[1, 0], [0, 1]]]
    trace = blockcalc.run(load({"x": x, "blocks": [{"attn": own, "repeat": 2}]}))
    assert np.array_equal(trace["blocks.0.1.attn.weights"][0], [[1, 0], [1, 0]])
    assert trace["blocks.0.1.attn.weights"][1, 0, 1] > 0


def test_infinities_of_yaml_in_every_spelling() -> None:
    found = read_text("a: [-.Inf, -.INF, -.inf, .Inf, +.INF, .NaN, .NAN]", "a.yaml").data["a"]
    assert found[:3] == [float("-inf")] * 3
    assert found[3:5] == [float("inf")] * 2
    assert all(x != x for x in found[5:])


def test_outputs_without_a_name(tmp_path: Path) -> None:
    tiny = str(HERE.parent / "samples" / "tiny.yaml")
    for args in (("export", tiny, "--json", "-o", "new/"), ("samples", "--copy", "")):
        done = cli(*args, cwd=tmp_path)
        assert done.returncode == 3
        assert len(done.stderr.decode().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
    done = cli("export", tiny, "--json", "-o", "a\x1b[31m.json", cwd=tmp_path)
    assert b"\x1b" not in done.stderr
    for command in ("samples", "schema", "format"):
        assert cli(command, "--error-format", "json").returncode == 0
    done = cli("samples", "--copy", tiny, "--error-format", "json")
    assert json.loads(done.stderr)["exit_code"] == 3
