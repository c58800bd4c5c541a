"""A quiz on one block: a question at a time, a hint, a judgement, the worked line, a score."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random

import numpy as np

from blockcalc.answers.answer import Answer, Answers
from blockcalc.check.reasons.sentences import reasons_text
from blockcalc.check.run import Checked, check
from blockcalc.explain.document import Piece, Worked
from blockcalc.explain.steps import Explainer
from blockcalc.messages import say
from blockcalc.messages.words import axis_word
from blockcalc.mistakes.catalogue import Catalogue
from blockcalc.notation.alphabets import Alphabet
from blockcalc.ops.expr import Cell, Expr, Name, substitute, word
from blockcalc.ops.op import Ref
from blockcalc.program.program import Equation
from blockcalc.stepper.guess import number_of
from blockcalc.teach.blanks import Gap
from blockcalc.teach.sheet import Worksheet

HINT = "?"
_SHAPE = re.compile(r"\[?\(?\s*\d+(?:\s*[x×*,\s]\s*\d+)*\s*\)?\]?", re.IGNORECASE)
Said = str | Piece  # what is printed: a line, or a piece of a document
Ask = Callable[[], str | None]  # the next line that was typed; None at the end


@dataclass
class Score:
    """What was reached so far."""

    asked: int = 0
    right: int = 0
    hinted: int = 0
    total: int = 0

    def text(self) -> str:
        """State the score."""
        key = "quiz.score.hints" if self.hinted else "quiz.score"
        said = say(key, right=self.right, n=self.asked, hints=self.hinted)
        if left := self.total - self.asked:
            said += " " + say("quiz.score.left", left=left, all=self.total)
        return said


@dataclass
class Question:
    """One question: what is asked, its hints, and how an answer is judged.

    ``judge`` gives whether an answer is right, None if it cannot be read, and what is said of it.
    """

    asked: Sequence[Said]
    hints: list[str]
    judge: Callable[[str], tuple[bool | None, str]]
    answer: Sequence[Said]
    used: bool = field(default=False)


class Quiz:
    """Asks about one block.

    Parameters
    ----------
    own : Worksheet
        What is asked for.
    catalogue : Catalogue
        The mistakes that explain a wrong answer.
    seed : int
        Chooses the step whose shape is asked for.
    title : str
        Of the block.
    alphabet : Alphabet
        In which formulas are printed.
    """

    def __init__(
        self, own: Worksheet, catalogue: Catalogue, seed: int, title: str, alphabet: Alphabet
    ) -> None:
        self.own, self.catalogue, self.title, self.alphabet = own, catalogue, title, alphabet
        self.explainer = Explainer(own.spec, own.trace, replace(own.depth, prose=False))
        self.steps = {s.equation.out.name: s for s in own.trace.steps()}
        self.shown = {p.name: p for p in own.steps_shown()}
        self.score = Score(total=len(own.gaps) + 1)
        self.first = Random(seed).choice(sorted(own.steps))

    def run(self, ask: Ask) -> Iterator[Said]:
        """Ask every question; end early where there are no more answers."""
        total = self.score.total
        yield say("quiz.begin", title=self.title, n=total)
        questions = (self.shape(total), *(self.cell(gap, total) for gap in self.own.gaps))
        for question in questions:
            yield from question.asked
            if not (yield from self._answered(question, ask)):
                break
        yield ""
        yield self.score.text()

    def _answered(self, question: Question, ask: Ask) -> Generator[Said, None, bool]:
        """Take lines until the question is answered; return whether it was."""
        hints = iter(question.hints)
        while (line := ask()) is not None:
            text = line.strip()
            if text == HINT:
                question.used = True
                yield next(hints, say("quiz.hint.none"))
                continue
            right, said = question.judge(text) if text else (False, "")
            if right is None:
                yield said
                continue
            self.score.asked += 1
            self.score.right += right
            self.score.hinted += right and question.used
            if said:
                yield said
            yield from question.answer
            return True
        return False

    # the questions ------------------------------------------------------------------------

    def shape(self, total: int) -> Question:
        """Ask for the shape of a step."""
        eq = self.steps[self.first].equation
        formula = self.alphabet.render(eq.op.formula([Name(r.symbol) for r in eq.inputs]))
        symbol = self.alphabet.symbol(eq.out.symbol)
        asked = say("quiz.shape", i=1, n=total, symbol=symbol, name=eq.out.name, formula=formula)
        shapes = ", ".join(f"{self.alphabet.symbol(r.symbol)} {_sizes(r)}" for r in eq.inputs)

        def judge(text: str) -> tuple[bool | None, str]:
            if not _SHAPE.fullmatch(text):
                return None, say("quiz.shape.text")
            right = tuple(map(int, re.findall(r"\d+", text))) == eq.out.shape
            return right, say("quiz.right" if right else "quiz.wrong")

        answer = say("quiz.answer.shape", shape=_sizes(eq.out))
        return Question(["", asked], [say("quiz.hint.shapes", shapes=shapes)], judge, [answer])

    def cell(self, gap: Gap, total: int) -> Question:
        """Ask for a cell."""
        step = self.steps[gap.step]
        eq, shown = step.equation, self.explainer.matrix(step.equation.out)
        left = word("at", Name(eq.out.symbol), *(Name(str(i + 1)) for i in gap.at))
        cell, title = self.alphabet.render(left), self.explainer.step_title(step)
        asked = say("quiz.cell", i=gap.number + 1, n=total, cell=cell, name=gap.step, title=title)
        formula = self.alphabet.render(eq.op.formula([Name(r.symbol) for r in eq.inputs]))
        hints = [
            f"{self.alphabet.symbol(eq.out.symbol)} = {formula}",
            f"{cell} = {self.named(eq, gap)}",
        ]
        line = self.explainer.line(step, shown, gap.at)
        return Question(
            [self.shown[gap.step], "", asked],
            [say("quiz.hint", text=text) for text in hints],
            lambda text: self.judged(gap, text),
            [Worked((line,))],
        )

    def named(self, eq: Equation, gap: Gap) -> str:
        """Write the arithmetic of a cell in names: Q[1,1]×K[2,1] + …."""

        def leaf(e: Expr) -> Expr:
            if not isinstance(e, Cell):
                return e
            name = Name(eq.inputs[e.operand].symbol)
            return word("at", name, *(Name(str(i + 1)) for i in e.at))

        return self.alphabet.render(substitute(eq.op.cell(gap.at, eq.inputs), leaf))

    def judged(self, gap: Gap, text: str) -> tuple[bool | None, str]:
        """Judge a number as ``check`` does, and say what the mistake was."""
        number = number_of(text)
        if number is None:
            return None, say("quiz.number.text")
        checked = self.checked(gap, number)
        if gap.step not in checked.steps:
            return None, say("quiz.untold")
        if checked.ok:
            return True, say("quiz.right")
        if any(reason.step == gap.step for reason in checked.reasons):
            return False, say("quiz.wrong.reason", reason=reasons_text(checked, gap.step))
        return False, say("quiz.wrong")

    def checked(self, gap: Gap, number: tuple[float, float]) -> Checked:
        """Check one cell."""
        shape = self.own.trace.arrays[gap.step].shape
        values, half = np.full(shape, np.nan), np.zeros(shape)
        given = np.zeros(shape, dtype=bool)
        values[gap.at], half[gap.at], given[gap.at] = number[0], number[1], True
        answer = Answer(gap.step, values, given, half)
        return check(self.own.trace, Answers("quiz", (answer,)), self.catalogue)


def _sizes(ref: Ref) -> str:
    """Write a shape: 3 x 2, with its axes."""
    axes = ", ".join(map(axis_word, ref.axes))
    return f"{' x '.join(map(str, ref.shape))} ({axes})"
