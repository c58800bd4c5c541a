"""Read values: numbers, words and matrices; every error is collected with its position."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockcalc.errors import Fault, InputError
from blockcalc.files.source import Path, Source, short, split_path
from blockcalc.messages import say
from blockcalc.messages.words import count, did_you_mean, dims
from blockcalc.nn.orders import NORM_KEYS, SUBLAYERS
from blockcalc.records import dataclass

MAX_FAULTS = 20
EXACT = 2.0**53  # float64 represents every whole number up to here
FRACTION = re.compile(r"([-+]?[0-9]{1,300}(?:\.[0-9]{1,300})?)/([0-9]{1,300}(?:\.[0-9]{1,300})?)")
_SPACES = re.compile(r"[0-9]\s+[-0-9]")
_COMMA = re.compile(r"[0-9],[0-9]")
_AFTER_COMMA = re.compile(r"[0-9],[0-9]$")
_ROW = re.compile(r"\[([^\[\]]*+)\]")


@dataclass(frozen=True, eq=False)
class Entries:
    """Values allowed in a matrix besides finite numbers: true and false, minus infinity."""

    flags: bool = False
    blocks: bool = False


NUMBERS = Entries()


class Checker:
    """Reads values and collects errors."""

    def __init__(self, source: Source, shapes_only: bool = False) -> None:
        self.source = source
        self.shapes_only = shapes_only  # whether only the headers of named files are read
        self.faults: list[Fault] = []
        self.arrays: dict[str, NDArray[Any]] = {}
        self.paths: dict[str, Path] = {}
        self.origins: dict[str, str] = {}
        self.files: dict[Any, dict[str, Any]] = {}  # the tensors of each file that was named
        self.inexact: list[str] = []
        self.numbers = 0  # how many numbers the matrices from files and rules have
        self.elsewhere: Callable[[], Iterable[str]] = tuple  # every key of a file, with its path
        self.without_sets: Callable[[], Any] | None = None  # give the spec without overrides

    def fault(
        self, path: Path | str, message: str, hint: str | None = None, key: bool = False
    ) -> None:
        """Add one error at a path, or at its key; ``path`` may be the name of a matrix."""
        path = split_path(self.paths.get(path, path) if isinstance(path, str) else path)
        place = self.source.place(path, key)
        if sign := self.source.misread(path, key):
            place, hint = sign
        elif key and _AFTER_COMMA.search((place.text or "")[: (place.column or 0)]):
            hint = say("hint.decimal_comma")
        else:
            hint = self.source.unescaped(path, key) or hint
        if hint is None and self.has_commas(path):
            hint = say("hint.decimal_comma")
        self.faults.append(Fault(message, place, hint))
        if len(self.faults) >= MAX_FAULTS:
            self.give_up()

    def has_commas(self, path: Path | str) -> bool:
        """Tell whether a line may have decimal commas: only some commas are followed by a space."""
        if isinstance(path, str):
            path = self.paths.get(path, path)
        text = self.source.place(path).text or ""
        rows = (found[1] for found in _ROW.finditer(text))
        return any(", " in row and _COMMA.search(row) for row in rows)

    def is_set(self, path: Path | str) -> bool:
        """Tell whether a value was set on the command line."""
        if isinstance(path, str):
            path = self.paths.get(path, ())
        return any(path[:n] in self.source.overrides for n in range(1, len(path) + 1))

    def give_up(self) -> None:
        """Raise the collected errors, if there are any."""
        if self.faults:
            raise InputError(*self.faults)

    def mapping(self, data: Any, path: Path, known: Mapping[str, Reader]) -> dict[str, Any]:
        """Read a mapping by a table of keys; an unknown key is an error."""
        if not isinstance(data, dict):
            keys = ", ".join(known)
            self.fault(path, say("want.mapping", what=kind_of(data), keys=keys))
            return {}
        found = {}
        for key, value in data.items():
            here = (*path, key)
            if key not in known:
                hint = self.meant(key, path, known) or say("key.known", keys=", ".join(known))
                self.fault(here, say("key.unknown", key=".".join(map(str, here))), hint, key=True)
                continue
            found[key] = known[key](self, value, here)
        return found

    def meant(self, key: str, path: Path, known: Iterable[str]) -> str | None:
        """Suggest a key for an unknown one: one allowed here, or one of another section."""
        inside = path[:2] if path[:1] == ("blocks",) else ()
        own = ".".join(map(str, (*inside, "")))
        places = tuple(f"{key}." for key in (*SUBLAYERS, *NORM_KEYS)) if inside else ""
        others = (own + name for name in self.elsewhere() if name.startswith(places))
        return did_you_mean(key, (*known, *others))

    def number(self, value: Any, path: Path, entries: Entries = NUMBERS) -> float | None:
        """Read one finite number; fractions such as 1/3 are allowed."""
        if isinstance(value, bool) and entries.flags:
            return float(value)
        if entries.blocks and value in (float("-inf"), "-inf"):
            return float("-inf")
        if isinstance(value, bool):
            self.fault(path, say("number.boolean", text=str(value).lower()))
            return None
        if isinstance(value, int | float):
            return self._finite(value, path, entries)
        if isinstance(value, str):
            return self._fraction(value, path)
        self.fault(path, say("number.other", what=kind_of(value)))
        return None

    def _finite(self, value: float, path: Path, entries: Entries) -> float | None:
        """Read a number, and note a whole number that float64 cannot represent."""
        try:
            number = float(value)
        except OverflowError:
            self.fault(path, say("number.long"))
            return None
        if not math.isfinite(number):
            hint = say("hint.blocks") if entries.blocks and value > 0 else None
            self.fault(path, say("number.not_finite", text=str(value)), hint)
            return None
        if not number:
            self.source.refuse_lost()
        if isinstance(value, int) and int(number) != value:
            words = {"has": short(str(value)), "holds": f"{Decimal(number):f}"}
            self.inexact.append(say("number.nearest", at=".".join(map(str, path)), **words))
        return number

    def _fraction(self, value: str, path: Path) -> float | None:
        found = FRACTION.fullmatch(value.strip())
        if found and Fraction(found[2]) != 0:
            try:
                return float(Fraction(found[1]) / Fraction(found[2]))
            except OverflowError:
                pass
        from blockcalc.files.misread import number_hint

        hint = number_hint(value) or spaces_hint(value)
        self.fault(path, say("number.text", text=short(value)), hint)
        return None

    def words(
        self, value: Any, path: Path, known: Sequence[str], what: str, hint: str | None = None
    ) -> str | None:
        """Read one of a few words; without a hint, the nearest word is suggested."""
        if isinstance(value, str) and value in known:
            return value
        hint = hint or (did_you_mean(value, known) if isinstance(value, str) else None)
        text = say("word.unknown", what=what, known=", ".join(known), got=quoted(value))
        self.fault(path, text, hint)
        return None

    def text(self, value: Any, path: Path) -> str | None:
        """Read a text."""
        if isinstance(value, str):
            if not is_text(value):
                self.fault(path, say("text.surrogate"))
            return value
        self.fault(path, say("want.text", what=kind_of(value)), say("want.text.hint"))
        return None

    def array(
        self, value: Any, path: Path, ranks: tuple[int, ...], entries: Entries = NUMBERS
    ) -> NDArray[Any] | None:
        """Read a vector or a matrix: every number finite, all rows of one length."""
        before = len(self.faults)
        plain = plain_array(value)
        if plain is not None and plain.ndim in ranks:
            if not plain.all():
                self.source.refuse_lost()
            return plain
        if depth_of(value) > max(ranks):
            self.fault(path, say(f"array.deep{max(ranks)}"))
            return None
        shape = self.measure(value, path, ranks)
        if shape is None or len(self.faults) > before:
            return None
        flat: list[float] = []
        self.collect(value, path, flat, entries)
        if len(self.faults) > before:
            return None
        return np.array(flat, dtype=np.float64).reshape(shape)

    def keep(self, array: NDArray[Any] | None, path: Path) -> NDArray[Any] | None:
        """Store a matrix under its name, unless it is None."""
        if array is None:
            return None
        if array.flags.writeable:
            array.setflags(write=False)
        name = ".".join(map(str, path))
        self.arrays[name], self.paths[name] = array, path
        return array

    def measure(self, value: Any, path: Path, ranks: tuple[int, ...]) -> tuple[int, ...] | None:
        """Find the shape of nested lists, or add an error."""
        if not isinstance(value, list):
            hint = _matrix_hint(value) if isinstance(value, str) else None
            self.fault(path, say(f"want.array{ranks[0]}", what=kind_of(value)), hint)
            return None
        if not value:
            self.fault(path, say("array.empty"))
            return None
        deep = [isinstance(v, list) for v in value]
        if not any(deep):
            if 1 in ranks:
                return (len(value),)
            hint = say("want.matrix.spaces") if isinstance(value[0], str) else None
            self.fault(path, say("array.flat"), hint or say("array.flat.hint"))
            return None
        if not all(deep):
            index = deep.index(False)
            self.fault(
                (*path, index), say("array.mixed", row=index + 1, what=kind_of(value[index]))
            )
            return None
        inner = tuple(r - 1 for r in ranks if r > 1)
        shapes = [self.measure(row, (*path, i), inner) for i, row in enumerate(value)]
        first = shapes[0]
        for i, shape in enumerate(shapes):
            if first and shape and shape != first:
                name = ".".join(map(str, path))
                key = "array.ragged" if len(first) == len(shape) == 1 else "array.uneven"
                has = count(shape[0]) if key == "array.ragged" else dims(shape)
                text = say(key, name=name, row=i + 1, has=has, first=dims(first))
                typed = isinstance(value[i], list) and any(_SPACES.search(str(v)) for v in value[i])
                self.fault((*path, i), text, say("want.matrix.spaces") if typed else None)
        return (len(value), *first) if first and None not in shapes else None

    def collect(
        self, value: list[Any], path: Path, flat: list[float], entries: Entries = NUMBERS
    ) -> None:
        """Read the numbers of nested lists."""
        if isinstance(value[0], list):
            for i, row in enumerate(value):
                self.collect(row, (*path, i), flat, entries)
            return
        for i, v in enumerate(value):
            number = self.number(v, (*path, i), entries)
            flat.append(0.0 if number is None else number)


Reader = Callable[[Checker, Any, Path], Any]


def plain_array(value: Any) -> NDArray[Any] | None:
    """Convert nested lists of finite numbers at once; None if any entry needs a closer look."""
    rows, shape = [value], []
    while isinstance(rows[0], list) and rows[0]:
        width = len(rows[0])
        if not all(type(row) is list and len(row) == width for row in rows):
            return None
        shape.append(width)
        if not isinstance(rows[0][0], list):
            break
        rows = [inner for row in rows for inner in row]
    else:
        return None
    if not all(_are_numbers(list(map(type, row))) for row in rows):
        return None
    pack = struct.Struct(f"{shape[-1]}d").pack  # takes half the time of np.array
    try:
        packed = bytearray().join([pack(*row) for row in rows])
    except struct.error:  # a whole number out of range
        return None
    array = np.frombuffer(packed, dtype=np.float64).reshape(shape)
    beyond = not np.isfinite(array).all() or np.abs(array).max() >= EXACT
    return None if beyond else array


def _are_numbers(types: list[type]) -> bool:
    return types.count(float) == len(types) or set(types) <= {int, float}  # the first test is fast


def is_whole(value: Any, low: int, high: float = math.inf) -> bool:
    """Tell whether a value is a whole number within limits; true and false are not."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def is_text(text: str) -> bool:
    """Tell whether a text can be encoded: half a surrogate pair cannot."""
    return not any("\ud800" <= c <= "\udfff" for c in text)


def kind_of(value: Any) -> str:
    """Describe a value in words."""
    if isinstance(value, str):
        return say("kind.text", text=short(value))
    if isinstance(value, bool):
        return say("kind.boolean", text=str(value).lower())
    if isinstance(value, int | float):
        huge = isinstance(value, int) and value.bit_length() > 1000
        return say("kind.huge") if huge else say("kind.number", text=short(str(value)))
    names = {list: "list", dict: "mapping", type(None): "nothing"}
    if type(value) in names:
        return say(f"kind.{names[type(value)]}")
    return say("kind.type", name=type(value).__name__)


def depth_of(value: Any) -> int:
    """Count the nesting depth of lists, by the first entry of each."""
    depth = 0
    while isinstance(value, list):
        depth, value = depth + 1, value[0] if value else None
    return depth


def quoted(value: Any) -> str:
    """Describe a value in place of a word."""
    return f"'{short(value)}'" if isinstance(value, str) else kind_of(value)


def _matrix_hint(text: str) -> str:
    """Say what to write instead of a text in place of a matrix."""
    from blockcalc.files.tensors import ENDINGS

    if text.lower().endswith(ENDINGS):
        return say("hint.file", name=text)
    if text in ("eye", "zeros", "ones", "random"):
        return say(f"hint.{text}")
    return say("want.matrix.spaces")


def spaces_hint(text: str) -> str | None:
    """Say how to write a row, for a text of numbers with spaces."""
    return say("want.matrix.spaces") if re.search(r"[0-9.],?\s+[-.0-9]|;", text.strip()) else None
