"""The quiz, with answers from a pipe."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import pytest

import blockcalc
from blockcalc.cli.teach.asking import Asking
from blockcalc.teach.sheet import Worksheet
from tests.helpers import TINY, TINY_SPEC, cli, sample_specs, text


def made(spec: blockcalc.Spec = TINY_SPEC, **wanted: object) -> Worksheet:
    return Asking(**wanted).worksheet(spec, blockcalc.run(spec))  # type: ignore[arg-type]


def asked(*lines: str, args: tuple[str, ...] = (), file: str = TINY) -> str:
    return text(cli("quiz", file, *args, stdin="".join(f"{x}\n" for x in lines).encode()))


def shape_of(own: Worksheet, out: str) -> tuple[int, ...]:
    found = re.search(r"\(([\w.]+)\)\?", out)
    assert found
    return tuple(own.trace[found[1]].shape)


def answers(own: Worksheet, out: str) -> list[str]:
    shape = " x ".join(map(str, shape_of(own, out)))
    return [shape, *(f"{own.trace[g.step][g.at]:.4f}" for g in own.gaps)]


@pytest.mark.parametrize("spec", sample_specs()[::2], ids=lambda spec: spec.title[:20])
def test_right_answers_are_right(spec: blockcalc.Spec) -> None:
    assert spec.source is not None
    file = spec.source.name
    own = made(spec)
    out = asked(*answers(own, asked(file=file)), file=file)
    assert "9 of 9 right." in out
    assert out.count("> Right.") == 9


def test_each_answer_is_followed_by_the_worked_line() -> None:
    own = made(steps=["attn.scores"], blanks=2)
    out = asked("3 x 3", "7", "", args=("--steps", "attn.scores", "--blanks", "2"))
    assert "1 of 3 right." in out
    cells = [f"S[{g.at[0] + 1},{g.at[1] + 1}]" for g in own.gaps]
    assert all(len(re.findall(re.escape(cell) + r" = \S+×", out)) == 1 for cell in cells)


def test_the_answer_is_not_in_the_question() -> None:
    args = ("--steps", "attn.scaled", "--blanks", "1")
    out = asked("3 x 3", args=args)
    assert "2.12" not in out
    assert "(1)____" in out


def test_hints_come_one_after_the_other() -> None:
    out = asked(
        "?", "?", "3 x 3", "?", "?", "?", "2.121", args=("--steps", "attn.scaled", "--blanks", "1")
    )
    assert out.count("Hint: ") == 3
    assert out.index("Hint: S_scaled = S / √d_head") < out.index(
        "Hint: S_scaled[3,3] = S[3,3] / √d_head"
    )
    assert out.count("There is no further hint.") == 2
    assert "2 of 2 right, 2 with a hint." in out


def test_a_wrong_number_is_diagnosed() -> None:
    out = asked("3 x 3", "3", args=("--steps", "attn.scaled", "--blanks", "1"))
    assert "Not right: these are the scores without the division by √d_head." in out
    assert "1 of 2 right." in out


def test_what_is_no_answer_is_asked_again() -> None:
    out = asked(
        "abc",
        "3 by",
        "[3, 3]",
        "2,1",
        "three",
        "1/0",
        "2.1213",
        args=("--steps", "attn.scaled", "--blanks", "1"),
    )
    assert out.count("That is no shape") == 2
    assert out.count("That is no number") >= 2
    assert "2 of 2 right." in out


@pytest.mark.parametrize("number", ["2.12", "2.1213", "2.1", "2.121320"])
def test_a_number_is_right_to_half_a_unit(number: str) -> None:
    assert "2 of 2 right." in asked("3x3", number, args=("--steps", "attn.scaled", "--blanks", "1"))


def test_a_fraction_is_a_number() -> None:
    assert "2 of 2 right." in asked(
        "3", "1/2", args=("--steps", "norm2.mean", "--blanks", "1", "--seed", "3")
    )


def test_the_score_so_far_is_told_at_the_end_of_the_input() -> None:
    assert asked().rstrip().endswith("0 of 0 right. 9 of the 9 questions were not asked.")
    out = text(cli("quiz", TINY, stdin=b"1 x 1"))  # no line end
    assert "0 of 1 right. 8 of the 9 questions were not asked." in out


def test_it_speaks_chinese() -> None:
    out = asked("?", "9 x 9", "", args=("--lang", "zh"))
    assert "提示：" in out
    assert "不对。" in out
    assert "题没有问到" in out


def test_standard_input_cannot_be_the_file() -> None:
    done = cli("quiz", "-", stdin=b"")
    assert (done.returncode, b"standard input" in done.stderr) == (2, True)


def test_a_step_that_is_not_there_is_refused() -> None:
    done = cli("quiz", TINY, "--steps", "nope")
    assert (done.returncode, b"there is no step 'nope'" in done.stderr) == (2, True)


def test_hostile_titles_are_text(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(
        Path(TINY).read_text(encoding="utf-8").replace("title:", 'title: "\\e[31m"\nnotes:'),
        encoding="utf-8",
    )
    assert "\x1b" not in asked("3", file=str(path))


def test_the_seed_decides() -> None:
    one, two = (asked(args=("--seed", str(n))) for n in (1, 2))
    assert one == asked(args=("--seed", "1"))
    assert one != two


@pytest.mark.slow
def test_control_c_leaves_quietly() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "blockcalc", "quiz", TINY, "--color", "never"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert process.stdout is not None
    while process.stdout.read(1) != b">":
        pass
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (130, b"")


def test_an_interrupt_leaves_with_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("blockcalc.cli.teach.quiz._typed", interrupted)
    done = cli("quiz", TINY)
    assert (done.returncode, done.stderr) == (130, b"")


def test_a_number_of_which_nothing_can_be_said_is_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Unjudged:
        steps: ClassVar[dict[str, object]] = {}

    monkeypatch.setattr("blockcalc.teach.quiz.check", lambda *_: Unjudged())
    out = asked("3", "1")
    assert "Nothing can be said of this number." in out
    assert "0 of 1 right." in out
