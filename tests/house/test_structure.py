"""The house: imports run one way, and the packages stay what they are."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeVar

import pytest

import blockcalc

Node = TypeVar("Node", ast.Call, ast.Constant)

ROOT = Path(blockcalc.__file__).parent
UNDER_ALL = {"errors", "limits", "messages", "records"}

# what each package may import, beside itself and what lies under all
HOUSE: dict[str, set[str]] = {
    "messages": set(),
    "ops": set(),
    "program": {"ops"},
    "nn": {"ops", "program"},
    "notation": {"ops", "program"},
    "files": set(),
    "reading": {"files", "nn", "program"},
    "answers": {"files", "nn", "notation", "ops", "program", "reading"},
    "checkpoints": {"files", "nn", "notation", "reading"},
    "explain": {"nn", "notation", "ops", "program"},
    "gradients": {"explain", "nn", "notation", "ops", "program"},
    "costs": {"explain", "nn", "notation", "ops", "program"},
    "views": {"explain", "nn", "notation", "ops", "program"},
    "mistakes": {"nn", "ops", "program"},
    "stepper": {"answers", "check", "explain", "files", "notation", "ops", "program", "reading", "views"},
    "check": {"answers", "explain", "mistakes", "nn", "notation", "ops", "program"},
    "teach": {"answers", "check", "explain", "files", "mistakes", "nn", "notation", "ops", "program", "reading", "stepper", "views"},
    "shell": {"docs", "costs", "gradients", "files", "nn", "notation", "program", "reading", "views"},
    "cli": {"answers", "check", "docs", "shell", "checkpoints", "costs", "explain", "files", "gradients", "nn", "notation", "program", "reading", "stepper", "teach", "views"},
    "notebook": {"check", "costs", "explain", "gradients", "nn", "notation", "ops", "program", "views"},
    "docs": {"nn"},
}  # fmt: skip
MOST_ROOMS = 10
MOST_LINES = 350
LONG_ROOMS = {
    "api": "the docstrings of the public functions",
    "messages.en": "a table of texts",
    "messages.zh.main": "a table of texts",
}
LIBRARIES: dict[str, set[str]] = {
    "numpy": {"answers", "check", "mistakes", "ops", "program", "nn", "notation", "files", "reading", "checkpoints", "explain", "gradients", "views", "notebook", "stepper", "teach", "api"},
    "rich": {"views", "cli", "stepper"},
    "typer": {"cli", "shell"},
    "textual": {"stepper.app"},
    "yaml": {"files.yaml_text"},
    "safetensors": {"files.tensors"},
    "ml_dtypes": {"files.tensors"},
    "typst": {"views.typst.setting"},
    "pandas": {"notebook.frame", "notebook.trace"},
}  # fmt: skip


def _rooms() -> dict[str, Path]:
    found = {}
    for path in ROOT.rglob("*.py"):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        found[name] = path
    return found


ROOMS = _rooms()
INSIDE = {name: path for name, path in ROOMS.items() if "." in name}


@cache
def _imports(path: Path) -> tuple[str, ...]:
    """Give the modules that a room imports; of this package without its name."""
    return tuple(_found(path))


def _found(path: Path) -> Iterator[str]:
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}".removeprefix("blockcalc.")
                yield full if full in ROOMS else node.module


def _own(path: Path) -> set[str]:
    """Give the rooms of this package that a room imports."""
    names = (name.removeprefix("blockcalc.") for name in _imports(path))
    return {f"{n}.__init__" if f"{n}.__init__" in ROOMS else n for n in names if n in ROOMS or f"{n}.__init__" in ROOMS}  # fmt: skip


def test_the_packages_are_the_house() -> None:
    folders = {path.name for path in ROOT.iterdir() if path.is_dir()} - {"__pycache__", "samples"}
    assert folders == set(HOUSE)
    assert {n for n in ROOMS if "." not in n} == {
        "__init__",
        "__main__",
        "api",
        "errors",
        "limits",
        "records",
    }


def test_imports_run_one_way() -> None:
    found = []
    for room in sorted(INSIDE):
        package = room.partition(".")[0]
        allowed = HOUSE[package] | {package} | UNDER_ALL
        names = (name for name in _own(ROOMS[room]) if name.partition(".")[0] not in allowed)
        found += [f"{room} imports {name}" for name in names]
    assert found == []


@pytest.mark.parametrize("package", sorted(HOUSE))
def test_no_package_has_a_circle(package: str) -> None:
    graph = {
        room: {n for n in _own(path) if n.startswith(f"{package}.") and n != room}
        for room, path in INSIDE.items()
        if room.startswith(f"{package}.")
    }
    while graph:
        free = {room for room, needs in graph.items() if not needs & graph.keys()}
        assert free, f"a circle among {sorted(graph)}"
        graph = {room: needs for room, needs in graph.items() if room not in free}


@pytest.mark.parametrize(
    "package", sorted({n.rpartition(".")[0].removesuffix(".__init__") for n in INSIDE} - {""})
)
def test_a_package_can_be_seen_at_a_glance(package: str) -> None:
    """A package inside another counts its own rooms."""
    rooms = [n for n in INSIDE if n.rpartition(".")[0] == package and not n.endswith("__init__")]
    assert len(rooms) <= MOST_ROOMS


def test_a_room_has_one_idea() -> None:
    lines = {n: path.read_text(encoding="utf-8").count("\n") for n, path in ROOMS.items()}
    assert {room for room, n in lines.items() if n > MOST_LINES} <= set(LONG_ROOMS)


def test_libraries_live_in_few_rooms() -> None:
    found = []
    for room in sorted(ROOMS):
        for name in _imports(ROOMS[room]):
            library = name.partition(".")[0]
            if library in LIBRARIES:
                fits = bool({room, room.partition(".")[0]} & LIBRARIES[library])
            else:
                ours = library == "blockcalc" or name in ROOMS
                fits = ours or library in sys.stdlib_module_names | {"__future__"}
            found += [] if fits else [f"{room} imports {library}"]
    assert found == []


def test_help_and_completion_import_no_numpy() -> None:
    code = (
        "import sys, blockcalc.cli.app; sys.exit('numpy' in sys.modules or 'yaml' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


ROLES = {"name", "kind", "step", "part", "key"}


# these ask about keys, words and paths of a person, and tensors of others
FOREIGN = ("shell", "files", "cli", "checkpoints", "reading")


def test_no_room_asks_a_role_by_the_end_of_a_name() -> None:
    """Steps and matrices say what they are by their ``part``, sections by their settings."""
    found = []
    for room, node in _nodes(ast.Call):
        if isinstance(node.func, ast.Attribute) and room.partition(".")[0] not in FOREIGN:
            of = node.func.value
            name = of.attr if isinstance(of, ast.Attribute) else getattr(of, "id", "")
            if node.func.attr == "endswith" and name in ROLES:
                found.append(f"{room}, line {node.lineno}")
    assert found == []


def test_no_room_names_the_norms_of_a_block() -> None:
    """How many norms there are is told by the order; only maps of foreign names list them."""
    named = {f"{room}, line {node.lineno}" for room, node in _nodes(ast.Constant)
             if node.value in ("norm1", "norm2")
             and room not in ("answers.maps", "checkpoints.families")}  # fmt: skip
    assert named == set()


def _nodes(kind: type[Node]) -> Iterator[tuple[str, Node]]:
    """Give the nodes of a kind in the code of every room."""
    for room in sorted(INSIDE):
        for node in ast.walk(_tree(ROOMS[room])):
            if isinstance(node, kind):
                yield room, node


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))
