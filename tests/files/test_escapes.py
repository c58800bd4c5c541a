"""Backslashes in double quotes, and what they become."""

from __future__ import annotations

from pathlib import Path

import pytest

import blockcalc
from blockcalc.errors import BlockcalcError
from blockcalc.files.misread import escapes_hint
from tests.faults import TWO_ROWS, fault_of, place_of


@pytest.mark.parametrize(
    ("reader", "text", "column", "hint"),
    [
        ("yaml", 'x: {file: "C:\\new\\t.csv"}\n', 11, r"in double quotes \n was read as a line break and \t as a tab; in single quotes backslashes stay: 'C:\new\t.csv'"),
        ("yaml", 'x: {file: "it\'s\\r.csv"}\n', 11, r"in double quotes \r was read as a carriage return; in single quotes backslashes stay: 'it''s\r.csv'"),
        ("yaml", 'x: {file: &f "D:\\x41\\a\\0.csv"}\n', 11, r"in double quotes \x41 was read as U+0041 and \a as a bell and \0 as a null; in single quotes backslashes stay: 'D:\x41\a\0.csv'"),
        ("json", '{"x": {"file": "C:\\new\\t.csv"}}', 16, r'in double quotes \n was read as a line break and \t as a tab; write each backslash twice: "C:\\new\\t.csv"'),
        ("stdin", '{"x": {"file": "C:\\temp\\b.csv"}}', 16, r'in double quotes \t was read as a tab and \b as a backspace; write each backslash twice: "C:\\temp\\b.csv"'),
        ("yaml", 'stop: "attn\\nout"\n', 7, r"in double quotes \n was read as a line break; in single quotes backslashes stay: 'attn\nout'"),
        ("yaml", '"n\\type": 1\n', 1, r"in double quotes \t was read as a tab; in single quotes backslashes stay: 'n\type'"),
        ("json", '{"na\\u00efve": 1}', 2, None),
        ("yaml", 'x: {file: "D:\\x41.csv"}\n', 11, None),
        ("yaml", 'x: {file: "C:\\\\temp\\\\b.csv"}\n', 11, None),
        ("yaml", "x: {file: 'C:\\new\\t.csv'}\n", 11, None),
        ("yaml", "x: {file: C:\\new\\t.csv}\n", 11, None),
    ],
)  # fmt: skip
def test_backslashes_in_double_quotes(
    reader: str, text: str, column: int, hint: str | None, tmp_path: Path
) -> None:
    text = text if reader != "yaml" or text.startswith("x:") else text + TWO_ROWS
    fault = fault_of(reader, text, tmp_path)
    assert place_of(fault) == (1, column)
    assert fault.hint == hint or (hint is None and "backslash" not in str(fault.hint))


@pytest.mark.parametrize("letter", "nt0abevfrN_LP")
def test_every_escape_has_words(letter: str) -> None:
    said = escapes_hint(f'"\\{letter}"', json=False)
    assert said is not None
    assert said.startswith(f"in double quotes \\{letter} was read as a")


def test_backslashes_of_what_is_set() -> None:
    with pytest.raises(BlockcalcError) as caught:
        blockcalc.load({"attn": {"out": [[1]]}}, [("x", '{file: "C:\\new.csv"}')])
    assert caught.value.faults[0].hint == (
        r"in double quotes \n was read as a line break; in single quotes backslashes stay: 'C:\new.csv'"
    )
