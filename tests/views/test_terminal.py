"""What a person sees: every digit at any width, in any encoding, with any names."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blockcalc.docs.samples import folder
from blockcalc.notation.signs import clean
from tests.helpers import TINY, cli, process, text

pytestmark = pytest.mark.slow

HOSTILE = [
    "[red]W[q]",
    "[/oops]",
    "a\x1b[2Jb",
    "c\x9bd",
    "e\u202ef",
    "g\th",
    "h[i]",
    "W_q 50% & #1",
    "颗",
    "🍎",
]


def wide(columns: int, rows: int = 2, **more: Any) -> bytes:
    x = [[-123.4567 - i - j / 100 for j in range(columns)] for i in range(rows)]
    return json.dumps({"x": x, "attn": {"out": x}, **more}).encode()


def numbers(out: str) -> list[str]:
    return re.findall(r"-?[0-9]+\.[0-9]+", out)


@pytest.mark.parametrize("columns", [12, 30])
@pytest.mark.parametrize("width", ["", "20", "40", "80", "120", "1"])
def test_no_digit_is_ever_lost(columns: int, width: str) -> None:
    data = wide(columns)
    out = text(cli("run", "-", "--digits", "7", "--detail", "tables", stdin=data, COLUMNS=width))
    shown = set(numbers(out))
    for row in json.loads(data)["x"]:
        for x in row:
            assert f"{x:.4f}" in shown, x
    assert "…" not in out


def test_column_blocks_say_which_columns_they_hold() -> None:
    out = text(cli("run", "-", stdin=wide(12), COLUMNS="60"))
    rules = [line for line in out.splitlines() if re.match(r" +X ─", line)]
    assert re.findall(r"\d+", "".join(rules))[:12] == [str(n) for n in range(1, 13)]
    assert max(map(len, out.splitlines())) <= 60


@pytest.mark.parametrize("width", ["60", "80", ""])
def test_lines_keep_to_the_width(width: str) -> None:
    out = text(cli("run", TINY, COLUMNS=width))
    if width:
        assert max(map(len, out.splitlines())) <= int(width)
    assert not any(line.endswith(" ") for line in out.splitlines())


def test_long_matrices_leave_the_middle_out_and_say_so() -> None:
    out = text(cli("run", "-", "--detail", "tables", stdin=wide(40, 36)))
    assert "20 rows left out here; --all shows them" in out
    assert "24 columns left out after column 8; --all shows them" in out
    whole = text(cli("run", "-", "--detail", "tables", "--all", stdin=wide(40, 36)))
    assert "left out" not in whole
    rows = [line for line in whole.splitlines() if line.strip().startswith("t36")]
    assert len(rows[0].split()) == 42
    assert "left out" not in text(cli("run", "-", "--detail", "tables", stdin=wide(32, 32)))


def test_long_sums_are_shortened_and_marked() -> None:
    data = {
        "x": [[1.5] * 40],
        "attn": {"w_q": [[1]] * 40, "w_k": [[1]] * 40, "w_v": [[1]] * 40},
        "stop": "attn.q",
    }
    raw = json.dumps(data).encode()
    assert "… + 1.5×1 + 1.5×1 ≈ 60  (terms left out for length)" in text(cli("run", "-", stdin=raw))
    assert "terms left out" not in text(cli("run", "-", "--all", stdin=raw))


def test_names_are_shown_as_typed_and_steer_nothing() -> None:
    data = {"title": "t[bold]\x1b]0;x\x07", "tokens": HOSTILE, "x": np.eye(10)[:, :3].tolist(),
            "attn": {"w_q": [[1]] * 3, "w_k": [[1]] * 3, "w_v": np.eye(3).tolist()}}  # fmt: skip
    out = text(cli("run", "-", "--color", "never", stdin=json.dumps(data).encode()))
    for name in (
        "[red]W[q]",
        "[/oops]",
        r"a\x1b[2Jb",
        r"c\x9bd",
        r"e\u202ef",
        r"g\th",
        "h[i]",
        "W_q 50% & #1",
        "颗",
        "🍎",
    ):
        assert name in out
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", out)


def test_the_screen_is_the_same_with_hostile_names() -> None:
    pyte = pytest.importorskip("pyte", reason="pyte is a development dependency")
    screens = []
    hostile = "\x1b[2J\x1b[H\x1b[31m"
    for label in (hostile, "h" * len(clean(hostile))):
        data = {"tokens": [label], "x": [[1, 2]], "attn": {"out": [[1, 1]]}}
        out = text(
            cli("run", "-", "--color", "always", stdin=json.dumps(data).encode(), COLUMNS="80")
        )
        screen = pyte.Screen(100, 200)
        pyte.Stream(screen).feed(out.replace("\n", "\r\n"))
        screens.append([re.sub(r"\s+", " ", line) for line in screen.display if line.strip()])
    assert len(screens[0]) == len(screens[1])
    assert any(r"\x1b[2J" in line for line in screens[0])


@pytest.mark.parametrize(
    ("env", "args", "coloured"),
    [
        ({}, (), False),
        ({"FORCE_COLOR": "1"}, (), True),
        ({"FORCE_COLOR": ""}, (), False),
        ({"FORCE_COLOR": "0"}, (), False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, (), False),
        ({"NO_COLOR": "1"}, ("--color", "always"), True),
        ({"FORCE_COLOR": "1"}, ("--no-color",), False),
        ({}, ("--color", "always"), True),
        ({}, ("--color", "always", "--no-color"), False),
        ({"FORCE_COLOR": "1", "NO_COLOR": ""}, (), True),
    ],
)
def test_colour_switches(env: Any, args: tuple[str, ...], coloured: bool) -> None:
    done = cli("run", TINY, *args, **env)
    assert (b"\x1b" in done.stdout) is coloured


@pytest.mark.parametrize(
    "env",
    [
        {"PYTHONIOENCODING": "cp1252"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "gbk"},
        {"PYTHONIOENCODING": "latin-1"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
)
def test_a_terminal_without_our_signs(env: Any, tmp_path: Path) -> None:
    path = tmp_path / "names.yaml"
    path.write_text("title: 手算 γ √\ntokens: [苹果, b]\nx: [[1, 0.5], [2, 1e-9]]\nattn: {w_q: [[1], [1]], "
                    "w_k: [[1], [2]], w_v: [[1, 0], [0, 1]]}\n", encoding="utf-8")  # fmt: skip
    done = process("run", str(path), **env)
    assert done.returncode == 0, done.stderr
    encoding = env.get("PYTHONIOENCODING", "ascii")
    out = done.stdout.decode(encoding)
    assert "sqrt(2)" in out or "sqrt" in out or "√" in out
    assert "S = Q K^T" in out or "S = Q Kᵀ" in out
    assert "mu^(1)" in out
    for args in (("run", "nosuch.yaml"), ("format",), ("samples",), ("--help",)):
        assert b"Traceback" not in process(*args, **env).stderr
    files = [process("export", str(path), form, **env).stdout for form in ("--latex", "--json")]
    assert files == [process("export", str(path), form).stdout for form in ("--latex", "--json")]
    assert all(b"\r" not in content for content in files)


def test_points_stand_under_each_other() -> None:
    data = {
        "x": [[0.982, 1], [0.0000060337, 2], [-12.5, 3]],
        "attn": {"out": [[0, 0]] * 3},
        "stop": "residual1",
    }
    out = text(
        cli(
            "run",
            "-",
            "--steps",
            "residual1",
            "--detail",
            "tables",
            stdin=json.dumps(data).encode(),
        )
    )
    rows = [line for line in out.splitlines() if line.strip().startswith("t")]
    assert len({line.index(".") for line in rows}) == 1
    assert "6.034×10⁻⁶" in out


def test_no_minus_stands_before_a_zero() -> None:
    data = {
        "norm": "pre",
        "x": [[0.1, 0.2, 0.3]],
        "attn": {"out": [[0, 0, 0]]},
        "norm1": {"gamma": [1, 1, 1]},
    }
    out = text(
        cli("run", "-", "--steps", "norm1", "--digits", "5", stdin=json.dumps(data).encode())
    )
    assert re.search(r"t1 │\[-1\.2238\] 0(\.0000)? +1\.2238", out), out


def test_fractions_of_a_third_say_why_they_need_not_add_up() -> None:
    data = {
        "x": [[0, 0]] * 3,
        "attn": {"w_q": [[1], [1]], "w_k": [[1], [1]], "w_v": [[1, 0], [0, 1]]},
    }
    out = text(cli("run", "-", "--steps", "attn.weights", stdin=json.dumps(data).encode()))
    assert out.count("0.3333") >= 9
    assert "the printed digits may not" in out


@pytest.mark.parametrize(
    ("values", "places", "shown"),
    [("[[0.125, 0.375, 0.605]]", "2", ["0.13", "0.38", "0.61"]), ("[[-0.125, 2.5, 3]]", "2", ["-0.13"]),
     ("[[2.5, 1, 0]]", "0", ["3"])],
)  # fmt: skip
def test_ties_go_away_from_zero(values: str, places: str, shown: list[str]) -> None:
    data = f"{{x: {values}, attn: {{out: [[0, 0, 0]]}}}}".encode()
    out = text(
        cli("run", "-", "--round", places, "--steps", "residual1", "--detail", "tables", stdin=data)
    )
    for number in shown:
        assert re.search(rf"(?<![0-9.]){re.escape(number)}(?![0-9])", out), out


def test_the_head_tells_the_conventions() -> None:
    out = text(cli("run", TINY)).partition("Inputs and weights")[0]
    for words in ("3 (t1, t2, t3)", "d_model = 2, d_head = 2, d_ff = 3", "post-norm", "divides by n, eps = 0",
                  "√d_head = √2", "plain softmax", "activation ReLU", "row vectors",
                  "x → attention → + x → LayerNorm → FFN → + norm1 → LayerNorm → out",
                  "With d_model = 2 a row normalized by LayerNorm shows only which"):  # fmt: skip
        assert words in out
    assert "shows only which" not in text(cli("run", str(folder() / "three_features.yaml")))


def test_pre_norm_says_that_no_final_norm_was_applied() -> None:
    assert "No final norm was applied" in text(cli("--norm", "pre"))
    assert "No final norm" not in text(cli("--norm", "pre", "--set", "final_norm={eps: 1e-5}"))
    assert "No final norm" not in text(cli())
