"""Groups of options that commands share, and what they make: a spec, a run, a depth, a view."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from blockcalc.cli.options import (
    FRAMED,
    AllOpt,
    BriefOpt,
    CellOpt,
    ChainOpt,
    Color,
    ColorOpt,
    DebugOpt,
    DetailOpt,
    DigitsOpt,
    EpsOpt,
    ErrorFormat,
    ErrorOpt,
    ForceOpt,
    LossOpt,
    NoColorOpt,
    NoPagerOpt,
    NoProseOpt,
    NormOpt,
    OutputOpt,
    RateOpt,
    RoundOpt,
    RowOpt,
    SetOpt,
    StepsOpt,
)
from blockcalc.cli.output import note, send, send_folder
from blockcalc.errors import Fault, UsageError
from blockcalc.explain.depth import Depth, Detail
from blockcalc.messages import say

if TYPE_CHECKING:
    from blockcalc.explain.document import Document, Piece
    from blockcalc.nn.spec import Spec
    from blockcalc.program.trace import Trace
    from blockcalc.shell.pager import Pager
    from blockcalc.views import Format
    from blockcalc.views.terminal import Terminal


SLOW = 1.0  # seconds after which a note says what is awaited


@contextmanager
def waiting(name: str | None) -> Iterator[None]:
    """Read a file inside, and say on standard error what is awaited.

    Of a terminal that it is read, of a pipe that it has not ended after ``SLOW`` seconds, of a
    regular file that takes long that it is read.
    """
    if name == "-" and sys.stdin is not None and sys.stdin.isatty():
        note(say("cli.waiting"))
    if name is None or not (_is(name, stat.S_ISREG) or _is(name, stat.S_ISFIFO)):
        yield
        return
    if _is(name, stat.S_ISREG):
        from blockcalc.shell.progress import progress

        with progress(say("progress.reading", name=Path(name).name)):
            yield
        return
    import threading

    from blockcalc.notation.signs import clean

    timer = threading.Timer(SLOW, note, (say("cli.pipe", name=clean(name)),))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _is(name: str, kind: Callable[[int], bool]) -> bool:
    """Tell whether a name is that of a file of a kind, by its mode."""
    with suppress(OSError, ValueError):
        return kind(os.stat(name).st_mode)
    return False


# made at every start: a dataclass that neither compares nor prints takes a third of the time


@dataclass(eq=False, repr=False)
class Reading:
    """Options that override a file."""

    norm: NormOpt = None
    eps: EpsOpt = None
    sets: SetOpt = None
    rounding: RoundOpt = None

    def spec(self, file: str | None, orders: Callable[[str], Sequence[str]] | None = None) -> Spec:
        """Read a file, or the built-in sample, with the overrides of the command line."""
        from blockcalc.docs import samples as embedded
        from blockcalc.reading.load import load
        from blockcalc.reading.overrides import parse_eps, parse_round, parse_sets

        norm = self.norm.value if self.norm else None
        options = {"norm.order": norm, "eps": self.eps, "round": self.rounding}
        pairs = parse_sets(self.sets or [], options)
        source = embedded.default() if file is None else file
        with waiting(file):
            spec = load(source, pairs, [norm] if norm else orders or ())
        if self.eps is not None:
            spec = spec.with_eps(parse_eps(self.eps))
        if self.rounding is not None:
            spec = spec.with_rounding(parse_round(self.rounding))
        return spec


@dataclass(eq=False, repr=False)
class Showing:
    """Options for the level of detail and the steps shown."""

    detail: DetailOpt = Detail.normal
    steps: StepsOpt = None
    digits: DigitsOpt = 4
    whole: AllOpt = False
    no_prose: NoProseOpt = False
    row: RowOpt = None
    cell: CellOpt = None
    brief: BriefOpt = False

    def depth(self, pictures: bool = False) -> Depth:
        """Make the Depth from options; the terminal shows steps as pictures."""
        options = {
            "--row": self.row is not None,
            "--cell": self.cell is not None,
            "--brief": self.brief,
            f"--detail {Detail.tables}": self.detail == Detail.tables,
        }
        given = [name for name, there in options.items() if there]
        if self.brief and self.detail == Detail.cells:
            given.append(f"--detail {Detail.cells}")
        if len(given) > 1 and given != ["--brief", f"--detail {Detail.tables}"]:
            raise UsageError(Fault(say("cell.alone", options=", ".join(given))))
        return Depth(
            Detail.tables if self.brief else self.detail,
            self.digits,
            not self.no_prose and not self.brief,
            self.whole,
            parse_steps(self.steps),
            pictures=pictures,
            row=self.row,
            cell=None if self.cell is None else parse_cell(self.cell),
            brief=self.brief,
        )


@dataclass(eq=False, repr=False)
class Backward:
    """Options of the backward pass: the loss, closed forms or not, the learning rate."""

    loss: LossOpt = None
    chain: ChainOpt = False
    lr: RateOpt = None

    @property
    def kind(self) -> str | None:
        """The kind of the loss, if given."""
        return self.loss.value if self.loss else None

    def rate(self) -> float | None:
        """Read the value of ``--lr``."""
        return None if self.lr is None else parse_rate(self.lr)

    def only_with(self, grad: bool) -> Backward | None:
        """Give these options if ``--grad`` is given, else None; without it they are an error."""
        if grad:
            return self
        if self.loss or self.chain or self.lr:
            raise UsageError(Fault(say("cli.needs_grad")))
        return None


def computed(spec: Spec, backward: Backward | None = None) -> Trace:
    """Compute a block, and its gradients if options of the backward pass are given."""
    from blockcalc.shell.progress import progress

    with progress(say("progress.computing")):
        return computing(backward)(spec)


def computing(backward: Backward | None) -> Callable[[Spec], Trace]:
    """Choose what computes a block: its gradients too if options of the backward pass are given."""
    if backward is None:
        from blockcalc.nn.run import run

        return run
    from blockcalc.gradients.run import work_gradients

    rate = backward.rate()
    return lambda spec: work_gradients(spec, backward.kind, backward.chain, rate)


@dataclass(eq=False, repr=False)
class Screen:
    """Options for colours in the terminal, and its pager."""

    color: ColorOpt = Color.auto
    no_color: NoColorOpt = False
    no_pager: NoPagerOpt = False

    def __post_init__(self) -> None:
        self._pager: Pager | None = None

    def terminal(self) -> Terminal:
        """Make the view that prints pieces, through a pager if they are longer than the screen."""
        from blockcalc.views.screen import make_console
        from blockcalc.views.terminal import Terminal

        terminal = Terminal(make_console("never" if self.no_color else self.color.value))
        if not self.no_pager and sys.stdout.isatty():
            from blockcalc.shell.pager import pager_for

            self._pager = pager_for(sys.stdout)
            if self._pager is not None:
                terminal.console.file = cast("IO[str]", self._pager)
        return terminal

    def show(self, terminal: Terminal, pieces: Iterable[Piece]) -> None:
        """Print pieces; say what takes long until they are seen, or else until all are written."""
        from blockcalc.shell.progress import progress, seen_at_once

        made = iter(pieces)
        with progress(say("progress.explaining")) as line:
            if self._pager is not None:
                self._pager.begun = line.stop
            elif seen_at_once():
                first = list(islice(made, 1))
                line.stop()
                made = chain(first, made)
            terminal.print(made)

    def close(self) -> None:
        """End the pager."""
        if self._pager is not None:
            self._pager.close()
            self._pager = None


@dataclass(eq=False, repr=False)
class Writing:
    """Options for the output file."""

    output: OutputOpt = None
    force: ForceOpt = False

    def send(self, content: bytes | Iterable[bytes]) -> None:
        """Write the content to the output file, or to standard output."""
        send(content, self.output, self.force)

    def formats(self, asked: Mapping[str, bool], fragment: bool = False) -> list[Format]:
        """Choose the formats to write, one or, into a folder, several."""
        from blockcalc.views import choose_formats

        chosen = choose_formats(asked, self.output)
        if fragment and not any(form.document for form in chosen):
            raise UsageError(Fault(say("cli.fragment", names=FRAMED)))
        binary = [form.name for form in chosen if form.binary]
        if binary and self.output in (None, "-") and sys.stdout.isatty():
            raise UsageError(Fault(say("cli.binary", name=binary[0])))
        return chosen

    def write(
        self, document: Document, formats: Sequence[Format], stem: str, fragment: bool = False
    ) -> None:
        """Write a document to the output; in a folder its files are named ``stem``."""
        from blockcalc.views import is_folder

        if not is_folder(self.output):
            self.send(formats[0].chunks(document, fragment))
            return
        files: dict[str, Iterable[bytes]] = {}
        for form in formats:
            files |= form.files(document, stem, fragment)
        send_folder(files, str(self.output), self.force)


def stem_of(file: str | None) -> str:
    """Name the files of a document after its input."""
    from blockcalc.docs import samples as embedded

    return "block" if file == "-" else Path(file or embedded.default()).stem


@dataclass(eq=False, repr=False)
class Errors:
    """Options for the format of errors; ``cli.app`` reads them itself, as parsing may fail."""

    error_format: ErrorOpt = ErrorFormat.text
    debug: DebugOpt = False


def parse_cell(text: str) -> tuple[int, ...]:
    """Read ``2,3``, or ``1,2,3`` with the head first."""
    parts = [part.strip() for part in text.split(",")]
    if not 2 <= len(parts) <= 4 or not all(p.isascii() and p.isdecimal() and int(p) for p in parts):
        raise UsageError(Fault(say("cell.text", text=text)))
    return tuple(map(int, parts))


def parse_steps(texts: Sequence[str] | None) -> tuple[str, ...]:
    """Read the patterns of ``--steps``, which may be given several times: ``attn.*,norm1``."""
    patterns = tuple(p.strip() for text in texts or () for p in text.split(",") if p.strip())
    if texts and not patterns:
        raise UsageError(Fault(say("cli.no_steps")))
    return patterns


def parse_depths(text: str) -> list[int]:
    """Read ``1,2,4``."""
    from blockcalc.files.source import is_index, short

    parts = [part.strip() for part in text.split(",")]
    if not all(is_index(part) and 0 < int(part) <= 64 for part in parts):
        raise UsageError(Fault(say("depths.text", text=short(text))))
    return [int(part) for part in parts]


def parse_rate(text: str) -> float:
    """Read the value of ``--lr``."""
    from blockcalc.files.source import short
    from blockcalc.files.yaml_text import plain_scalar

    number: Any = plain_scalar(text.strip())
    # a whole number may be too large for a float
    if type(number) not in (int, float) or not 0 < number <= sys.float_info.max:
        raise UsageError(Fault(say("lr.finite", text=short(text))))
    return float(number)
