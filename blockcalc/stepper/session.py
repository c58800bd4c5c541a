"""The answer to each key: where it leads, what is revealed, judged or found."""

from __future__ import annotations

from collections.abc import Sequence

from blockcalc.explain.steps import Explainer
from blockcalc.messages import say
from blockcalc.stepper.guess import MINUS, is_right, number_of
from blockcalc.stepper.keys import ALWAYS, COMMANDS, Mode
from blockcalc.stepper.search import Index
from blockcalc.stepper.walk import Walk

BEGINS = "0123456789+-." + MINUS  # a number
GOES_ON = BEGINS + "/eE"
WORDS = ("inf", "∞")
LONGEST = 40  # characters that are typed
Told = tuple[str, str]  # a text and its style


class Session(Walk):
    """A walk that keys lead.

    Attributes
    ----------
    mode : Mode
    typed : str
        The number or the name that is being typed.
    told : (str, str) or None
        What the last key brought about, and its style.
    matches : list of int
        The steps found, by position.
    chosen : int
        Which of them would be taken.
    scrolled : int
        The lines of the page of keys above the screen.
    done : bool
        Whether the person has left.
    """

    def __init__(self, explainer: Explainer, numbers: Sequence[int], start: int = 0) -> None:
        super().__init__(explainer, numbers, start)
        self.index = Index(explainer, numbers)
        self.mode = self.before = Mode.steps
        self.typed = ""
        self.told: Told | None = None
        self.matches: list[int] = []
        self.chosen = 0
        self.hits = self.tried = self.scrolled = 0
        self.done = False

    def press(self, key: str, character: str | None = None) -> None:
        """Do what a key does.

        Parameters
        ----------
        key : str
            Its name, such as ``left`` or ``space``.
        character : str, optional
            What it types.
        """
        self.told = None
        sign = character if character and character.isprintable() and character != " " else key
        command = ALWAYS.get(key)
        if command is None and self.mode in (Mode.finding, Mode.typing):
            command = COMMANDS.get((self.mode, key))
            if command is None:
                self._edit(key, character)
                return
        command = command or COMMANDS.get((self.mode, sign)) or COMMANDS.get((self.mode, key))
        if command is not None:
            getattr(self, command)()
        elif self.hidden and sign in BEGINS and self.mode in (Mode.steps, Mode.cells):
            self.before, self.mode, self.typed = self.mode, Mode.typing, sign

    def paste(self, text: str) -> None:
        """Type a text at once."""
        self.told = None
        if self.mode not in (Mode.finding, Mode.typing) and self.hidden and text[:1] in BEGINS:
            self.before, self.mode, self.typed = self.mode, Mode.typing, ""
        if self.mode in (Mode.finding, Mode.typing):
            for character in text.strip().partition("\n")[0]:
                self._edit(character, character)

    def _edit(self, key: str, character: str | None) -> None:
        """Change what is typed."""
        if key == "backspace":
            self.typed = self.typed[:-1]
        elif key == "ctrl+u":
            self.typed = ""
        elif character and character.isprintable() and self._goes_on(character):
            self.typed += character
        if self.mode == Mode.finding:
            self._search()
        elif not self.typed:
            self.drop()

    def _goes_on(self, character: str) -> bool:
        """Tell whether a character goes on with a name, or with a number; -inf is one, too."""
        if len(self.typed) >= LONGEST or self.mode == Mode.finding:
            return len(self.typed) < LONGEST
        bare = (self.typed + character).lstrip("+-" + MINUS)
        return character in GOES_ON or any(w.startswith(bare) for w in WORDS)

    # steps and cells --------------------------------------------------------------------

    def next(self) -> None:
        """Go to the next step."""
        if not self.go(1):
            self.told = say("stepper.end.last"), "quiet"

    def previous(self) -> None:
        """Go to the step before."""
        if not self.go(-1):
            self.told = say("stepper.end.first"), "quiet"

    def first(self) -> None:
        """Go to the first step."""
        self.jump(0)

    def last(self) -> None:
        """Go to the last step."""
        self.jump(len(self.numbers) - 1)

    def enter(self) -> None:
        """Begin to select cells."""
        self.mode = Mode.cells

    def leave(self) -> None:
        """Go back to the steps, or from the page of keys to where it was opened."""
        self.mode = self.before if self.mode == Mode.helping else Mode.steps

    def left(self) -> None:
        """Select the cell to the left."""
        self.move(0, -1)

    def right(self) -> None:
        """Select the cell to the right."""
        self.move(0, 1)

    def up(self) -> None:
        """Select the cell above."""
        self.move(-1, 0)

    def down(self) -> None:
        """Select the cell below."""
        self.move(1, 0)

    def turn_on(self) -> None:
        """Show the next head or sequence."""
        self._turn(1)

    def turn_back(self) -> None:
        """Show the head or sequence before."""
        self._turn(-1)

    def _turn(self, by: int) -> None:
        if not self.turn(by):
            self.told = say("stepper.turn.one"), "quiet"

    # guesses ----------------------------------------------------------------------------

    def reveal(self) -> None:
        """Begin to hide results; once they are, show the selected cell, then the whole step."""
        if not self.guessing:
            self.guess()
        elif self.any_hidden:
            super().reveal()
        else:
            self.told = say("stepper.reveal.none"), "quiet"

    def guess(self) -> None:
        """Begin to hide results, or stop."""
        self.guessing = not self.guessing
        self.told = say("stepper.guess.on" if self.guessing else "stepper.guess.off"), "note"

    def judge(self) -> None:
        """Judge the number that was typed; a right one reveals its cell."""
        text = self.typed
        number = number_of(text)
        if number is None:
            self.told = say("stepper.judge.text", text=text), "wrong"
            return
        self.drop()
        right = is_right(self.explainer.trace, self.step.equation.out.name, self.at, number)
        if right is None:
            self.told = say("stepper.judge.untold", text=text), "note"
            return
        self.tried += 1
        if right:
            self.hits += 1
            self._known.add(self.at)
        style = "right" if right else "wrong"
        self.told = say(f"stepper.judge.{style}", text=text), style

    def drop(self) -> None:
        """Stop typing."""
        self.mode, self.typed = self.before, ""

    # finding, keys, leaving -------------------------------------------------------------

    def find(self) -> None:
        """Begin to type the name of a step."""
        self.before, self.mode, self.typed = self.mode, Mode.finding, ""
        self._search()
        self.chosen = self.position

    def _search(self) -> None:
        self.matches, self.chosen = self.index.find(self.typed), 0

    def match_after(self) -> None:
        """Choose the next of the steps found."""
        self.chosen = min(self.chosen + 1, max(0, len(self.matches) - 1))

    def match_before(self) -> None:
        """Choose the one before."""
        self.chosen = max(self.chosen - 1, 0)

    def take(self) -> None:
        """Go to the step that was found."""
        if self.matches:
            self.jump(self.matches[self.chosen])
            self.drop()

    def help(self) -> None:
        """Show the page of keys."""
        self.before, self.mode, self.scrolled = self.mode, Mode.helping, 0

    def scroll_up(self) -> None:
        """Go up in the page of keys."""
        self.scrolled = max(self.scrolled - 1, 0)

    def scroll_down(self) -> None:
        """Go down in the page of keys; it is as long as the screen requires."""
        self.scrolled += 1

    def quit(self) -> None:
        """Leave."""
        self.done = True
