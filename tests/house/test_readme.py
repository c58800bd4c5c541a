"""README is a test: its commands run, and its output is what they print."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import shutil
from pathlib import Path

import pytest
import yaml

import blockcalc
from blockcalc.docs.samples import folder
from blockcalc.nn.activations import ACTIVATIONS, ALIASES
from blockcalc.nn.norms import NORMS
from blockcalc.nn.orders import ORDERS
from blockcalc.program.loss import LOSSES
from tests.helpers import HERE, cli
from tests.picture import PICTURE, drawn

README = (HERE.parent / "README.md").read_text(encoding="utf-8")
DOCS = HERE.parent / "blockcalc" / "docs"
FILES = {path.relative_to(DOCS).with_suffix("").as_posix(): path for path in DOCS.rglob("*.md")}
PAGES = {
    name: path.read_text(encoding="utf-8")
    for name, path in sorted(FILES.items())
    if path.parent == DOCS and "." not in name
}
OTHERS = {name: FILES[name].read_text(encoding="utf-8") for name in FILES.keys() - PAGES.keys()}
TEXTS = {"README": README, **PAGES, **OTHERS}


def consoles(name: str) -> list[str]:
    return re.findall(r"```console\n(.*?)```", TEXTS[name], re.DOTALL)


@pytest.mark.parametrize("name", [name for name in TEXTS if "```console" in TEXTS[name]])
def test_what_the_consoles_show_is_what_is_printed(
    name: str, tmp_path: Path, write_goldens: bool
) -> None:
    shutil.copytree(folder(), tmp_path / "samples")
    for file, content in re.findall(r"```yaml\n# (\S+\.yaml)\n(.*?)```", TEXTS[name], re.DOTALL):
        (tmp_path / file).write_text(content, encoding="utf-8")
    for console in consoles(name):
        for part in re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            words = shlex.split(command)
            assert words[0] == "blockcalc"
            done = cli(*words[1:], cwd=tmp_path)
            said = (done.stderr if done.returncode > 1 else done.stdout).decode()
            if write_goldens:
                own = HERE.parent / "README.md" if name == "README" else DOCS / f"{name}.md"
                page = own.read_text(encoding="utf-8")
                new = page.replace(f"$ {command}\n{shown}", f"$ {command}\n{said}")
                own.write_text(new, encoding="utf-8")
            else:
                assert said == shown, command


@pytest.mark.parametrize("name", ["README", "check", "python"])
def test_the_python_session_is_true(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder().parent)
    session = re.findall(r"```python\n(>>>.*?)```", TEXTS[name], re.DOTALL)
    assert session
    test = doctest.DocTestParser().get_doctest(session[0], {}, name, None, 0)
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0


def test_readme_is_short_and_its_links_lead_somewhere() -> None:
    assert len(README.splitlines()) <= 200
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert links
    assert all((HERE.parent / link).is_file() for link in links)


def test_the_picture_is_what_the_program_prints() -> None:
    picture = PICTURE.read_text(encoding="utf-8")
    assert picture == drawn()
    assert "http" not in picture.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.slow
def test_every_page_can_be_listed_and_shown() -> None:
    listed = cli("docs").stdout.decode()
    assert [line.split()[0] for line in listed.splitlines()] == list(PAGES)
    for name, page in PAGES.items():
        assert cli("docs", name).stdout.decode() == page
    assert cli("format").stdout.decode() == PAGES["format"]
    wrong = cli("docs", "formt")
    assert wrong.returncode == 2
    assert b"did you mean 'format'?" in wrong.stderr


def test_the_examples_of_the_format_page_are_read() -> None:
    page = (HERE.parent / "blockcalc" / "docs" / "format.md").read_text(encoding="utf-8")
    examples = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)]
    whole = [data for data in examples if "x" in data]
    assert len(whole) >= 2
    two = {"x": [[1, 0], [0, 1]], **{key: whole[0][key] for key in ("attn", "ffn")}}
    for data in examples:
        assert blockcalc.run(blockcalc.load(data if "x" in data else {**two, **data}))["out"].any()


def test_every_package_is_in_the_house() -> None:
    root = HERE.parent / "blockcalc"
    packages = {p.name for p in root.iterdir() if (p / "__init__.py").exists()}
    for package in packages:
        assert f"| `{package}` |" in PAGES["house"], package
        assert f"`{package}`" in README, package


def test_no_page_names_a_place_of_a_machine() -> None:
    for text in TEXTS.values():
        assert os.path.expanduser("~") not in text


@pytest.mark.parametrize(
    "name",
    [*ACTIVATIONS, *ALIASES, *NORMS, *ORDERS, *LOSSES],
)
def test_every_name_that_a_file_may_have_is_on_the_format_page(name: str) -> None:
    assert re.search(rf"[`{{ ,:(]{name}[`,}}) ]", PAGES["format"])


@pytest.mark.parametrize("name", sorted(set(blockcalc.__all__) - {"__version__"}))
def test_every_public_name_is_on_the_page_about_python(name: str) -> None:
    assert re.search(rf"`{name}[`(]", PAGES["python"])
