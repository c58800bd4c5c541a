"""Every text has its twin in Chinese, and the language is the one that is asked for."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

import blockcalc
from blockcalc.docs.samples import files, folder
from blockcalc.errors import UsageError
from blockcalc.messages import LANGUAGES, PARTS, fields_of, known, language, say, set_language
from blockcalc.reading.keys import schema
from blockcalc.shell.argv import COMMANDS
from blockcalc.shell.language import language_of
from tests.helpers import cli, process, text

TABLES = {"en": "zh.main", **{f"en_{part}": f"zh.{part}" for part in PARTS}}


def _texts(module: str) -> dict[str, str]:
    found: dict[str, str] = import_module(f"blockcalc.messages.{module}").TEXTS
    return found


CHINESE = {key: said for module in TABLES.values() for key, said in _texts(module).items()}


@pytest.fixture
def chinese() -> object:
    set_language("zh")
    yield
    set_language("en")


@pytest.mark.parametrize("english", TABLES)
def test_every_text_has_its_twin(english: str) -> None:
    assert _texts(TABLES[english]).keys() == _texts(english).keys()


def test_twins_have_the_same_fields() -> None:
    own = {key: set(fields_of(key)) for key in CHINESE}
    set_language("zh")
    twins = {key: set(fields_of(key)) for key in CHINESE}
    set_language("en")
    assert twins == own


# words that are the same in every language: of programs, formats, functions and people
NAMES = {
    "sets", "Debian", "fonts", "mm", "page", "apt", "typst", "compile", "cjk", "ua", "Rounding", "preset", "inf", "npz", "npy", "shape", "descr",
    "install", "sf", "short", "given", "table", "text", "result", "head",
    "folder", "messages", "heads", "bert", "batch", "layers", "bin", "pt",
    "dynamic", "txt", "csv", "tsv", "dat", "json", "Markdown", "null",
    "Python", "as", "np", "numpy", "open", "abs", "rel", "names", "show", "pandas", "detail", "digits",
    "AdamW", "GitHub", "KaTeX", "LaTeX", "NumPy", "PyTorch", "PowerShell", "Quarto",
    "Schema", "Transformer", "Ctrl", "Dropout", "Hu", "Latin", "Trace", "True",
    "False", "Comparison", "Checked", "Cost", "Step", "Spec", "Windows", "beamer",
    "blockcalc", "callback", "cells", "cos", "dict", "dropout", "dtype", "eager",
    "ab", "class", "erf", "exact", "exp", "fish", "gelu", "header", "iconv", "llama", "mod",
    "nan", "pandoc", "pdflatex", "pickle", "pip", "safetensors", "shell", "sigmoid",
    "sin", "softmax", "Tab", "tanh", "Textual", "theta", "token", "transformers", "xelatex", "zsh",
    "bash", "less", "auto", "tables", "normal", "blocks", "check", "costs",
    "format", "gradients", "house", "models", "notebook", "orders", "pencil", "python", "true",
    "false", "post", "pre", "norm", "key",
}  # fmt: skip


def _keys(node: object) -> set[str]:
    """Collect the keys and words of the schema of a file."""
    if isinstance(node, dict):
        inner = set().union(*map(_keys, node.values()), set())
        return (
            inner
            | {key for key in node if isinstance(key, str)}
            | {word for word in node.get("enum", ()) if isinstance(word, str)}
        )
    if isinstance(node, list):
        return set().union(*map(_keys, node), set())
    return set()


def test_no_other_latin_word_is_left() -> None:
    allowed = NAMES | _keys(schema()) | set(COMMANDS)
    left: dict[str, set[str]] = {}
    for key, said in CHINESE.items():
        if key in ("cli.other_formats", "answers.pickle.hint"):
            continue  # a list of names, and a program
        bare = re.sub(r"\{[^{}]*\}|'[^']*'|\"[^\"]*\"|--?[a-z][\w-]*|\[[^\]]*\]", " ", said)
        words = re.findall(r"[A-Za-z][A-Za-z0-9_.-]*[A-Za-z0-9]", bare)
        # what has capitals, digits, points or underscores is a symbol or a name
        unknown = {w for w in words if re.fullmatch("[A-Z]?[a-z]+", w) and w not in allowed}
        if unknown:
            left[key] = unknown
    assert not left


TERMS = {  # a term, and the variants that are not used
    "层归一化": ("层标准化", "层规范化"),
    "残差": ("余差",),
    "掩码": ("掩模", "屏蔽", "遮罩"),
    "前馈网络": ("前向网络", "前馈层"),
    "注意力权重": ("关注权重",),
    "舍入": ("四舍五入",),
}


@pytest.mark.parametrize("term", TERMS)
def test_one_term_is_used_throughout(term: str) -> None:
    assert any(term in said for said in CHINESE.values())
    for other in TERMS[term]:
        assert not [key for key, said in CHINESE.items() if other in said]


def test_the_option_counts_before_the_variable_and_the_locale(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG", "BLOCKCALC_LANG"):
        monkeypatch.delenv(name, raising=False)
    assert language_of(["run"]) == "en"
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert language_of(["run"]) == "zh"
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    assert language_of(["run"]) == "en"
    monkeypatch.setenv("BLOCKCALC_LANG", " ZH ")
    assert language_of(["run"]) == "zh"
    assert language_of(["--lang=en", "run"]) == "en"
    assert language_of(["run", "--", "--lang", "en"]) == "zh"
    monkeypatch.setenv("BLOCKCALC_LANG", "klingon")
    assert language_of(["run", "--lang"]) == "en"


def test_a_language_is_set_from_python(chinese: object) -> None:
    assert language() == "zh"
    assert say("fact.tokens") == "token"
    assert say("section.loss") == "损失"
    assert not known("no.such.text")
    with pytest.raises(UsageError, match="可用的语言有 en, zh；这里是 'fr'"):
        set_language("fr")


def test_a_text_without_a_twin_is_in_english(
    chinese: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(_texts("zh.main"), "fact.flow")
    set_language("zh")
    assert say("fact.flow") == "flow"


def test_a_wrong_language_is_refused() -> None:
    for args in (["--lang", "fr"], ["--lang=fr"], ["--lang"]):
        done = cli("run", *args)
        assert done.returncode == 2
        assert done.stderr.decode().startswith("--lang: the languages are en, zh; this is '")
    done = cli("run", "--lang", "en", "--lang", "zh")
    assert (done.returncode, done.stderr.decode()) == (
        2,
        "--lang: 可用的语言有 en, zh；这里是 'en, zh'\n",
    )


@pytest.mark.parametrize("command", ["run", "check"])
def test_help_is_in_the_language(command: str) -> None:
    said = text(process(command, "--help", BLOCKCALC_LANG="zh"))
    assert "选项" in said
    assert "Show" not in said


def _numbers(said: str) -> list[str]:
    return re.findall(r"(?<![\w.])-?\d+\.\d+", said)


@pytest.mark.parametrize("command", ["run", "compare", "grad", "cost", "shapes"])
@pytest.mark.parametrize(
    "sample",
    [
        path.stem if path.stem == "tiny" else pytest.param(path.stem, marks=pytest.mark.slow)
        for path in files()
    ],
)
def test_numbers_are_the_same_in_every_language(sample: str, command: str) -> None:
    path = str(folder() / f"{sample}.yaml")
    own, other = (text(cli(command, path, "--lang", name)) for name in LANGUAGES)
    assert sorted(_numbers(other)) == sorted(_numbers(own))
    assert re.search("[\u4e00-\u9fff]", other)


def test_json_has_the_same_keys_and_values_in_every_language() -> None:
    path = str(folder() / "tiny.yaml")
    own, other = (text(cli("export", path, "--json", "--lang", name)) for name in LANGUAGES)
    kept = [line for line in own.splitlines() if '"title"' not in line]
    assert kept == [line for line in other.splitlines() if '"title"' not in line]


def test_the_public_name_is_there() -> None:
    assert blockcalc.set_language is set_language


@pytest.mark.parametrize("args", [("run",), ("export", "--html"), ("export", "--typst"), ("grad",)])
@pytest.mark.slow
def test_axes_are_words_of_the_language(args: tuple[str, ...]) -> None:
    command, *options = args
    said = text(cli(command, str(folder() / "two_heads.yaml"), *options, "--lang", "zh"))
    assert "头 2 × 查询 3 × 键 3" in said
    assert not re.search(r"\b(head|query|key|batch) \d", said)


@pytest.mark.parametrize("name", LANGUAGES)
def test_pages_are_listed_by_their_titles_and_say_if_they_are_in_english(name: str) -> None:
    pages = Path(blockcalc.__file__).parent / "docs"
    lines = text(cli("docs", "--lang", name)).splitlines()
    titles = dict(line.split(None, 1) for line in lines)
    assert titles.keys() == {path.stem for path in pages.glob("*.md") if "." not in path.stem}
    for page, title in titles.items():
        own = pages / name / f"{page}.md"
        there = own if own.exists() else pages / f"{page}.md"
        heading = there.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        if name == "zh" and there != own:
            assert title.endswith("（英文）")
        else:
            assert title == heading


def test_a_file_for_answers_has_no_english_in_its_comments() -> None:
    said = text(cli("check", str(folder() / "two_heads.yaml"), "--blank", "--lang", "zh"))
    assert "# 注意力分数：每个查询对每个键，头 2 × 查询 3 × 键 3" in said.splitlines()


def test_clauses_are_joined_by_the_marks_of_the_language() -> None:
    path = str(folder() / "two_heads.yaml")
    for args in (("export", path, "--markdown"), ("export", path, "--typst"), ("grad", "--help")):
        said = text(cli(*args, "--lang", "zh"))
        assert not re.search("[\u4e00-\u9fff）]; |; [\u4e00-\u9fff]", said)


def test_chinese_sentences_end_with_their_own_mark_and_follow_without_a_space(
    tmp_path: Path,
) -> None:
    path = tmp_path / "answers.yaml"
    path.write_text(
        "attn.scores: [[1, 1, 2], [0, 1, 1], [1, 2, 3.5]]\nattn.z: [[9, 1], [1, 3], [2, 7]]"
    )
    answers = cli("check", str(folder() / "tiny.yaml"), str(path), "--lang", "zh")
    adapters = cli("cost", "--preset", "gpt2", "--lora", "4", "--lang", "zh")
    for said in (answers.stdout.decode(), text(adapters)):
        assert "。" in said
        assert not re.search("。 [\u4e00-\u9fff]|[\u4e00-\u9fff]\\.(?!\\w)|[\u4e00-\u9fff]; ", said)


@pytest.mark.parametrize("preset", ["bert-base", "gpt2", "llama-7b"])
def test_what_is_outside_the_blocks_of_a_model_has_a_name_in_each_language(preset: str) -> None:
    own, other = (text(cli("cost", "--preset", preset, "--lang", name)) for name in LANGUAGES)
    assert "token embedding" in own
    assert "token 嵌入" in other
    assert not re.search("embedding|language model|final norm", other)
