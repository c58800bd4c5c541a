"""Answers typed into tables: columns separated by commas, tabs, semicolons or spaces.

A file holds one matrix, named after the file, or several, each below a line with its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from blockcalc.answers.answer import Answer, Answers, Unreadable
from blockcalc.answers.numbers import Cells, Typed, is_blank, word_value
from blockcalc.answers.text import unreadable
from blockcalc.errors import Fault, InputError, Place
from blockcalc.files.misread import number_hint
from blockcalc.files.sheets import Names, Row, Sheet
from blockcalc.files.source import Source, short
from blockcalc.files.yaml_text import plain_scalar
from blockcalc.messages import say
from blockcalc.messages.words import count
from blockcalc.reading.checker import Checker

Line = tuple[int, str]
_SECTION = re.compile(r"\s*(?P<sign>#+)?\s*(?P<name>[A-Za-z_][\w.\[\]-]*)\s*:?[\s,;]*")
_FILLER = "9.5"  # replaces a blank cell when looking for header rows: a number, not a name
_WHOLE = re.compile(r"[0-9]+")


def read_table(text: str, path: Path) -> Answers:
    """Read the matrices in the text of a file.

    Raises
    ------
    InputError
        It has no rows.
    """
    lines = list(enumerate(text.split("\n"), 1))
    given: list[Answer] = []
    lost: list[Unreadable] = []
    remarks: list[str] = []
    for name, own in _sections(path, lines):
        try:
            sheet = Sheet(path, own)
            said = _names(sheet)
            if str(said):
                remarks.append(say("answers.table.names", name=name, names=said))
            given.append(_answer(sheet, name, said))
            if own[0][0] == 1:  # no line with a name stands above
                remarks.append(say("answers.by_file", name=name))
        except InputError as error:
            lost.append(unreadable(name, error.faults[0]))
    if not given and not lost:
        key = "answers.none" if text.strip() else "file.empty"
        raise InputError(Fault(say(key), Place(str(path))))
    return Answers(str(path), tuple(given), tuple(lost), remarks=tuple(remarks))


def _sections(path: Path, lines: Sequence[Line]) -> Iterator[tuple[str, list[Line]]]:
    """Split the lines at names on lines of their own; names without rows are dropped."""
    name, own = path.stem, list[Line]()
    for number, line in lines:
        found = _SECTION.fullmatch(line)
        if found and word_value(found["name"]) is None:
            if any(_has_row(text) for _, text in own):
                yield name, own
            name, own = found["name"], []
        else:
            own.append((number, line))
    if any(_has_row(text) for _, text in own):
        yield name, own


def _has_row(line: str) -> bool:
    return bool(line.partition("#")[0].strip())


def _names(sheet: Sheet) -> Names:
    """Tell whether a table has a header row and an index column; blank cells are not names."""
    held = [list(row.words) for row in sheet.rows]
    corner = held[0][0] == "" and all(_is_name(word) for word in held[0][1:])
    for i, row in enumerate(sheet.rows):
        row.words[:] = [
            word if not _is_open(word) or (corner and i == j == 0) else _FILLER
            for j, word in enumerate(row.words)
        ]
    needed, _ = sheet.looks(Names())
    for row, words in zip(sheet.rows, held, strict=True):
        row.words[:] = words
    return Names(needed.header or None, needed.index or None)


def _is_name(word: str) -> bool:
    return bool(_WHOLE.fullmatch(word)) or (not _is_open(word) and not _is_number(word))


def _is_open(word: str) -> bool:
    return is_blank(word) or word_value(word) is not None or "/" in word or word.lower() == "null"


def _is_number(word: str) -> bool:
    return type(plain_scalar(word)) in (int, float)


def _answer(sheet: Sheet, name: str, said: Names) -> Answer:
    """Read the numbers of a table, without header row and index column."""
    rows = sheet.rows[1:] if said.header else sheet.rows
    skip = 1 if said.index else 0
    width = len(rows[0].words)
    cells = Cells(Checker(Source(str(sheet.path), "")))
    for row in rows:
        if len(row.words) != width:
            sizes = {"has": count(len(row.words)), "first": count(width)}
            raise sheet.fault(row, 0, say("weights.ragged", **sizes))
        for i, word in enumerate(row.words[skip:], skip):
            _cell(sheet, cells, row, i, word)
    shape = (len(rows), width - skip)
    place = Place(str(sheet.path), rows[0].number, 1, rows[0].text)
    return Answer(name, *cells.arrays(shape), place=place)


def _cell(sheet: Sheet, cells: Cells, row: Row, i: int, word: str) -> None:
    """Read one cell; the error for anything but a number has its own place."""
    value = plain_scalar(word)
    cells.add(Typed(word) if type(value) is float and word_value(word) is None else value, ())
    if cells.checker.faults:
        hint = number_hint(word) or say("answers.table.cell")
        raise sheet.fault(row, sheet.column(row, i), say("number.text", text=short(word)), hint)
