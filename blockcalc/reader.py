"""From plain data to a checked ``Spec``: all faults that can be found, each with its place."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path as FilePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockcalc.block import build
from blockcalc.decimals import Rounding
from blockcalc.errors import Fault, InputError, LookupFault, Place, UsageError
from blockcalc.ops import ACTIVATIONS, Ref
from blockcalc.program import Misfit, Program, did_you_mean
from blockcalc.shapes import check_shapes
from blockcalc.source import (
    Path,
    Source,
    decode,
    is_index,
    plain_scalar,
    read_text,
    read_value,
)
from blockcalc.spec import EPS, AttentionSpec, BlockSpec, FfnSpec, NormSpec, Spec
from blockcalc.titles import say

MAX_FAULTS = 20
ORDERS = ("post", "pre")
SOFTMAX = ("plain", "shifted")

_FRACTION = re.compile(r"([-+]?[0-9]{1,300}(?:\.[0-9]{1,300})?)/([0-9]{1,300}(?:\.[0-9]{1,300})?)")
_QUOTED = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_COMMA = re.compile(r"\[[^\[\]]*[0-9],[0-9][^\[\]]*, [^\[\]]*\]")


def load(source: str | FilePath | Mapping[str, Any], sets: Sequence[tuple[str, str]] = ()) -> Spec:
    """Read a file, or the same content as a dict, into a checked spec.

    Parameters
    ----------
    source : path or mapping
        A YAML or JSON file; ``-`` is standard input. A mapping may hold NumPy arrays.
    sets : sequence of (key, value text)
        Keys set over those of the file: ``("attn.scale", "none")``.

    Raises
    ------
    InputError
        With every fault that was found, up to twenty, each with its place.

    Examples
    --------
    >>> spec = load({"x": [[1, "1/3"]], "attn": {"out": [[0, 1]]}})
    >>> spec.arrays["x"]
    array([[1.        , 0.33333333]])
    """
    if isinstance(source, Mapping):
        text = Source("<dict>", "", False, _plain(source))
    else:
        text = read_file(str(source))
    if sets:
        text.data = _plain(text.data)  # what aliases share is set in one place only
    for key, value in sets:
        _set(text, key, value)
    return Checker(text).spec()


def read_file(name: str) -> Source:
    """Read a file, or standard input for ``-``, as plain data with places."""
    if name == "-":
        if sys.stdin is None:
            raise InputError(Fault(say("file.no_stdin")))
        return read_text(decode(sys.stdin.buffer.read(), "<stdin>"), "<stdin>")
    try:
        raw = FilePath(name).read_bytes()
    except FileNotFoundError:
        hint = say("file.missing.hint")
        raise InputError(Fault(say("file.missing"), Place(name), hint)) from None
    except IsADirectoryError:
        raise InputError(Fault(say("file.directory"), Place(name))) from None
    except OSError as error:
        message = say("file.unreadable", problem=error.strerror or str(error))
        raise InputError(Fault(message, Place(name))) from None
    except ValueError:
        raise InputError(Fault(say("file.missing"), Place(repr(name)))) from None
    return read_text(decode(raw, name), name)


def parse_sets(texts: Sequence[str], options: Mapping[str, str | None]) -> list[tuple[str, str]]:
    """Split ``KEY=VALUE`` texts.

    A key set twice, or against an option that sets the same, is a usage error; ``options`` are
    those by key, such as ``norm.order`` of ``--norm``.
    """
    found = {key: value for key, value in options.items() if value is not None}
    pairs = []
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not all(key.strip().split(".")):
            raise UsageError(Fault(say("set.key", text=text)))
        key, value = key.strip(), value.strip()
        name = "norm.order" if key == "norm" else key
        if key.endswith(".eps") and "eps" in found:
            name = "eps"
        if found.setdefault(name, value) != value:
            raise UsageError(Fault(say("set.twice", key=key, first=found[name], second=value)))
        pairs.append((key, value))
    return pairs


def parse_eps(text: str) -> float:
    """Read the value of ``--eps``."""
    checker = Checker(Source("--eps", text, False, overrides={(): Place(f"--eps {text}")}))
    number = _eps(checker, plain_scalar(text), ())
    checker.give_up()
    assert number is not None
    return number


def parse_round(text: str) -> Rounding:
    """Read the value of ``--round``: ``3`` is decimals, ``4sf`` significant figures."""
    found = re.fullmatch(r"([0-9]{1,2})(sf)?", text.strip())
    kind = "significant" if found and found[2] else "decimals"
    if not found or not (1 if found[2] else 0) <= int(found[1]) <= 15:
        raise UsageError(Fault(say("round.text", text=text)))
    return Rounding(kind, int(found[1]))


def _plain(value: Any) -> Any:
    """Turn a dict from Python into the plain data that a file gives."""
    if isinstance(value, Mapping):
        return {str(key): _plain(v) for key, v in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value


def _set(source: Source, key: str, text: str) -> None:
    """Set one key over those of the file."""
    origin = Place(f"--set {key}={text}")
    path: Path = tuple(int(p) if is_index(p) else p for p in key.split("."))
    if path[0] == "expect" and len(path) > 1:
        path = ("expect", key.partition(".")[2])
    if not isinstance(source.data, dict):
        return
    holder: Any = source.data
    for depth, (part, after) in enumerate(zip(path, (*path[1:], None), strict=True)):
        inside = isinstance(holder, list)
        if inside and not (isinstance(part, int) and part < len(holder)):
            raise InputError(Fault(say("set.index"), origin))
        where: Any = part if inside else str(part)
        if after is None:
            holder[where] = read_value(text, origin.file)
            break
        below = holder[where] if inside else holder.get(where)
        if not isinstance(below, dict | list):
            below = {"order": below} if part == "norm" and isinstance(below, str) else {}
            holder[where] = below
            source.overrides[path[: depth + 1]] = origin
        holder = below
    source.overrides[path] = origin


class Checker:
    """Walks plain data, collects faults, and gives the spec if there are none."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.faults: list[Fault] = []
        self.arrays: dict[str, NDArray[Any]] = {}

    def fault(self, path: Path, message: str, hint: str | None = None, key: bool = False) -> None:
        """Note one fault at a path, or at its key."""
        place = self.source.place(path, key)
        if hint is None and self.has_commas(path):
            hint = say("hint.decimal_comma")
        self.faults.append(Fault(message, place, hint))
        if len(self.faults) >= MAX_FAULTS:
            self.give_up()

    def has_commas(self, path: Path) -> bool:
        """Tell whether a line may have commas for decimal points: some have a space, some not."""
        text = self.source.place(path).text
        return bool(text and _COMMA.search(text))

    def give_up(self) -> None:
        """Raise what has been collected, if anything."""
        if self.faults:
            raise InputError(*self.faults)

    def spec(self) -> Spec:
        """Check everything and give the spec."""
        data = self.source.data
        if not isinstance(data, dict):
            raise InputError(
                Fault(say("file.not_mapping", what=kind_of(data)), self.source.place(()))
            )
        top = self.mapping(data, (), _TOP)
        parts = _parts(self, top)
        if "x" not in top:
            self.fault((), say("key.required", key="x"), say("key.required.x"))
        self.give_up()
        check_shapes(self, self.arrays)
        self.give_up()
        spec = Spec(arrays=self.arrays, source=self.source, **parts)
        self.check_steps(spec, top)
        self.give_up()
        return spec

    def check_steps(self, spec: Spec, top: Mapping[str, Any]) -> None:
        """Build the program: nothing it needs may be missing, nothing named unknown."""
        try:
            program = build(spec)
        except KeyError as missing:
            key = str(missing.args[0])
            if "attn" not in top and key.startswith("attn."):
                self.fault((), say("key.required", key="attn"), say("key.required.attn"))
                return
            self.fault(
                tuple(key.split(".")), say("key.required", key=key), say("key.required.stop")
            )
            return
        except Misfit as misfit:
            self.misfit(misfit.x, misfit.y)
            return
        for key, numbers in spec.expect.items():
            whole = self.whole(spec, program)
            if self.check_step(whole, ("expect", key), key):
                shape = whole.refs()[whole.find(key)].shape
                if [n for n in numbers.shape if n > 1] != [n for n in shape if n > 1]:
                    text = say("expect.shape", name=key, has=dims(numbers.shape), shape=dims(shape))
                    self.fault(("expect", key), text)
        if spec.stop is not None and self.check_step(program, ("stop",), spec.stop):
            reached = program.equations and program.find(spec.stop)
            if not reached or program.equations[-1].out.name != reached:
                self.fault(("stop",), say("stop.input", name=spec.stop))

    @staticmethod
    def whole(spec: Spec, program: Program) -> Program:
        """Give the program without its stop, as far as there are weights for it."""
        try:
            return build(replace(spec, stop=None)) if spec.stop else program
        except (KeyError, Misfit):
            return program

    def misfit(self, x: Ref, y: Ref) -> None:
        """Note a layer whose result cannot be added to what went into it."""
        section = y.name.rpartition(".")[0]
        fields = {"name": y.name, "has": dims(y.shape), "x": x.name, "wanted": dims(x.shape)}
        hint = say("shape.residual.hint", name=f"{section}.w_o", rows=y.shape[-1], cols=x.shape[-1])
        self.fault((*section.split("."), "w_v"), say("shape.residual", **fields), hint)

    def check_step(self, program: Program, path: Path, name: str) -> bool:
        """Note a name that is no step."""
        try:
            program.find(name)
        except LookupFault as error:
            self.fault(path, error.faults[0].message, error.faults[0].hint)
            return False
        return True

    # values -----------------------------------------------------------------------------

    def mapping(self, data: Any, path: Path, known: Mapping[str, Reader]) -> dict[str, Any]:
        """Read a mapping by a table of keys; an unknown key is a fault."""
        if not isinstance(data, dict):
            keys = ", ".join(known)
            self.fault(path, say("want.mapping", what=kind_of(data), keys=keys))
            return {}
        found = {}
        for key, value in data.items():
            here = (*path, key)
            if key not in known:
                hint = did_you_mean(key, list(known)) or say("key.known", keys=", ".join(known))
                self.fault(here, say("key.unknown", key=".".join(map(str, here))), hint, key=True)
                continue
            found[key] = known[key](self, value, here)
        return found

    def number(self, value: Any, path: Path) -> float | None:
        """Read one finite number; a fraction such as 1/3 is one."""
        if isinstance(value, bool):
            self.fault(path, say("number.boolean", text=str(value).lower()))
            return None
        if isinstance(value, int | float):
            try:
                number = float(value)
            except OverflowError:
                number = float("inf")
            if number - number == 0:
                return number
            self.fault(path, say("number.not_finite", text=_short(str(value))))
            return None
        if isinstance(value, str):
            found = _FRACTION.fullmatch(value.strip())
            if found and Fraction(found[2]) != 0:
                try:
                    return float(Fraction(found[1]) / Fraction(found[2]))
                except OverflowError:
                    pass
            self.fault(path, say("number.text", text=_short(value)), _number_hint(value))
            return None
        self.fault(path, say("number.other", what=kind_of(value)))
        return None

    def typed(self, path: Path, otherwise: str) -> str:
        """Give a plain word as it stands in the file: 007 stays 007."""
        place = self.source.place(path)
        if place.text is None or place.column is None:
            return otherwise
        found = re.match(r"[-+0-9]+", place.text[place.column - 1 :])
        return found[0] if found else otherwise

    def words(self, value: Any, path: Path, known: Sequence[str], what: str) -> str | None:
        """Read one of a few words."""
        if isinstance(value, str) and value in known:
            return value
        hint = did_you_mean(value, list(known)) if isinstance(value, str) else None
        text = say("word.unknown", what=what, known=", ".join(known), got=_quoted(value))
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

    def array(self, value: Any, path: Path, ranks: tuple[int, ...]) -> NDArray[Any] | None:
        """Read a vector or a matrix: every number finite, all rows of one length."""
        before = len(self.faults)
        if depth_of(value) > max(ranks):
            self.fault(path, say(f"array.deep{max(ranks)}"))
            return None
        shape = self.measure(value, path, ranks)
        if shape is None or len(self.faults) > before:
            return None
        flat: list[float] = []
        self.collect(value, path, flat)
        if len(self.faults) > before:
            return None
        array = np.array(flat, dtype=np.float64).reshape(shape)
        array.setflags(write=False)
        self.arrays[".".join(map(str, path))] = array
        return array

    def measure(self, value: Any, path: Path, ranks: tuple[int, ...]) -> tuple[int, ...] | None:
        """Find the shape of nested lists, or note what is wrong with it."""
        if not isinstance(value, list):
            hint = say("want.matrix.spaces") if isinstance(value, str) else None
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
                self.fault((*path, i), text)
        return (len(value), *first) if first and None not in shapes else None

    def collect(self, value: list[Any], path: Path, flat: list[float]) -> None:
        """Read the numbers of nested lists."""
        if isinstance(value[0], list):
            for i, row in enumerate(value):
                self.collect(row, (*path, i), flat)
            return
        for i, v in enumerate(value):
            number = self.number(v, (*path, i))
            flat.append(0.0 if number is None else number)


Reader = Callable[[Checker, Any, Path], Any]


def is_text(text: str) -> bool:
    """Tell whether a text can be written: half a surrogate pair cannot."""
    return not any("\ud800" <= c <= "\udfff" for c in text)


def kind_of(value: Any) -> str:
    """Name what stands somewhere, in words."""
    if isinstance(value, str):
        return say("kind.text", text=_short(value))
    if isinstance(value, bool):
        return say("kind.boolean", text=str(value).lower())
    if isinstance(value, int | float):
        return say("kind.number", text=_short(str(value)))
    names = {list: "list", dict: "mapping", type(None): "nothing"}
    return say(f"kind.{names.get(type(value), 'other')}")


def depth_of(value: Any) -> int:
    """Count how deep lists lie, by the first entry of each."""
    depth = 0
    while isinstance(value, list):
        depth, value = depth + 1, value[0] if value else None
    return depth


def count(n: int) -> str:
    """Say how many numbers."""
    return say("numbers.one") if n == 1 else say("numbers.many", n=n)


def dims(shape: Sequence[int]) -> str:
    """Write a shape."""
    return "×".join(map(str, shape))


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def _quoted(value: Any) -> str:
    return f"'{_short(value)}'" if isinstance(value, str) else kind_of(value)


def _number_hint(text: str) -> str | None:
    """Say what to write instead of a text that stands for a number."""
    stripped = text.strip()
    if re.fullmatch(r"[-+]?[0-9]+,[0-9]+", stripped):
        return say("hint.decimal_comma")
    if "\u2212" in text:
        return say("hint.minus")
    if any("\uff01" <= c <= "\uff5e" for c in text):
        return say("hint.full_width")
    if _QUOTED.fullmatch(stripped):
        return say("hint.too_large" if re.search("[eE]", stripped) else "hint.quoted")
    if re.search(r"[0-9]\s+[-0-9]|;", stripped):
        return say("want.matrix.spaces")
    return None


def _vector(c: Checker, value: Any, path: Path) -> Any:
    return c.array(value, path, (1,))


def _matrix(c: Checker, value: Any, path: Path) -> Any:
    return c.array(value, path, (2,))


def _eps(c: Checker, value: Any, path: Path) -> float | None:
    number = c.number(value, path)
    if number is not None and number < 0:
        c.fault(path, say("eps.negative"))
    return number


def _order(c: Checker, value: Any, path: Path) -> str | None:
    return c.words(value, path, ORDERS, "norm")


def _norm(c: Checker, value: Any, path: Path) -> dict[str, Any]:
    if isinstance(value, dict):
        return c.mapping(value, path, {"order": _order, "eps": _eps})
    return {"order": _order(c, value, path)}


def _norm_part(c: Checker, value: Any, path: Path) -> dict[str, Any]:
    return c.mapping(value, path, {"gamma": _vector, "beta": _vector, "eps": _eps})


def _scale(c: Checker, value: Any, path: Path) -> float | str | None:
    if value == "none":
        return "none"
    return c.number(value, path)


def _softmax(c: Checker, value: Any, path: Path) -> str | None:
    return c.words(value, path, SOFTMAX, "attn.softmax")


def _attention(c: Checker, value: Any, path: Path) -> dict[str, Any]:
    found = c.mapping(value, path, _ATTENTION)
    if "out" in found:
        for key in found:
            if key != "out":
                c.fault((*path, key), say("attn.given", key=key))
    return found


def _activation(c: Checker, value: Any, path: Path) -> str | None:
    return c.words(value, path, tuple(ACTIVATIONS), "ffn.activation")


def _ffn(c: Checker, value: Any, path: Path) -> dict[str, Any]:
    return c.mapping(value, path, _FFN)


def _tokens(c: Checker, value: Any, path: Path) -> tuple[str, ...] | None:
    if not isinstance(value, list):
        c.fault(path, say("tokens.list", what=kind_of(value)))
        return None
    labels = []
    before = len(c.faults)
    for i, v in enumerate(value):
        if isinstance(v, str | int) and not isinstance(v, bool):
            labels.append(v if isinstance(v, str) else c.typed((*path, i), str(v)))
            if not is_text(labels[-1]):
                c.fault((*path, i), say("text.surrogate"))
        else:
            c.fault((*path, i), say("tokens.label", what=kind_of(v)), say("want.text.hint"))
    return tuple(labels) if len(c.faults) == before else None


def _round(c: Checker, value: Any, path: Path) -> Rounding | None:
    found = c.mapping(value, path, {"decimals": _digits, "significant": _digits})
    if isinstance(value, dict) and len(found) != 1:
        c.fault(path, say("round.one"))
        return None
    for kind, digits in found.items():
        if digits is not None:
            return Rounding(kind, digits)
    return None


def _digits(c: Checker, value: Any, path: Path) -> int | None:
    low = 1 if path[-1] == "significant" else 0
    if isinstance(value, int) and not isinstance(value, bool) and low <= value <= 15:
        return value
    c.fault(path, say("round.digits", low=low, got=_quoted(value)))
    return None


def _expect(c: Checker, value: Any, path: Path) -> dict[str, NDArray[Any]]:
    """Read a person's numbers: null or ? where not judged."""
    if not isinstance(value, dict):
        c.fault(path, say("expect.mapping", what=kind_of(value)))
        return {}
    held, c.arrays = c.arrays, {}
    found = {}
    for step, numbers in value.items():
        here = (*path, step)
        blanks = _blank_out(numbers)
        array = c.array(blanks[0], here, (1, 2, 3, 4)) if isinstance(blanks[0], list) else None
        if not isinstance(numbers, list):
            number = c.number(numbers, here)
            array = None if number is None else np.array(number)
        if array is not None:
            found[step] = np.where(np.array(blanks[1], dtype=bool), np.nan, array)
    c.arrays = held
    return found


def _blank_out(value: Any) -> tuple[Any, Any]:
    if isinstance(value, list):
        pairs = [_blank_out(v) for v in value]
        return [p[0] for p in pairs], [p[1] for p in pairs]
    blank = value is None or value == "?"
    return (0 if blank else value), blank


_TOP: dict[str, Reader] = {
    "title": Checker.text,
    "notes": Checker.text,
    "tokens": _tokens,
    "x": _matrix,
    "norm": _norm,
    "norm1": _norm_part,
    "norm2": _norm_part,
    "final_norm": _norm_part,
    "attn": _attention,
    "ffn": _ffn,
    "stop": Checker.text,
    "round": _round,
    "expect": _expect,
}
_ATTENTION: dict[str, Reader] = {
    **dict.fromkeys(("w_q", "w_k", "w_v", "w_o"), _matrix),
    **dict.fromkeys(("b_q", "b_k", "b_v", "b_o"), _vector),
    "scale": _scale,
    "softmax": _softmax,
    "out": _matrix,
}
_FFN: dict[str, Reader] = {
    "activation": _activation,
    **dict.fromkeys(("w_1", "w_2"), _matrix),
    **dict.fromkeys(("b_1", "b_2"), _vector),
}


def _parts(c: Checker, top: Mapping[str, Any]) -> dict[str, Any]:
    """Gather the plain parts of the spec from what was read."""
    x = c.arrays.get("x")
    rows = 0 if x is None else x.shape[-2]
    tokens = top.get("tokens")
    if tokens is not None and x is not None and len(tokens) != rows:
        c.fault(("tokens",), say("tokens.count", has=len(tokens), rows=rows))
    norm = top.get("norm") or {}
    attn, ffn = top.get("attn") or {}, top.get("ffn")

    def part(name: str) -> NormSpec:
        own = (top.get(name) or {}).get("eps")
        eps = own if own is not None else norm.get("eps", EPS)
        return NormSpec(name, eps)

    block = BlockSpec(
        AttentionSpec("attn", attn.get("scale"), attn.get("softmax")),
        None if ffn is None else FfnSpec("ffn", ffn.get("activation") or "relu"),
        part("norm1"),
        part("norm2"),
    )
    return {
        "order": norm.get("order") or "post",
        "blocks": (block,),
        "tokens": tokens or tuple(f"t{i + 1}" for i in range(rows)),
        "title": top.get("title"),
        "notes": top.get("notes"),
        "final_norm": part("final_norm") if "final_norm" in top else None,
        "stop": top.get("stop"),
        "rounding": top.get("round"),
        "expect": top.get("expect") or {},
    }
