"""From bytes to plain data, YAML or JSON, by the name of a file or by its content."""

from __future__ import annotations

from typing import Any

from blockcalc.errors import Fault, InputError, Place
from blockcalc.files.json_text import is_json, read_json
from blockcalc.files.source import Path, Source
from blockcalc.files.yaml_text import read_yaml
from blockcalc.limits import MAX_BYTES
from blockcalc.messages import say


def decode(raw: bytes, name: str) -> str:
    """Turn bytes into text: UTF-8, or UTF-16 and UTF-8 by their byte order mark."""
    if len(raw) > MAX_BYTES:
        text = say("file.too_large", limit=MAX_BYTES)
        raise InputError(Fault(text, Place(name), say("file.too_large.hint")))
    encoding = "utf-8-sig"
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        place = Place(name, line, 1, None)
        raise InputError(
            Fault(say("file.encoding", encoding=encoding.removesuffix("-sig")), place)
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def read_text(text: str, name: str) -> Source:
    """Read a text as JSON or YAML, by its name or else by how it begins."""
    lower = name.lower()
    as_json = lower.endswith(".json")
    if not as_json and not lower.endswith((".yaml", ".yml")):
        as_json = text.lstrip()[:1] == "{" and is_json(text)
    source = Source(name, text)
    source.data = read_json(source) if as_json else read_yaml(source)
    return source


def read_value(text: str, name: str, at: Path = ()) -> Any:
    """Read the value of a path as a file would have it: ``true``, ``1e-5``, ``[[1, 0], [0, 1]]``."""
    return read_yaml(Source(name, text), at)
