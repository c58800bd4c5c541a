"""The width of the console, and paragraphs that wrap."""

import io

import pytest
from rich.console import Console

from blockcalc.views.screen import PIPE_WIDTH, Screen, make_console


@pytest.mark.parametrize(
    ("columns", "width"),
    [("90", 90), ("0", PIPE_WIDTH), ("²", PIPE_WIDTH), ("9" * 5000, PIPE_WIDTH)],
)
def test_only_a_usual_number_of_columns_counts(
    columns: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert make_console("never").width == width


def test_no_space_is_left_where_a_line_breaks() -> None:
    out = io.StringIO()
    screen = Screen(Console(file=out, width=24, color_system=None))
    screen.write(
        "  one two three = ", ("four", "result"), ("  (five six)", "quiet"), indent=2, hang=4
    )
    assert out.getvalue() == "    one two three = four\n      (five six)\n"
