"""A process of its own and a call in this one give the same output, errors and exit code."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers import TINY, cli, process


@pytest.mark.parametrize(
    ("args", "keys"),
    [
        pytest.param(("run", TINY, "--norm", "pre"), {"COLUMNS": "70"}, marks=pytest.mark.slow),
        (("run", "-", "--color"), {"stdin": "x: [[1, 2]]\ntitle: γ\nattn: {out: [[0, 1]]}\n".encode()}),
        (("check", TINY, "--set", "expect={attn.q: [[1, 0], [0, 2], [1, 1]]}"), {"PYTHONIOENCODING": "ascii"}),
        (("export", "nosuch.yaml", "--json", "--error-format", "json"), {}),
        pytest.param(("run", "--help"), {}, marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_a_process_says_the_same(args: tuple[str, ...], keys: dict[str, Any]) -> None:
    own, here = process(*args, **keys), cli(*args, **keys)
    assert (own.returncode, own.stdout, own.stderr) == (here.returncode, here.stdout, here.stderr)
    assert own.stdout or own.stderr
