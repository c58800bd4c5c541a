"""Answers that a program stored."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blockcalc import run, sample
from blockcalc.answers.dumps import ENOUGH
from blockcalc.answers.read import answers_from, read_answers
from blockcalc.errors import InputError
from blockcalc.explain.data import run_arrays
from blockcalc.limits import MOST_NUMBERS
from blockcalc.program.bounds import NUMBERS

SEED = np.random.default_rng(3)
WIDE = SEED.normal(size=(6, 8))


def _bfloat16(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Round to bfloat16, half to even, by the bits of float32."""
    bits = values.astype(np.float32).view(np.uint32)
    bits = bits + 0x7FFF + ((bits >> 16) & 1)
    return (bits & 0xFFFF0000).astype(np.uint32).view(np.float32)


@pytest.mark.parametrize(
    ("values", "read_as"),
    [
        (WIDE, "float64"),
        (WIDE.astype(np.float32), "float32"),
        (WIDE.astype(np.float16), "float16"),
        (_bfloat16(WIDE), "bfloat16"),
        (_bfloat16(WIDE).astype(np.float64), "bfloat16"),
        (WIDE.astype(np.float16).astype(np.float32), "float16"),
        (WIDE.astype(np.float32).astype(np.float64), "float32"),
        (np.round(WIDE * 4) / 4, "float64"),
        (np.round(WIDE * 100).astype(np.float32), "float32"),
        (_bfloat16(WIDE)[:1, :8], "float32"),
        (np.arange(6), "text"),
        (np.array([True, False]), "text"),
        (np.arange(6, dtype=np.uint8), "text"),
    ],
)
def test_the_format_of_numbers(tmp_path: Path, values: Any, read_as: str) -> None:
    np.savez(tmp_path / "a.npz", q=values)
    found = read_answers(tmp_path / "a.npz")
    (answer,) = found.given
    assert answer.read_as == read_as
    assert np.array_equal(answer.values, values.astype(np.float64))
    assert answer.judged.all()
    assert not answer.half.any()
    assert found.dump
    assert len(found.remarks) == (read_as not in ("text", values.dtype.name))


def test_a_few_numbers_go_with_the_others_of_the_file(tmp_path: Path) -> None:
    few = _bfloat16(WIDE)[0, : ENOUGH // 2]
    np.savez(tmp_path / "a.npz", q=_bfloat16(WIDE), few=few, other=WIDE.astype(np.float32)[0])
    found = {a.name: a.read_as for a in read_answers(tmp_path / "a.npz").given}
    assert found == {"q": "bfloat16", "few": "bfloat16", "other": "float32"}


def test_nan_and_infinity_are_judged_and_show_no_format(tmp_path: Path) -> None:
    values = _bfloat16(WIDE).copy()
    values[0, :2] = np.nan, -np.inf
    np.save(tmp_path / "attn.masked.npy", values)
    (answer,) = read_answers(tmp_path / "attn.masked.npy").given
    assert (answer.name, answer.read_as) == ("attn.masked", "bfloat16")
    assert answer.judged.all()
    assert np.isnan(answer.values[0, 0])


def test_the_format_may_be_said(tmp_path: Path) -> None:
    np.save(tmp_path / "q.npy", WIDE)
    (answer,) = read_answers(tmp_path / "q.npy", "bfloat16").given
    assert answer.read_as == "bfloat16"


def test_our_own_npz(tmp_path: Path) -> None:
    trace = run(sample("tiny"))
    np.savez(tmp_path / "a.npz", **run_arrays(trace))  # type: ignore[arg-type]
    found = read_answers(tmp_path / "a.npz")
    assert {a.name for a in found.given} == set(trace.arrays)
    assert not found.unreadable
    for answer in found.given:
        assert np.array_equal(answer.values, trace.arrays[answer.name])


def test_safetensors(tmp_path: Path) -> None:
    st = pytest.importorskip("safetensors.numpy")
    ml_dtypes = pytest.importorskip("ml_dtypes")
    arrays = {"b": WIDE.astype(ml_dtypes.bfloat16), "h": WIDE.astype(np.float16), "n": np.arange(3)}
    st.save_file(arrays, tmp_path / "a.safetensors")
    found = {a.name: a for a in read_answers(tmp_path / "a.safetensors").given}
    assert {n: a.read_as for n, a in found.items()} == {
        "b": "bfloat16",
        "h": "float16",
        "n": "text",
    }
    assert np.array_equal(found["b"].values, arrays["b"].astype(np.float64))


def test_bfloat16_that_numpy_cannot_name(tmp_path: Path) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    own = WIDE.astype(ml_dtypes.bfloat16)
    np.savez(tmp_path / "a.npz", q=own)
    (answer,) = read_answers(tmp_path / "a.npz").given
    assert answer.read_as == "bfloat16"
    assert np.array_equal(answer.values, own.astype(np.float64))


@pytest.mark.parametrize("ending", [".pt", ".pth", ".bin", ".pkl", ".PT"])
def test_pickles_are_never_opened(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"dump{ending}"

    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return (path.with_name("opened").touch, ())

    path.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(InputError) as caught:
        read_answers(path)
    hint = caught.value.faults[0].hint
    assert hint is not None
    if ending == ".pkl":
        assert f'np.savez("dump.npz", **pickle.load(open("{path.name}", "rb")))' in hint
    else:
        assert "import torch, numpy as np" in hint
        assert (
            f'np.savez("dump.npz", **{{k: v.float().numpy() for k, v in torch.load("{path.name}", map_location="cpu").items()}})'
            in hint
        )
    assert not path.with_name("opened").exists()


def test_what_is_no_number_is_a_line_of_its_own(tmp_path: Path) -> None:
    np.savez(
        tmp_path / "a.npz",
        obj=np.array([{}], dtype=object),
        text=np.array(["a"]),
        none=np.zeros((0, 3)),
        z=np.array([1j]),
        q=WIDE,
    )
    found = read_answers(tmp_path / "a.npz")
    assert [a.name for a in found.given] == ["q"]
    why = {u.name: u.why for u in found.unreadable}
    assert set(why) == {"obj", "text", "none", "z"}
    assert "pickled" in why["obj"]
    assert why["none"] == "this array is empty: its shape is 0×3"


def test_a_single_number(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", loss=np.float32(0.5))
    (answer,) = read_answers(tmp_path / "a.npz").given
    assert answer.values.shape == ()


def test_too_many_numbers(tmp_path: Path) -> None:
    import zipfile

    header = np.lib.format
    with (
        zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("q.npy", "w", force_zip64=True) as stream,
    ):
        data = {"descr": "|b1", "fortran_order": False, "shape": (MOST_NUMBERS + 1,)}
        header.write_array_header_1_0(stream, data)
        for _ in range(MOST_NUMBERS // 2**20 + 1):
            stream.write(bytes(2**20))
    with pytest.raises(InputError, match="more than the"):
        read_answers(tmp_path / "a.npz")


@pytest.mark.parametrize("name", ["a.npz", "a.npy", "a.safetensors"])
def test_a_broken_file_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"no such thing")
    with pytest.raises(InputError):
        read_answers(tmp_path / name)
    with pytest.raises(InputError, match="no such file"):
        read_answers(tmp_path / f"other{name}")


NOISE = np.random.default_rng(3).normal(size=(6, 8))


def typed(kind: str) -> Any:
    """Give numbers as programs print them."""
    single = np.asarray(NOISE, dtype=np.float32)
    return {
        "float32": single.tolist(),
        "shortest": [[float(str(x)) for x in row] for row in single],
        "float16": NOISE.astype(np.float16).tolist(),
        "bfloat16": NUMBERS["bfloat16"](NOISE).tolist(),
        "float64": NOISE.tolist(),
        "rounded": NOISE.round(8).tolist(),
        "short": NOISE.round(3).tolist(),
        "few": single[:1].tolist(),
    }[kind]


@pytest.mark.parametrize(
    ("kind", "read_as"),
    [
        ("float32", "float32"),
        ("shortest", "float32"),
        ("float16", "float16"),
        ("bfloat16", "bfloat16"),
        ("float64", "text"),
        ("rounded", "text"),
        ("short", "text"),
        ("few", "text"),
    ],
)
def test_typed_numbers_of_a_program_are_read_in_its_format(
    kind: str, read_as: str, tmp_path: Path
) -> None:
    values = typed(kind)
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"attn.q": values, "attn.k": [[1, None]]}))
    for read in (read_answers(path), answers_from({"attn.q": values, "attn.k": [[1, None]]})):
        own, other = sorted(read.given, key=lambda a: a.name, reverse=True)
        assert own.read_as == other.read_as == read_as
        assert other.judged.tolist() == [[True, False]]
        assert bool(read.remarks) is (read_as != "text")
        assert np.array_equal(own.values, np.float32(values) if read_as != "text" else values)
        assert (own.half == 0).all() or read_as == "text"
    assert read_answers(path, "float64").given[0].read_as == "float64"


def test_a_program_s_numbers_beside_an_array(tmp_path: Path) -> None:
    read = answers_from({"attn.q": typed("float32"), "attn.k": NOISE})
    assert {a.name: a.read_as for a in read.given} == {"attn.q": "float32", "attn.k": "float64"}
