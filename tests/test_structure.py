"""The house: imports run one way, and the rooms stay what they are."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import blockcalc

ROOT = Path(blockcalc.__file__).parent

# each room may import from its own line and from the lines above it
FLOORS = [
    {"titles", "titles.en", "titles.en_cost", "titles.en_grad", "expr", "derivative"},
    {"errors", "decimals", "document", "embedded", "notation", "card"},
    {"sums"},
    {"ops", "output", "text", "spec", "blanks"},
    {"yaml_text", "json_text"},
    {"source", "weights"},
    {"program", "shapes", "movement", "products"},
    {"trace", "dropout", "compose", "align", "arithmetic", "checker", "line", "options"},
    {"layers", "conventions", "closed", "backward"},
    {"attention"},
    {"forms"},
    {"matrices"},
    {"kinds"},
    {"block", "shown", "keys"},
    {"cost", "gradient"},
    {"plans"},
    {"presets", "counting"},
    {"growing"},
    {"costing"},
    {"walking"},
    {"families"},
    {"parts"},
    {"reader", "explain", "explain_gradient", "schema", "checkpoints"},
    {"comparison", "views", "views.layout", "views.report"},
    {"views.screen"},
    {"views.lists"},
    {"views.terminal", "views.latex", "views.data", "views.figures"},
    {"working"},
    {"costcli", "gradcli"},
    {"cli"},
    {"__main__", "__init__"},
]
LIBRARIES: dict[str, set[str]] = {
    "numpy": {"expr", "card", "sums", "decimals", "ops", "products", "movement", "dropout", "parts", "comparison", "weights", "matrices", "forms", "spec", "trace", "block", "shapes", "shown", "reader", "checker", "keys",
              "explain", "explain_gradient", "gradient", "views.data"},
    "rich": {"cli", "views.terminal", "views.screen", "views.lists", "views.latex", "views.report"},
    "typer": {"cli", "costcli", "gradcli", "line", "options"},
    "yaml": {"yaml_text"}, "safetensors": {"weights"}, "ml_dtypes": {"weights"},
}  # fmt: skip
MATHEMATICS = {
    "expr",
    "derivative",
    "card",
    "sums",
    "ops",
    "products",
    "movement",
    "program",
    "backward",
    "layers",
    "attention",
    "block",
    "trace",
}


def _rooms() -> dict[str, Path]:
    found = {}
    for path in ROOT.rglob("*.py"):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        found[name.removesuffix(".__init__") if name != "__init__" else name] = path
    return found


def _imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            if node.module == "blockcalc":
                names.update(f"blockcalc.{alias.name}" for alias in node.names)
    return names


def test_every_room_has_its_floor() -> None:
    assert set(_rooms()) == set().union(*FLOORS)


@pytest.mark.parametrize("room", sorted(_rooms()))
def test_imports_run_one_way(room: str) -> None:
    if room == "__init__":
        return
    floor = next(i for i, rooms in enumerate(FLOORS) if room in rooms)
    allowed = set().union(*FLOORS[: floor + 1])
    for name in _imports(_rooms()[room]):
        if name.startswith("blockcalc."):
            assert name.removeprefix("blockcalc.") in allowed, f"{room} imports {name}"


@pytest.mark.parametrize("room", sorted(_rooms()))
def test_libraries_live_in_few_rooms(room: str) -> None:
    for name in _imports(_rooms()[room]):
        library = name.partition(".")[0]
        if library in LIBRARIES:
            assert room in LIBRARIES[library], f"{room} imports {library}"
        elif library != "blockcalc":
            assert library in sys.stdlib_module_names | {"__future__"}, f"{room} imports {library}"


@pytest.mark.parametrize("room", sorted(MATHEMATICS))
def test_the_mathematics_knows_nothing_of_looks(room: str) -> None:
    for name in _imports(_rooms()[room]):
        assert not name.startswith(
            ("blockcalc.notation.alphabets", "blockcalc.explain.steps", "blockcalc.views")
        )


def test_help_and_completion_import_no_numpy() -> None:
    code = (
        "import sys, blockcalc.cli.app; sys.exit('numpy' in sys.modules or 'yaml' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
