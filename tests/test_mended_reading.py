"""What people who attacked the reading found, and must not find again."""

from __future__ import annotations

import json
import os
import shutil
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.checkpoints.checkpoint import open_checkpoint
from blockcalc.checkpoints.layer_file import as_yaml, layer_file
from blockcalc.errors import InputError
from blockcalc.files.decode import read_text
from blockcalc.files.tensors import tensors
from blockcalc.reading.load import load
from blockcalc.reading.overrides import parse_sets
from blockcalc.views.errors import report
from tests.helpers import HERE, cli

X = [[1, 0], [0, 1]]
OUT: dict[str, Any] = {"x": X, "attn": {"out": X}}


def refused(call: Any) -> str:
    with pytest.raises(blockcalc.BlockcalcError) as error:
        call()
    assert error.value.exit_code == 2
    return report(error.value)


@pytest.mark.parametrize("ending", ["npz", "npy", "csv", "safetensors"])
def test_what_is_no_regular_file_is_not_waited_for(ending: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / f"pipe.{ending}")
    (tmp_path / f"zero.{ending}").symlink_to("/dev/zero")
    for name in ("pipe", "zero"):
        said = refused(lambda name=name: tensors(tmp_path / f"{name}.{ending}"))
        assert "this is not a regular file" in said


def test_endless_input_is_refused_at_its_bound() -> None:
    for args in (("run", "/dev/zero"), ("run", "-")):
        done = cli(*args, stdin=b" " * (33 * 2**20) if "-" in args else None)
        assert done.returncode == 2
        assert b"limit of 33554432 bytes" in done.stderr


def test_a_place_in_a_long_json_line_is_found_at_once() -> None:
    numbers = ",".join(["1"] * 200_000)
    begun = time.perf_counter()
    for text in (f'{{"x": [[{numbers}]], "foo": 1}}', f'{{"x": [[\n{numbers}\n]],\n "x": 1}}'):
        refused(lambda text=text: blockcalc.load(read_text(text, "a.json").data))
        if '"x": 1' in text:
            assert "a.json:4:2: 'x' is given twice" in refused(
                lambda text=text: read_text(text, "a.json")
            )
    assert time.perf_counter() - begun < 10


def npy(header: bytes, version: bytes = b"\x01\x00", size: int = 2) -> bytes:
    return b"\x93NUMPY" + version + len(header).to_bytes(size, "little") + header


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (
            b"\x93NUMPY\x02\x00" + (900 << 20).to_bytes(4, "little"),
            "its header has 943718400 bytes",
        ),
        (
            npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 2), }\n"),
            "its shape is (-1, 2)",
        ),
        (
            npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (0, 2), }\n"),
            "this list is empty",
        ),
    ],
)
def test_headers_that_lie(raw: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.npy").write_bytes(raw)
    path = tmp_path / "a.yaml"
    path.write_text("x: {file: a.npy}\nattn: {out: {zeros: [2, 2]}}\n")
    assert said in refused(lambda: blockcalc.load(path))


def test_a_header_of_python_2_is_read_without_a_warning(tmp_path: Path) -> None:
    (tmp_path / "a.npy").write_bytes(npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (1L, 2L), }\n") + bytes(16))  # fmt: skip
    path = tmp_path / "a.yaml"
    path.write_text("x: {file: a.npy}\nattn: {out: [[0, 0]]}\n")
    assert blockcalc.load(path).arrays["x"].tolist() == [[0, 0]]


def test_two_entries_of_one_name_are_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("a.npy", b"")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("a.npy", b"")
    assert "two of its entries have the same name" in refused(lambda: tensors(tmp_path / "a.npz"))


def test_a_refused_size_does_not_count(tmp_path: Path) -> None:
    data = {"x": {"random": [90000, 90000]}, "attn": {"out": {"zeros": [2, 2]}}}
    assert refused(lambda: blockcalc.load(data)).count("more than the limit") == 1


def test_giants_of_a_file_are_noted(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([[2**53 + 1, 1], [0, 1]]))
    path = tmp_path / "a.yaml"
    path.write_text("x: {file: a.npy}\nattn: {out: {zeros: [2, 2]}}\n")
    assert "x has whole numbers" in blockcalc.load(path).remarks[0]


def test_a_question_mark_in_a_text_stays(tmp_path: Path) -> None:
    texts = {
        'title: "Why, [x, ?] indeed"': "Why, [x, ?] indeed",
        "title: Why, [x, ?] indeed": "Why, [x, ?] indeed",
        "title: |\n  [1, ?]\n  [?, 2]\nx: 1": "[1, ?]\n[?, 2]\n",
        "title: '[1, ?]'": "[1, ?]",
        'title: "a, [b, ?]" # [?]': "a, [b, ?]",
    }
    for text, title in texts.items():
        assert read_text(text, "a.yaml").data["title"] == title
    rows = {
        "e: [[?, 1], [2, ?]]": [[None, 1], [2, None]],
        "e: [?]": [None],
        "a.b: [?, 2] # ?": [None, 2],
    }
    for text, want in rows.items():
        assert next(iter(read_text(text, "a.yaml").data.values())) == want
    assert read_text("e:\n  - [?, 1]\n  - [2,\n     ?]\n", "a.yaml").data == {
        "e": [[None, 1], [2, None]]
    }
    assert read_text("e: {r: [[?, 2]], n.mean: [~]}", "a.yaml").data["e"]["r"] == [[None, 2]]


def test_bytes_that_are_no_text_on_the_command_line() -> None:
    with pytest.raises(blockcalc.BlockcalcError, match="bytes that are not text"):
        parse_sets(["title=\udcff"], {})
    assert "there is nothing after the equals sign" in refused(
        lambda: blockcalc.load(OUT, [("x", " ")])
    )


@pytest.mark.parametrize(
    "args",
    [
        ("run", "--digits", "x"),
        ("run", "--bogus"),
        ("run", "a", "b"),
        ("run", "--norm", "zz"),
        ("weights",),
    ],
)
def test_every_error_is_json_where_it_is_asked_for(args: tuple[str, ...]) -> None:
    done = cli(*args, "--error-format", "json")
    assert done.returncode == 2
    assert json.loads(done.stderr)["exit_code"] == 2


# models on disk -------------------------------------------------------------------------


def model(tmp_path: Path, name: str, **config: Any) -> Path:
    pytest.importorskip("safetensors", reason="safetensors is an extra")
    folder = tmp_path / name
    shutil.copytree(HERE / "checkpoints" / name, folder)
    path = folder / "config.json"
    data = {**json.loads(path.read_text()), **config}
    path.write_text(json.dumps({k: v for k, v in data.items() if v != "absent"}))
    return folder


def imported(folder: Path) -> str:
    return refused(lambda: layer_file(open_checkpoint(str(folder)), 0, folder / "a.yaml"))


@pytest.mark.parametrize(
    ("name", "config", "said"),
    [
        ("bert", {"num_attention_heads": "absent"}, "num_attention_heads is missing"),
        ("whisper", {"encoder_attention_heads": "absent"}, "encoder_attention_heads is missing"),
        ("llama", {"hidden_act": [1]}, "activation [1]"),
        ("llama", {"rope_parameters": "abc"}, "config.json cannot be used"),
        ("llama", {"partial_rotary_factor": "x", "rope_parameters": None}, "cannot be used"),
        (
            "llama",
            {"partial_rotary_factor": float("inf"), "rope_parameters": None},
            "cannot be used",
        ),
        ("gpt2", {"scale_attn_by_inverse_layer_idx": True, "n_head": 0}, "cannot be used"),
        ("bert", {"num_attention_heads": "abc"}, "a whole number from 1 on is expected"),
        ("bert", {"layer_norm_eps": None}, "a number is expected"),
        ("gpt2", {"text_config": "abc"}, "a config must be a mapping"),
    ],
)
def test_odd_configs(name: str, config: dict[str, Any], said: str, tmp_path: Path) -> None:
    assert said in imported(model(tmp_path, name, **config))


def test_configs_that_are_no_files_or_too_deep(tmp_path: Path) -> None:
    pytest.importorskip("safetensors", reason="safetensors is an extra")
    folder = model(tmp_path, "bert")
    config = folder / "config.json"
    text = config.read_text()
    config.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert layer_file(open_checkpoint(str(folder)), 0, folder / "a.yaml").data["attn"]
    config.write_text("[" * 100_000)
    assert "more than 64 deep" in imported(folder)
    config.unlink()
    config.mkdir()
    assert "this is not a regular file" in imported(folder)


def test_what_is_ambiguous_is_refused(tmp_path: Path) -> None:
    numpy = pytest.importorskip("safetensors.numpy", reason="safetensors is an extra")
    folder = model(tmp_path, "bert")
    shutil.copy(folder / "model.safetensors", folder / "other.safetensors")
    assert "is in model.safetensors and in other.safetensors" in imported(folder)
    (folder / "other.safetensors").unlink()
    own = numpy.load_file(folder / "model.safetensors")
    numpy.save_file(
        {**own, **{f"b.{name}": value for name, value in own.items()}}, folder / "model.safetensors"
    )
    assert 'layer 0 is under b. and under ""' in imported(
        folder
    ) or 'under "" and under b.' in imported(folder)


def test_odd_names_and_links_can_be_read_back(tmp_path: Path) -> None:
    pytest.importorskip("safetensors", reason="safetensors is an extra")
    folder = tmp_path / "a\u2028b, [x, ?]\x7f"
    shutil.copytree(HERE / "checkpoints" / "bert", folder)
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "deep" / "er")
    for target in (tmp_path / "l.yaml", tmp_path / "link" / "l.yaml"):
        target.write_text(as_yaml(layer_file(open_checkpoint(str(folder)), 0, target)))
        assert blockcalc.run(blockcalc.load(target))["out"].shape == (4, 8)


# what a newcomer found ------------------------------------------------------------------


def written(tmp_path: Path, body: str) -> Path:
    path = tmp_path / "a.yaml"
    path.write_text(body, encoding="utf-8")
    return path


@pytest.mark.parametrize("rows", ["1,2\n", "1\n2\n"])
def test_a_vector_of_a_csv_file(rows: str, tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text(rows)
    path = written(tmp_path, "x: [[1, 0]]\nattn: {out: [[0, 0]]}\nnorm1: {gamma: {file: v.csv}}\n")
    assert blockcalc.load(path).arrays["norm1.gamma"].tolist() == [1, 2]


def test_what_is_written_is_a_number_to_every_reader_of_yaml(tmp_path: Path) -> None:
    import yaml

    folder = model(tmp_path, "bert", layer_norm_eps=1e-12)
    text = as_yaml(layer_file(open_checkpoint(str(folder)), 0, tmp_path / "a.yaml"))
    assert yaml.safe_load(text)["norm"]["eps"] == 1e-12
    for path in sorted((HERE.parent / "samples").glob("*.yaml")):
        assert (
            yaml.safe_load(path.read_text(encoding="utf-8"))
            == read_text(path.read_text(encoding="utf-8"), path.name).data
        )


def test_patterns_find_names_that_are_not_written_and_given_matrices() -> None:
    from blockcalc.explain.depth import chosen_steps
    from blockcalc.nn.block import build

    data = {"x": X, "blocks": [{"attn": {"w_q": X, "w_k": X, "w_v": X, "causal": True}}] * 2}
    program = build(blockcalc.load(data))
    assert chosen_steps(program, ["blocks.*.attn.allowed"]) == {
        "blocks.0.attn.causal",
        "blocks.1.attn.causal",
    }
    assert chosen_steps(program, ["blocks.*.attn.w_q"]) == {
        "blocks.0.attn.w_q",
        "blocks.1.attn.w_q",
    }
    assert chosen_steps(program, ["attn.sc*"]) == {
        f"blocks.{i}.attn.{s}" for i in (0, 1) for s in ("scores", "scaled")
    }


def test_what_is_not_there_is_said_first(tmp_path: Path) -> None:
    assert "no such file" in refused(lambda: open_checkpoint(str(tmp_path / "nodir")))
    assert "no such file" in refused(lambda: tensors(tmp_path / "none.txt"))
    assert "this is a folder" in refused(lambda: tensors(tmp_path))


def test_a_star_sets_every_block() -> None:
    data = {"x": X, "blocks": [{"attn": {"w_q": X, "w_k": X, "w_v": X}}] * 3}
    spec = blockcalc.load(data, [("blocks.*.attn.padding", "[keep, pad]")])
    assert all(f"blocks.{i}.attn.padding" in spec.arrays for i in range(3))
    assert "unknown key" in refused(lambda: blockcalc.load(OUT, [("attn.*.padding", "1")]))


def test_an_option_is_no_file() -> None:
    done = cli("run", "--set", "x=a", "--error-format", "json")
    (error,) = json.loads(done.stderr)["errors"]
    assert (error["file"], error["option"]) == (None, "--set x=a")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("x: [[1, 0], [0， 1]]\n", "U+FF0C"),
        ("x: [[1, 0, 1], [0 1 1]]\n", "with commas"),
        ("x: [[–1, 0]]\n", "U+2013"),
        ("x: [[−1, 0]]\n", "U+2212"),
        ("x: [[1, 0]]\nattn: {W_Q: [[1]]}\n", "did you mean 'w_q'?"),
        ("title: Exercise: three\n", "in quotes"),
        ("x: [[1, 0]\nattn: {}\n", "a bracket [ is not closed"),
        ("x: {value: [[1, 0]]\nattn: {}\n", "a brace { is not closed"),
        ("x: [[1, 0]]\n attn: {}\n", "the same column"),
    ],
)
def test_hints_for_what_people_type(body: str, said: str, tmp_path: Path) -> None:
    assert said in refused(lambda: blockcalc.load(written(tmp_path, body)))


def test_what_is_set_may_change_the_shape_of_answers() -> None:
    spec = load(str(HERE.parent / "samples" / "tiny.yaml"), [("x", "[[1, 2], [3, 4]]")])
    assert set(spec.expect) < set(load(str(HERE.parent / "samples" / "tiny.yaml")).expect)
    (told,) = spec.remarks
    assert "attn.scores" in told
    with pytest.raises(InputError) as caught:
        load(str(HERE.parent / "samples" / "tiny.yaml"), [("expect.attn.scores", "[[1, 2]]")])
    assert "attn.scores is 3×3" in caught.value.faults[0].message


def test_a_misfit_is_blamed_on_what_was_set() -> None:
    with pytest.raises(InputError) as caught:
        load(str(HERE.parent / "samples" / "tiny.yaml"), [("attn.w_q", "[[1, 2, 3], [4, 5, 6]]")])
    (fault,) = caught.value.faults
    assert fault.message.startswith("attn.w_k has 2 columns, but attn.w_q has 3")
    assert fault.place is not None
    assert fault.place.file.startswith("--set attn.w_q")
