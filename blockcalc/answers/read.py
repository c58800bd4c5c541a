"""From a file of answers, of whatever kind, to the answers in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from blockcalc.answers.answer import TEXT, Answer, Answers, written
from blockcalc.answers.dumps import DUMPS, PICKLES, check_dtype, narrow, read_dump, refuse_pickle
from blockcalc.answers.llama import is_llama, read_llama
from blockcalc.answers.numbers import Typed
from blockcalc.answers.tables import read_table
from blockcalc.answers.text import answers_in, collected
from blockcalc.errors import Fault, InputError
from blockcalc.files.decode import read_text
from blockcalc.files.sheets import SHEETS
from blockcalc.files.source import Source
from blockcalc.messages import say
from blockcalc.nn.spec import Spec
from blockcalc.program.bounds import NUMBERS
from blockcalc.reading.checker import kind_of
from blockcalc.reading.load import read_file, read_raw

_LLAMA = (".txt", ".log", ".out", "")  # endings of files whose content tells what they are


def read_answers(name: str | Path, dtype: str | None = None) -> Answers:
    """Read a file of answers.

    Parameters
    ----------
    name : path
        YAML, JSON, csv, npz, npy, safetensors, an export of our own, or the text of llama.cpp's evaluation
        callback; ``-`` is standard input, as text.
    dtype : str, optional
        The storage format of the numbers, a key of ``NUMBERS``, over what the file says.

    Raises
    ------
    InputError
        The file cannot be read at all; an answer that cannot is one of ``unreadable``.
    UsageError
        There is no such format.
    """
    check_dtype(dtype)
    return stored_as(_read(Path(name), str(name)), dtype)


def answers_from(data: Mapping[str, Any], name: str = "<answers>") -> Answers:
    """Read answers that stand in a mapping: arrays as a program stored them, all else as it would be read from a file.

    Examples
    --------
    >>> own = answers_from({"attn.q": np.float32([[0.1, 0.2]]), "attn.k": [[0.17, None]]}).given
    >>> [(a.name, a.read_as, a.judged.tolist()) for a in own]
    [('attn.k', 'text', [[True, False]]), ('attn.q', 'float32', [[True, True]])]
    """
    arrays = {key: np.asarray(v) for key, v in data.items() if hasattr(v, "__array__")}
    rest = {key: value for key, value in data.items() if key not in arrays}
    read = collected(Source(name, "", rest), rest)
    given = [
        written(key, a, read_as=a.dtype.name if a.dtype.name in NUMBERS else TEXT)
        for key, a in arrays.items()
    ]
    narrowed, remarks = narrow(given)
    return replace(read, given=(*read.given, *narrowed), remarks=tuple(remarks))


def _read(path: Path, name: str) -> Answers:
    ending = path.suffix.lower()
    if ending in PICKLES:
        raise refuse_pickle(path)
    if ending in DUMPS:
        return read_dump(path)
    text, shown = read_raw(name)
    if (ending in _LLAMA or name == "-") and is_llama(text):
        return read_llama(text, shown)
    if ending in SHEETS:
        return read_table(text, path)
    return answers_in(read_text(text, shown, Typed))


def stored_as(read: Answers, dtype: str | None) -> Answers:
    """Take numbers for those of a storage format; without one, as they were read.

    Raises
    ------
    UsageError
        There is no such format.
    """
    check_dtype(dtype)
    if dtype is None:
        return read
    return replace(read, given=tuple(_stored_as(answer, dtype) for answer in read.given))


def _stored_as(answer: Answer, dtype: str) -> Answer:
    """Take an answer for numbers of a format; what was written down was rounded once more for that."""
    return replace(answer, read_as=dtype)


def read_map(name: str | Path) -> dict[str, str]:
    """Read a map of names: a mapping from the names of the answers to ours.

    Raises
    ------
    InputError
        It is no mapping of texts.
    """
    source = read_file(str(name))
    if not isinstance(source.data, dict):
        text = say("answers.map", what=kind_of(source.data))
        raise InputError(Fault(text, source.place(())))
    for key, value in source.data.items():
        if not isinstance(value, str):
            text = say("answers.map.name", what=kind_of(value))
            raise InputError(Fault(text, source.place((key,))))
    return dict(source.data)


def answers_of(spec: Spec) -> Answers:
    r"""Give the answers of a block's own file, those under ``expect``.

    Examples
    --------
    >>> from blockcalc import loads
    >>> spec = loads("x: [[1, 2]]\nattn: {out: [[0, 1]]}\nexpect: {residual1: [[1.0, 3]]}")
    >>> answers_of(spec).given[0].half
    array([[0.05, 0.  ]])
    """
    source = spec.source
    if source is None:
        given = (written(k, v, judged=~np.isnan(v)) for k, v in spec.expect.items())
        return Answers("", tuple(given))
    typed = source
    if source.text and not any(path[0] == "expect" for path in source.overrides):
        typed = replace(source, data=read_text(source.text, source.name, Typed).data)
    numbers = typed.data.get("expect") or {}
    kept = {key: value for key, value in numbers.items() if key in spec.expect}
    return collected(typed, kept, ("expect",))
