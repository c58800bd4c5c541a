"""Options as they are typed: given twice, and short ones with their values attached."""

from __future__ import annotations

import pytest

from tests.helpers import TINY, cli

pytestmark = pytest.mark.slow


def test_attached_short_values_count_as_given_twice() -> None:
    done = cli("export", TINY, "--json", "-oza.json", "-o", "zb.json")
    assert done.returncode == 2
    assert b"given twice" in done.stderr
    assert cli("run", TINY, "--eps", "0.1", "--set", "norm1.eps=3").returncode == 2
    assert cli("run", TINY, "--round", "3", "--set", "round={decimals: 4}").returncode == 2
