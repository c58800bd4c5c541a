"""Every text that can be asked for exists, and every text is asked for."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path

import pytest

import blockcalc
from blockcalc.costs.count import GROUPS
from blockcalc.errors import InternalError
from blockcalc.explain.steps import explain
from blockcalc.gradients.explain import explain_gradient
from blockcalc.gradients.run import work_gradients
from blockcalc.messages import PARTS, fields_of, known, say
from blockcalc.nn.activations import ACTIVATIONS
from blockcalc.nn.norms import NORMS
from blockcalc.nn.orders import ORDERS
from blockcalc.program.loss import LOSSES
from blockcalc.views import FORMATS
from blockcalc.views.errors import report
from tests.helpers import slow_in_other_order

ROOT = Path(blockcalc.__file__).parent
TABLES = [
    import_module(f"blockcalc.messages.{name}").TEXTS
    for name in ("en", *(f"en_{part}" for part in PARTS))
]
TEXTS = {key: text for table in TABLES for key, text in table.items()}


def _asked() -> Iterator[tuple[str, str]]:
    """Give each key that the code asks for as a pattern, with where it is asked."""
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and getattr(node.func, "id", "") in ("say", "known")
                and node.args
            ):
                where = f"{path.relative_to(ROOT)}:{node.lineno}"
                yield from ((pattern, where) for pattern in _patterns(node.args[0]))


def _patterns(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Constant(value=str() as key):
            yield re.escape(key)
        case ast.JoinedStr(values=values):
            parts = (
                re.escape(str(v.value)) if isinstance(v, ast.Constant) else ".*" for v in values
            )
            yield "".join(parts)
        case ast.IfExp(body=body, orelse=other):
            yield from _patterns(body)
            yield from _patterns(other)


def test_every_text_that_the_code_names_exists() -> None:
    literal = {re.escape(key) for key in TEXTS}
    missing = {
        where: pattern
        for pattern, where in set(_asked())
        if pattern not in literal and not any(re.fullmatch(pattern, key) for key in TEXTS)
    }
    assert missing == {}


def test_no_key_stands_in_two_tables() -> None:
    assert sum(map(len, TABLES)) == len(TEXTS)


def test_a_text_can_be_said_with_its_fields_alone() -> None:
    wrong = []
    for key in TEXTS:
        fields = {name: f"<{name}>" for name in fields_of(key)}
        said = say(key, **fields)
        wrong += [key] if any(value not in said for value in fields.values()) else []
    assert wrong == []


def test_the_fields_of_a_text_are_named_once_in_its_order() -> None:
    assert fields_of("mistake.eps_other") == ("eps", "own")
    assert fields_of("help.check") == ()


ADDED: dict[str, Iterable[str]] = {
    "an activation": ACTIVATIONS,
    "a norm": NORMS,
    "an order": ORDERS,
    "a loss": LOSSES,
    "a format": FORMATS,
}


def _row(what: str) -> str:
    """Give the row of the page about the house that says how to add something."""
    page = (ROOT / "docs" / "house.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| {what} \|(.*)$", page, re.MULTILINE)
    return str(row)


def _needed(what: str, name: str) -> list[str]:
    """List the texts that the page asks of one activation, norm, order, loss or format."""
    needed, _, _ = _row(what).partition("may have")
    keys = [
        key.replace("NAME", name) for key in re.findall(r"`([a-z._]+\.NAME[a-zA-Z._]*)`", needed)
    ]
    assert keys
    if what == "a loss" and LOSSES[name].key != "target":
        keys.remove(f"loss.{name}.x")
    parts = [key for key in keys if key.endswith(".PART")]
    return [key for key in keys if key not in parts] + [
        key.replace("PART", part) for key in parts for part in _parts(name)
    ]


def _parts(kind: str) -> list[str]:
    """List the parts of a norm; the last step of all is called ``out``."""
    own = {"eps": 1, "gamma": [1, 2], "beta": [0, 1]}
    out = {"out": [[0, 0]]}
    spec = blockcalc.load(
        {"x": [[1, 2]], "attn": out, "norm": {"kind": kind}, "norm1": own, "stop": "norm1"}
    )
    names = [eq.out.name for eq in blockcalc.run(spec).program.equations]
    return [name.removeprefix("norm1.") for name in names if name.startswith("norm1.")] + ["out"]


@pytest.mark.parametrize(("what", "name"), [(w, name) for w in ADDED for name in ADDED[w]])
def test_what_was_added_has_the_texts_that_the_page_asks_for(what: str, name: str) -> None:
    assert [key for key in _needed(what, name) if not known(key)] == []


@pytest.mark.parametrize("what", ADDED)
def test_the_page_about_the_house_names_texts_that_there_are(what: str) -> None:
    for key in re.findall(r"`([a-z._]+\.NAME(?:_norm)?(?:\.x)?)`", _row(what)):
        assert any(known(key.replace("NAME", name)) for name in ADDED[what]), key


def test_the_rows_of_a_count_have_their_texts() -> None:
    for group in GROUPS:
        assert known(f"group.{group}") or known(f"total.{group}"), group


@pytest.mark.parametrize("spec", slow_in_other_order(), ids=lambda s: f"{s.title}-{s.order}")
@pytest.mark.slow
def test_every_step_and_section_of_the_samples_is_named(spec: blockcalc.Spec) -> None:
    assert list(explain(spec, blockcalc.run(spec)))
    for chain in (False, True):
        assert list(explain_gradient(spec, work_gradients(spec, "sum", chain)))


def test_a_missing_text_is_named_with_where_to_find_what_is_needed() -> None:
    with pytest.raises(InternalError) as caught:
        say("section.no_norm")
    assert report(caught.value) == (
        "the text 'section.no_norm' is missing in blockcalc/messages\n"
        "  blockcalc docs house lists the texts that an activation, a norm, an order, a loss or a format needs"
    )


@pytest.mark.parametrize(
    ("text", "field"), [("{nmae}: x", "'nmae'"), ("{}: x", "Replacement index 0")]
)
def test_a_field_that_is_not_given_is_named(
    text: str, field: str, more_texts: Callable[[dict[str, str]], None]
) -> None:
    more_texts({"convention.no_norm": text})
    with pytest.raises(InternalError) as caught:
        say("convention.no_norm", name="norm1", eps="0")
    said = report(caught.value)
    assert said.startswith("the text 'convention.no_norm' in blockcalc/messages has the field ")
    assert field in said
    assert said.endswith("it is given: name, eps")
