"""The pages of --help: whole sentences, in every width, and names that say something."""

from __future__ import annotations

import pytest

from blockcalc.messages import say
from blockcalc.nn.orders import ORDERS
from blockcalc.shell.pages import cells_of, wrapped
from tests.helpers import cli, text
from tests.named import flags
from tests.shell.commands import COMMANDS

pytestmark = pytest.mark.slow

ORDER = ["run", "step", "grad", "check", "worksheet", "quiz", "compare", "cost", "shapes", "export", "mistakes", "new", "design", "import", "weights", "samples", "schema", "format", "docs"]  # fmt: skip


def page(*args: str, width: int = 80) -> list[str]:
    return text(cli(*args, "--help", COLUMNS=str(width))).splitlines()


def section(lines: list[str], heading: str) -> list[str]:
    """Give the lines under a heading, to the next empty one."""
    rest = lines[lines.index(f"{heading}:") + 1 :]
    return rest[: rest.index("") if "" in rest else None]


def test_every_command_has_its_summary_in_one_line_at_80_columns() -> None:
    lines = section(page(), "Commands")
    assert [line.split(None, 1) for line in lines] == [[n, say(f"short.{n}")] for n in ORDER]
    assert lines[0] == "  run        Compute a block and show every step with its arithmetic."


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("name", ["", *ORDER])
def test_pages_are_whole_and_keep_to_the_width(name: str, width: int) -> None:
    lines = page(*[name] * bool(name), width=width)
    assert max(map(len, lines)) <= min(width, 100)
    whole = " ".join(" ".join(lines).split()).replace("[ANSWERS ...]", "")  # any number of them
    assert "…" not in whole
    assert "..." not in whole
    params = COMMANDS[name].params if name else []
    for param in params:
        assert " ".join(param.help.split()) in whole
    for sign in ("INTEGER", "TEXT", "int range", "<", "x>=", "{"):
        assert sign not in whole


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("name", ["", *ORDER])
def test_chinese_pages_keep_to_the_width_too(name: str, width: int) -> None:
    lines = page(*[name] * bool(name), "--lang", "zh", width=width)
    assert max(map(cells_of, lines)) <= min(width, 100)
    assert lines[0].startswith("用法：")
    assert "[选项]" in " ".join(lines)
    assert "选项：" in lines
    assert not [line for line in lines if line.lstrip()[:1] in tuple("，。；：、）”")]


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("一个数，例如 x.0.1=5。", 8, ["一个数，", "例如", "x.0.1=5", "。"]),
        ("说明（见 cost）。", 10, ["说明（见", "cost）。"]),
        ("写到 a-very-long-name", 6, ["写到", "a-very", "-long-", "name"]),
    ],
)
def test_chinese_breaks_between_characters_and_not_in_words(
    text: str, width: int, lines: list[str]
) -> None:
    found = wrapped(text, width)
    assert all(cells_of(line) <= width for line in found)
    assert found == lines


@pytest.mark.parametrize("name", ORDER)
def test_names_of_values_say_something(name: str) -> None:
    for param in COMMANDS[name].params:
        if param.param_type_name == "option" and not param.is_flag:
            names = {"N", "TOKEN", "NUMBER", "N,N", "N|Nsf", "KEY=VALUE", "NAME", "NAMES", "AXIS", "RANK", "PATH", "DIR", "FILE", "ABS"}  # fmt: skip
            words = getattr(param.type, "choices", None)
            assert param.metavar == "|".join(words) if words else param.metavar in names


def test_what_stands_on_a_page() -> None:
    lines = page("run")
    assert lines[0].endswith("blockcalc run [OPTIONS] [FILE]")
    assert any(line.startswith(f"  --norm {'|'.join(ORDERS)} ") for line in lines)
    whole = " ".join(" ".join(lines).split()).replace("[ANSWERS ...]", "")  # any number of them
    assert "--digits N Significant digits shown; the decimals are shared down a column. [1 to 17; default 4]" in whole  # fmt: skip
    assert "of every cell. [default normal]" in whole
    assert lines[-1] == "  -h, --help                 Show this page and exit."
    assert page("weights")[0].endswith("blockcalc weights [OPTIONS] FILE")
    assert page("compare")[0].endswith("blockcalc compare [OPTIONS] [FILE] [OTHER]")
    assert page()[0].endswith("[OPTIONS] [COMMAND] [FILE]")
    cost = " ".join(" ".join(page("cost")).split())
    assert "--gated / --plain A gated FFN" in cost
    assert "-o, --output PATH The file to write" in cost
    assert "--lora RANK Train two matrices of this rank for each matrix that --lora-on names. --lora-on" in cost  # fmt: skip


def test_a_long_name_has_a_line_of_its_own() -> None:
    lines = page("run", width=60)
    at = lines.index("  --detail tables|normal|cells")
    assert lines[at + 1] == "                       tables: the matrices alone; normal:"


@pytest.mark.parametrize("name", ORDER)
def test_no_two_options_of_a_command_have_one_name(name: str) -> None:
    """A format is an option of its name, so that it could take that of another."""
    found = [o for param in COMMANDS[name].params for o in (*param.opts, *param.secondary_opts)]
    assert sorted(found) == sorted(set(found))


def test_export_names_the_formats_that_it_writes() -> None:
    whole = " ".join(" ".join(page("export")).split())
    assert f"in an export format: {flags().replace('--', '')}." in whole


def test_a_command_has_the_formats_of_what_it_shows() -> None:
    whole = " ".join(" ".join(page("cost")).split())
    assert "--json" in whole
    assert "--npz" not in whole
    assert "--csv" not in whole
