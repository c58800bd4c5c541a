"""The modules of the script: typed, small, in order."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from blockcalc.views.page.script import MODULES, policy, script, style
from tests.house.test_structure import MOST_LINES, MOST_ROOMS
from tests.views.page.node import MODULES as FOLDER

FILES = sorted(FOLDER.rglob("*.mjs"))


def test_every_module_is_in_the_script_after_those_it_imports() -> None:
    before: set[str] = set()
    for module in MODULES:
        text = (FOLDER / f"{module}.mjs").read_text(encoding="utf-8")
        assert set(re.findall(r'^import .* from ".*?(\w+)\.mjs";$', text, re.M)) <= before
        before.add(module.partition("/")[2])
    assert sorted(MODULES) == sorted(str(path.relative_to(FOLDER))[:-4] for path in FILES)
    assert len(before) == len(MODULES)
    assert max(Counter(module.partition("/")[0] for module in MODULES).values()) <= MOST_ROOMS
    assert "import" not in script().split()
    assert "/**" not in script()


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_a_module_has_one_idea(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= MOST_LINES
    assert lines[0] == "// @ts-check"
    assert lines[1].startswith("/** ")


def test_nothing_in_the_script_makes_code_or_asks_for_anything() -> None:
    for word in ("eval(", "new Function", "fetch(", "XMLHttp", "import(", "innerHTML =", "Worker"):
        assert word not in script()
    assert "http" not in script() + style()
    assert "@import" not in style()
    assert "url(" not in style()
    assert "unsafe" not in policy()


def test_types_are_right(tmp_path: Path) -> None:
    if shutil.which("tsc") is None:
        pytest.skip("needs tsc, the compiler of TypeScript")
    options = {
        "checkJs": True, "allowJs": True, "noEmit": True, "strict": True, "target": "ES2023",
        "module": "ES2022", "moduleResolution": "bundler", "lib": ["ES2023", "DOM", "DOM.Iterable"],
        "types": [],
    }  # fmt: skip
    config = tmp_path / "tsconfig.json"
    files = [str(path) for path in FILES]
    config.write_text(json.dumps({"compilerOptions": options, "files": files}), encoding="utf-8")
    done = subprocess.run(
        [str(shutil.which("tsc")), "-p", str(config)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
