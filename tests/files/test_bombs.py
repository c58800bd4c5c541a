"""Small files that ask for much: refused, or read, at once and in little memory."""

from __future__ import annotations

import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux"),
]

WATCH = r"""
import re, sys, time
from pathlib import Path
import blockcalc, numpy, yaml
from blockcalc.views.errors import report
begun = time.perf_counter()
try:
    blockcalc.run(blockcalc.load(sys.argv[1]))
    said = "fine"
except blockcalc.BlockcalcError as error:
    said = report(error).splitlines()[0]
took = time.perf_counter() - begun
# not ru_maxrss, which includes the process that started this one
peak = int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])
print(f"{took:.3f} {peak / 1024:.0f} {said}")
"""


def nested_aliases() -> str:
    lines = ["a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [
        f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]"
        for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    return "\n".join(lines) + "\nx: *i\n"


def merges() -> str:
    keys = ", ".join(f"k{i}: 1" for i in range(1000))
    return f"a: &a {{{keys}}}\nb:\n  <<: [{', '.join(['*a'] * 20000)}]\n"


BOMBS = {
    "aliases.yaml": (nested_aliases, "more than 5000000 values"),
    "merges.yaml": (merges, "more than 5000000 values"),
    "depth.yaml": (lambda: "x: " + "[" * 200_000, "more than 64 deep"),
    "depth.json": (lambda: '{"x": ' + "[" * 200_000, "more than 64 deep"),
    "digits.yaml": (lambda: f"x: [[{'9' * 1_000_000}]]\n", "a number is expected"),
    "digits.json": (lambda: f'{{"x": [[{"9" * 1_000_000}]]}}', "too many digits"),
    "power.yaml": (lambda: "x: [[1e1000000000]]\nattn: {out: [[1]]}\n", "a number is expected"),
    "fraction.yaml": (lambda: f"x: [[1/{'9' * 100_000}]]\n", "a number is expected"),
    "commas.json": (lambda: f'{{"x": [{"1," * 5_000_000}1]}}', "more than 5000000 values"),
    "random.yaml": (lambda: "x: {random: [90000, 90000]}\n", "more than the limit"),
}


def watched(path: Path) -> tuple[float, float, str]:
    done = subprocess.run(
        [sys.executable, "-c", WATCH, str(path)], capture_output=True, text=True, check=True
    )
    took, memory, said = done.stdout.split(" ", 2)
    return float(took), float(memory), said


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused(name: str, tmp_path: Path) -> None:
    make, wanted = BOMBS[name]
    path = tmp_path / name
    path.write_text(make())
    took, memory, said = watched(path)
    assert wanted in said
    assert took < 2  # a second, with room for a busy machine
    assert memory < 200


def test_a_window_of_a_huge_archive_takes_little(tmp_path: Path) -> None:
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (10000, 12000), }\n"
    with (
        zipfile.ZipFile(tmp_path / "z.npz", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("w.npy", "w", force_zip64=True) as stream,
    ):
        stream.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
        for _ in range(100):
            stream.write(bytes(96_000))  # the first rows; the rest is never asked for
    path = tmp_path / "a.yaml"
    path.write_text("x: {file: z.npz, rows: '0:2', cols: '0:2'}\nattn: {out: [[0, 0], [0, 0]]}\n")
    took, memory, said = watched(path)
    assert said.strip() == "fine"
    assert took < 2
    assert memory < 200
