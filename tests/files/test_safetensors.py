"""safetensors files: odd numbers and odd headers."""

from __future__ import annotations

from pathlib import Path

import pytest

from blockcalc.files.headers import MAX_SAFETENSORS
from tests.array_files import (
    entry,
    refused_bytes,
    safe,
)

pytestmark = pytest.mark.usefixtures("little_memory")


def test_numbers_of_safetensors(tmp_path: Path) -> None:
    pytest.importorskip("safetensors", reason="safetensors is an extra")
    path = tmp_path / "w.safetensors"
    odd = [2**31, 2**63, 2**64, 10**40, -1, 1.5, 3.0, True, "3", None, [3], {}]
    for value in odd:
        for own in (entry(shape=[value, 2]), entry(shape=[3, value]), entry(shape=value), entry(dtype=value),
                    entry(data_offsets=[value, 48]), entry(data_offsets=[0, value]), entry(data_offsets=value),
                    {"w": value}, {"w": {**entry()["w"], "more": value}}):  # fmt: skip
            refused_bytes(path, safe(own))
    for length in (0, 1, 2**31, 2**63, 2**64 - 1):
        refused_bytes(path, safe(entry(), length=length))


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        (b"", "it ends within its header"),
        (safe(entry(), length=10**9), f"its header has 1000000000 bytes, and at most {MAX_SAFETENSORS}"),
        (safe(entry(), length=10**6), "it ends within its header"),
        (safe(b"[1, 2]"), "its header is not a JSON object with each key once"),
        (safe(b"[" * 50000), "its header is not a JSON object"),
        (safe(b'{"w": 1, "w": 2}'), "its header is not a JSON object with each key once"),
        (safe(b'{"w": \xff}'), "its header is not a JSON object"),
        (safe(b'{"w": %s}' % (b"9" * 5000)), "its header is not a JSON object"),
        (safe({"w": 1}), "'w' in its header must have dtype, shape and data_offsets"),
        (safe(entry(dtype=8)), "the type of its entries, 8, is unknown"),
        (safe(entry(shape=[3, -2])), "its shape is [3, -2]; sizes must be whole numbers, 0 or larger"),
        (safe(entry(shape=[2**32, 2**32])), "which is more than the 9223372036854775807 bytes"),
        (safe(entry(data_offsets=[48, 0])), "the data_offsets of 'w' are [48, 0]; two whole numbers from 0"),
        (safe(entry(data_offsets=[0, 49])), "it ends before the last number of w"),
        (safe(entry(shape=[2, 2])), "'w' is [2, 2] of F64, and has 48 bytes"),
        (safe(entry(dtype="F99")), "it is damaged or cut short"),
        (safe(entry(dtype="BOOL", data_offsets=[0, 6]), bytes(6)), "w holds BOOL, which cannot be converted to float64"),
    ],
)  # fmt: skip
def test_what_is_said_of_safetensors(raw: bytes, wanted: str, tmp_path: Path) -> None:
    pytest.importorskip("safetensors", reason="safetensors is an extra")
    assert wanted in refused_bytes(tmp_path / "w.safetensors", raw)
