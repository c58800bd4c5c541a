"""Control characters and invisible characters in input: escaped in every error."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from blockcalc.cli.app import main
from blockcalc.errors import Fault, InputError, Place
from blockcalc.notation.signs import clean
from blockcalc.views.errors import report
from tests.helpers import TINY, cli

pytestmark = pytest.mark.slow


# right-to-left override, isolate, Arabic mark; zero-width space, joiners, byte order mark; soft
# hyphen, tag; line and paragraph separators, next line; escape, C1 control, bell, delete; no
# UTF-8 byte; private use, unassigned
SIGNS = "\u202e\u2066\u061c\u200b\u200c\u200d\u2060\ufeff\xad\U000e0001\u2028\u2029\x85\x1b\x9b\x07\x7f\udcff\ue000\U0010ffff"
HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
COMMANDS = ("run", "grad", "compare", "cost", "shapes", "export", "import", "weights", "samples", "schema", "format")  # fmt: skip


def places() -> Iterator[tuple[str, ...]]:
    """Give command lines with a place for signs, each at fault."""
    yield from [("a{}b",), ("{}",), ("--a{}b",), ("-{}",)]
    for name in COMMANDS:
        yield (name, "--a{}b")
        yield (name, "--a{}b=1")
        yield (name, "--error-format", "a{}b")
        yield (name, "--error-format=a{}b")
        yield (name, "--debug=a{}b")
        yield (name, "a", "b", "a{}b")
    for name in ("run", "grad", "compare", "cost", "shapes", "weights", "import"):
        yield (name, "a{}b.npz")
    for name in ("run", "grad", "export", "compare"):
        as_json = ("--json",) if name == "export" else ()
        for option in ("--steps", "--digits", "--eps", "--round", "--set"):
            yield (name, *as_json, TINY, option, "a{}b")
        yield (name, *as_json, TINY, "--steps", "a{}b*")
        yield (name, *as_json, TINY, "--set", "x=a{}b")
        yield (name, *as_json, TINY, "--digits", "1", "--digits", "a{}b")
    for name in ("run", "grad", "export", "compare", "cost", "shapes"):
        as_json = ("--json",) if name == "export" else ()
        yield (name, *as_json, "--set", "a{}b=1")
        yield (name, *as_json, "--set", "attn.a{}b=1")
        yield (name, *as_json, "--set", "x={{file: 'a{}b.csv'}}")
    for name in ("cost", "shapes"):
        for option in ("--preset", "--norm-kind", "--tokens", "--heads", "-o"):
            yield (name, option, "a{}b")
        yield (name, "-o", "a.{}b")
        yield (name, "-o", "no/a{}b.json")
    yield ("run", "--norm", "a{}b")
    yield ("grad", "--loss", "a{}b")
    yield ("grad", "--lr", "a{}b")
    yield ("grad", "--depths", "a{}b")
    yield ("cost", "--dtype", "a{}b")
    yield ("cost", "--double", "a{}b")
    yield ("cost", "--lora", "2", "--lora-on", "a{}b")
    yield ("export", "-o", "a{}b")
    yield ("export", "-o", "a.{}b")
    yield ("export", "--json", "-o", "no/a{}b.json")
    yield ("import", "a", "--layer", "a{}b")
    yield ("import", "a", "-o", "a{}b.json")
    yield ("samples", "--copy", "f/a{}b")
    yield ("compare", TINY, "a{}b.yaml")


def filled(args: tuple[str, ...], signs: str) -> list[str]:
    return [arg.replace("{}", signs).replace("{{", "{").replace("}}", "}") for arg in args]


@pytest.mark.parametrize("args", list(places()), ids=" ".join)
def test_hidden_signs_are_shown(
    args: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f").touch()
    for signs in (SIGNS, *(SIGNS if args[0] in ("run", "a{}b", "--a{}b") else ())):
        for more in ((), ("--error-format", "json")):
            monkeypatch.setattr(sys, "argv", ["blockcalc", *filled(args, signs), *more])
            with pytest.raises(SystemExit) as stop:
                main()
            out, err = capsys.readouterr()
            assert stop.value.code in (2, 3)
            assert out == ""
            assert not [c for c in err if unicodedata.category(c) in HIDDEN and c != "\n"]
            if more and "--error-format" not in args[:-1]:
                assert json.loads(err)["exit_code"] == stop.value.code


def test_signs_are_shown_by_their_numbers() -> None:
    raw = clean("a\u202eb\u200bc\u2028d\x1b[31me\udcfff")
    assert raw == r"a\u202eb\u200bc\u2028d\x1b[31me\udcfff"
    done = cli("run", "--X\u202eY")
    assert done.returncode == 2
    assert (
        done.stderr
        == b"run has no option '--X\\u202eY'\n  'blockcalc run --help' lists its options\n"
    )
    done = cli("run", "--steps", "\udcff")
    assert done.stderr.startswith(rb"there is no step '\udcff'")


def test_a_byte_that_is_not_utf8_is_whole_json() -> None:
    done = cli("run", "--error-format", "json", "a\udcff.yaml")
    (fault,) = json.loads(done.stderr)["errors"]
    assert fault["file"] == r"a\udcff.yaml"
    assert rb"\\udcff" in done.stderr  # no half of a pair, which strict readers of JSON refuse


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("👩\u200d👧", "👩\u200d👧"),
        ("🏳\ufe0f\u200d🌈", "🏳\ufe0f\u200d🌈"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("क्\u200dष", "क्\u200dष"),
        ("a\u200cb", r"a\u200cb"),
        ("é\u200de", r"é\u200de"),
        ("\u200d", r"\u200d"),
        ("👩\u200d", r"👩\u200d"),
        ("👩\u200d\u200d👧", r"👩\u200d\u200d👧"),
        ("、\u200c、", r"、\u200c、"),
    ],
)
def test_joiners_stay_where_they_join(typed: str, shown: str) -> None:
    assert clean(typed) == shown


def test_the_caret_stands_below_what_is_shown() -> None:
    line = "a\u202e: é\u200d x"
    error = InputError(Fault("odd", Place("f.yaml", 1, line.index("x") + 1, line)))
    assert report(error).splitlines()[1:] == [r"  a\u202e: é\u200d x", "  " + " " * 17 + "^"]
