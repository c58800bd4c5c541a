"""Every text that can be asked for exists, and every text is asked for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import blockcalc
from blockcalc.costs.count import GROUPS
from blockcalc.explain.steps import explain
from blockcalc.gradients.explain import explain_gradient
from blockcalc.gradients.run import work_gradients
from blockcalc.messages import (
    en,
    en_check,
    en_cost,
    en_faults,
    en_grad,
    en_mistakes,
    fields_of,
    known,
    say,
)
from blockcalc.nn.activations import ACTIVATIONS
from blockcalc.nn.norms import NORMS
from blockcalc.nn.orders import ORDERS
from blockcalc.program.loss import LOSSES
from blockcalc.views import FORMATS
from tests.helpers import sample_specs

ROOT = Path(blockcalc.__file__).parent
TEXTS = {
    **en.TEXTS,
    **en_check.TEXTS,
    **en_mistakes.TEXTS,
    **en_cost.TEXTS,
    **en_faults.TEXTS,
    **en_grad.TEXTS,
}


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


@pytest.mark.parametrize(("pattern", "where"), sorted(set(_asked())))
def test_every_text_that_the_code_names_exists(pattern: str, where: str) -> None:
    assert any(re.fullmatch(pattern, key) for key in TEXTS), where


def test_no_key_stands_in_two_tables() -> None:
    tables = (
        en.TEXTS,
        en_check.TEXTS,
        en_mistakes.TEXTS,
        en_cost.TEXTS,
        en_faults.TEXTS,
        en_grad.TEXTS,
    )
    assert sum(map(len, tables)) == len(TEXTS)


@pytest.mark.parametrize("key", TEXTS)
def test_a_text_can_be_said_with_its_fields_alone(key: str) -> None:
    fields = {name: f"<{name}>" for name in fields_of(key)}
    said = say(key, **fields)
    assert all(value in said for value in fields.values())


def test_the_fields_of_a_text_are_named_once_in_its_order() -> None:
    assert fields_of("mistake.eps_other") == ("eps",)
    assert fields_of("help.check") == ()


@pytest.mark.parametrize("name", ORDERS)
def test_an_order_has_its_texts(name: str) -> None:
    assert known(f"order.{name}")
    assert known(f"word.{name}")


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_activation_has_its_text(name: str) -> None:
    assert known(f"activation.{name}")


@pytest.mark.parametrize("kind", NORMS)
def test_a_norm_has_its_texts(kind: str) -> None:
    for what in (
        "section",
        "prose",
        "flow",
        "convention",
        "note.undefined",
        "section.grad",
        "prose.grad",
    ):
        assert known(f"{what}.{kind}_norm"), what


@pytest.mark.parametrize("kind", LOSSES)
def test_a_loss_has_its_texts(kind: str) -> None:
    assert known(f"loss.{kind}")
    assert known(f"help.loss.{kind}")
    assert known(f"loss.{kind}.x") == (LOSSES[kind].key == "target")


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_has_its_text(name: str) -> None:
    assert known(f"help.{name}")


ADDED: dict[str, Iterable[str]] = {
    "an activation": ACTIVATIONS,
    "a norm": NORMS,
    "an order": ORDERS,
    "a loss": LOSSES,
    "a format": FORMATS,
}


@pytest.mark.parametrize("what", ADDED)
def test_the_page_about_the_house_names_texts_that_there_are(what: str) -> None:
    page = (ROOT / "docs" / "house.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| {what} \|(.*)$", page, re.MULTILINE)
    keys = re.findall(r"`([a-z._]+\.NAME(?:_norm)?)`", row)
    assert keys
    for key in keys:
        assert any(known(key.replace("NAME", name)) for name in ADDED[what]), key


def test_the_rows_of_a_count_have_their_texts() -> None:
    for group in GROUPS:
        assert known(f"group.{group}") or known(f"total.{group}"), group


@pytest.mark.parametrize("spec", sample_specs(), ids=lambda s: f"{s.title}-{s.order}")
def test_every_step_and_section_of_the_samples_is_named(spec: blockcalc.Spec) -> None:
    assert list(explain(spec, blockcalc.run(spec)))
    for chain in (False, True):
        assert list(explain_gradient(spec, work_gradients(spec, "sum", chain)))
