"""Answers typed into YAML or JSON: each number with half a unit of its last digit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from blockcalc.answers.answer import TEXT, Answer, Answers, Unreadable, written
from blockcalc.answers.dumps import fits_of
from blockcalc.answers.numbers import RANKS, Cell3, grid, is_blank, typed_half
from blockcalc.errors import Fault, InputError, Place
from blockcalc.files.source import Path, Source
from blockcalc.messages import say
from blockcalc.reading.checker import Checker, Entries, kind_of, quoted
from blockcalc.reading.matrices import FORMS, formed
from blockcalc.reading.value_types import read_points

POINTS = "points"
_MOST_DEPTH = 8  # levels of nested names
MOST_WALKED = 2**20  # characters


def unreadable(name: str, fault: Fault) -> Unreadable:
    """Make the line of an answer that cannot be read from what is wrong with it."""
    return Unreadable(name, fault.message, fault.place, fault.hint)


def answers_in(source: Source) -> Answers:
    """Read the answers of a text: a mapping from steps to numbers, or an export of blockcalc.

    Raises
    ------
    InputError
        It is not a mapping.
    """
    data = source.data
    if isinstance(data, list):
        return _nameless(source, data)
    if not isinstance(data, dict):
        text = say("answers.mapping", what=kind_of(data))
        raise InputError(Fault(text, source.place(()), say("answers.mapping.hint")))
    if data.get("format") == "blockcalc" and isinstance(data.get("steps"), dict):
        return _export(source, data)
    if isinstance(data.get("expect"), dict):
        return collected(source, data["expect"], ("expect",))
    return collected(source, data)


def _nameless(source: Source, data: list[Any]) -> Answers:
    """Read a list without a name as the step that its file is named for."""
    if source.name.startswith("<"):
        raise InputError(Fault(say("answers.list"), source.place(()), say("answers.list.hint")))
    name = FilePath(source.name).stem
    read = collected(source, {name: data}, whole=True)
    return replace(read, remarks=(say("answers.by_file", name=name),))


def collected(
    source: Source, data: Mapping[str, Any], at: Path = (), whole: bool = False
) -> Answers:
    """Read each entry of a mapping by itself; one that cannot be read does not stop the others."""
    given: list[Answer] = []
    lost: list[Unreadable] = []
    points: list[tuple[str, float]] = []
    left_open: list[str] = []
    for name, value, path in _entries(data, at):
        c = Checker(source)
        if whole:
            path = ()
        try:
            if path == (*at, POINTS):
                c.fault(path, say("points.mapping", what=kind_of(value)))
            elif path[len(at) : len(at) + 1] == (POINTS,):
                if (number := read_points(c, value, path)) is not None:
                    points.append((name.partition(".")[2], number))
            elif is_blank(value):
                left_open.append(name)
            elif (answer := _answer(c, name, value, path)) is not None:
                given.append(answer)
        except InputError as error:
            c.faults = list(error.faults)
        lost += [unreadable(name, fault) for fault in c.faults[:1]]
    return Answers(
        source.name, tuple(given), tuple(lost), tuple(points), left_open=tuple(left_open)
    )


def _entries(
    data: Mapping[str, Any], at: Path, prefix: str = "", depth: int = 0
) -> Iterator[tuple[str, Any, Path]]:
    """Give each entry with its name and path; nested mappings give names with dots."""
    for key, value in data.items():
        name, path = f"{prefix}{key}", (*at, key)
        inner = isinstance(value, dict) and value and not set(value) & set(FORMS)
        if inner and depth < _MOST_DEPTH:
            yield from _entries(value, path, f"{name}.", depth + 1)
        else:
            yield name, value, path


def _answer(c: Checker, name: str, value: Any, path: Path) -> Answer | None:
    """Read one entry; None where it has a fault."""
    read_as = TEXT
    if isinstance(value, dict):
        found = _of_form(c, value, path)
        if found is not None and "file" in value:
            read_as = _file_format(c, value, found)
    else:
        found = grid(c, value, path)
    if found is None or c.faults:
        return None
    values, judged, half = found
    half = half if read_as == TEXT else np.zeros(half.shape)
    return Answer(name, values, judged, half, read_as, _place(c.source, path))


def _place(source: Source, path: Path) -> Place:
    """Give the place of an answer; a very long text is not searched for it."""
    return Place(source.name) if len(source.text) > MOST_WALKED else source.place(path)


def _of_form(c: Checker, value: dict[str, Any], path: Path) -> Cell3 | None:
    """Read a mapping that stands for a matrix."""
    if "value" in value and set(value) <= {"value", "transpose"}:
        flag = value.get("transpose", False)
        if not isinstance(flag, bool):
            c.fault((*path, "transpose"), say("want.flag", got=quoted(flag)))
            return None
        found = grid(c, value["value"], (*path, "value"))
        if found is None or not flag or found[0].ndim < 2:
            return found
        values, judged, half = (np.ascontiguousarray(a.swapaxes(-1, -2)) for a in found)
        return values, judged, half
    if not value:
        c.fault(path, say("array.empty"))
        return None
    array = formed(c, value, path, RANKS, Entries(blocks=True))
    if array is None:
        return None
    typed = "file" in value  # what a rule makes, such as zeros, is exact
    half = np.array([typed_half(v) if typed else 0.0 for v in array.ravel()]).reshape(array.shape)
    return array, np.ones(array.shape, dtype=bool), half


def _file_format(c: Checker, value: dict[str, Any], found: Cell3) -> str:
    """Tell how the numbers of a named file were stored."""
    tensors = next(iter(c.files.values()))
    tensor = tensors.get(str(value.get("key"))) or next(iter(tensors.values()))
    return TEXT if tensor.numbers is not None else fits_of(tensor.dtype, found[0])


def _export(source: Source, data: dict[str, Any]) -> Answers:
    """Read an export of blockcalc: each matrix in the precision that it was computed in."""
    given: list[Answer] = []
    lost: list[Unreadable] = []
    for part in ("inputs", "steps"):
        entries = data.get(part)
        for name, entry in entries.items() if isinstance(entries, dict) else ():
            c, path = Checker(source), (part, name, "value")
            value = entry.get("value") if isinstance(entry, dict) else entry
            try:
                found = grid(c, value, path)
            except InputError as error:
                c.faults, found = list(error.faults), None
            lost += [unreadable(name, fault) for fault in c.faults[:1]]
            if found is not None:
                dtype = str(entry.get("dtype")) if isinstance(entry, dict) else ""
                read_as = dtype if dtype in ("float64", "float32") else "float64"
                # the shortest text of a float32 is not exactly its value
                with np.errstate(over="ignore"):
                    values = found[0].astype(read_as)
                given.append(written(name, values, 0.0, found[1], read_as=read_as))
    return Answers(source.name, tuple(given), tuple(lost), dump=True)
