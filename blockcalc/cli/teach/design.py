"""The command ``design``: find blocks whose numbers are short."""

from __future__ import annotations

import shlex
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from blockcalc.cli.inputs import Errors, Screen, Writing, waiting
from blockcalc.cli.options import Order, words
from blockcalc.cli.output import encodable, note, send_folder
from blockcalc.errors import Fault, Place, UsageError
from blockcalc.messages import say
from blockcalc.messages.words import clauses
from blockcalc.shell.groups import Without, grouped
from blockcalc.views import is_folder, target

if TYPE_CHECKING:
    from blockcalc.shell.progress import Progress
    from blockcalc.teach.design.choose import Search
    from blockcalc.teach.design.score import Design
    from blockcalc.teach.design.wanted import Wanted


class Softmax(StrEnum):
    """The words of ``--softmax``."""

    exact = "exact"
    base2 = "base2"
    e = "e"


MOST_COUNT = 200


class _TimeUp(Exception):
    """The time of a search is over."""


def _number(name: str, key: str, least: int, most: int | None = None) -> object:
    return typer.Option(name, metavar="N", min=least, max=most, help=say(f"help.design.{key}"))


@dataclass(eq=False, repr=False)
class Sizes:
    """Options for the sizes of a block, and for the search."""

    tokens: Annotated[int | None, _number("--tokens", "tokens", 1, 64)] = None
    d_model: Annotated[int | None, _number("--d-model", "d_model", 1, 64)] = None
    heads: Annotated[int | None, _number("--heads", "heads", 1, 64)] = None
    d_ff: Annotated[int | None, _number("--d-ff", "d_ff", 2, 8)] = None
    norm: Annotated[
        Order | None, typer.Option("--norm", metavar=words(Order), help=say("help.norm"))
    ] = None
    softmax: Annotated[
        Softmax | None,
        typer.Option(
            "--softmax",
            metavar=words(Softmax),
            help=say("help.design.softmax", names=words(Softmax)),
        ),
    ] = None
    most: Annotated[int, _number("--max-den", "max_den", 1, 999)] = 12
    seed: Annotated[int, _number("--seed", "seed", 0, 2**32 - 1)] = 0
    like: Annotated[
        str | None, typer.Option("--like", metavar="FILE", help=say("help.design.like"))
    ] = None


SecondsOpt = Annotated[
    int,
    typer.Option("--time", metavar="N", min=1, max=86400, help=say("help.design.time")),
]
CountOpt = Annotated[
    int | None,
    typer.Option("--count", metavar="N", min=1, max=MOST_COUNT, help=say("help.design.count")),
]


@grouped
def design(
    *,
    sizes: Sizes,
    seconds: SecondsOpt = 20,
    count: CountOpt = None,
    screen: Annotated[Screen, Without("no_pager")],
    writing: Writing,
    errors: Errors,
) -> None:
    """Find a block whose every number is short."""
    if count is not None and not is_folder(writing.output):
        fault = Fault(say("design.count_folder"), Place("-o"), say("design.count_folder.hint"))
        raise UsageError(fault)
    wanted = _wanted(sizes)
    search = _Searching(wanted, seconds)
    made = search.many(count or 1)
    if not made:
        if search.interrupted:
            raise typer.Exit(130)
        raise UsageError(_none(search))
    _write(wanted, made, count, screen, writing)
    if search.interrupted:
        note(say("design.interrupted", n=search.found))
        raise typer.Exit(130)
    if search.stopped:
        note(say("design.stopped", seconds=seconds, n=search.found))


def _wanted(sizes: Sizes) -> Wanted:
    """Join the options with what a file gives."""
    from blockcalc.teach.design.like import wanted_like
    from blockcalc.teach.design.wanted import Wanted

    options = {
        "tokens": sizes.tokens, "d_model": sizes.d_model, "heads": sizes.heads,
        "d_ff": sizes.d_ff, "order": None if sizes.norm is None else sizes.norm.value,
        "softmax": None if sizes.softmax is None else sizes.softmax.value, "most": sizes.most, "seed": sizes.seed,
    }  # fmt: skip
    given = {key: value for key, value in options.items() if value is not None}
    if sizes.like is None:
        return Wanted(**given)  # type: ignore[arg-type]
    with waiting(sizes.like):
        return wanted_like(sizes.like, given)


class _Searching:
    """Searches for blocks with progress, until the time is up or Ctrl-C."""

    def __init__(self, wanted: Wanted, seconds: int) -> None:
        self.wanted, self.seconds = wanted, seconds
        self.stopped = self.interrupted = False
        self.found = 0
        self.last: Search | None = None

    def many(self, count: int) -> list[tuple[Wanted, Design]]:
        """Find several blocks, as hard as the first, no two with the same numbers."""
        from blockcalc.shell.progress import progress

        made: list[tuple[Wanted, Design]] = []
        seen: set[str] = set()
        with progress(say("progress.design", n=0, tried=0)) as line, _interruptible():
            for i in range(count * 2):
                wanted = replace(self.wanted, seed=(self.wanted.seed + i * 1000003) % 2**32)
                found = self._one(
                    wanted, line, len(made) + 1, count, made[0][1].cost if made else None
                )
                if found is not None and (own := repr(found.data)) not in seen:
                    seen.add(own)
                    made.append((wanted, found))
                if self.interrupted or len(made) == count or (found is None and not made):
                    break
        return made

    def _one(
        self, wanted: Wanted, line: Progress, i: int, count: int, like: float | None
    ) -> Design | None:
        from blockcalc.teach.design.choose import Search
        from blockcalc.teach.design.search import Near

        end = time.monotonic() + self.seconds
        near = Near()

        def pause() -> None:
            key = "progress.design" if count == 1 else "progress.design.many"
            line.text = say(key, n=search.found, tried=near.tried, i=i, count=count)
            if time.monotonic() > end:
                raise _TimeUp

        search = self.last = Search(wanted, near, pause)
        try:
            search.run(like)
        except _TimeUp:
            self.stopped = True
        except KeyboardInterrupt:
            self.interrupted = True
        self.found = search.found
        return search.finished()


@contextmanager
def _interruptible() -> Iterator[None]:
    """Make Ctrl-C raise an exception, so that the best block so far can be written."""
    before = signal.getsignal(signal.SIGINT)
    ours = threading.current_thread() is threading.main_thread()
    if ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, before)


def _none(search: _Searching) -> Fault:
    """Say that nothing was found, how near it came, and what to loosen."""
    assert search.last is not None
    near, wanted = search.last.near, search.wanted
    told = [
        say("design.near.rows", norm=norm, rows=rows, tokens=wanted.tokens)
        for norm, rows in near.rows.items()
    ]
    if near.whole:
        told.append(say("design.near.whole", n=near.whole))
    key = "time" if search.stopped else "end"
    why = say(f"design.none.{key}", seconds=search.seconds, tried=near.tried)
    text = say("design.none", why=why, near=clauses(told or [say("design.near.scores")]))
    ways = [f"--max-den {2 * wanted.most}", f"--seed {wanted.seed + 1}"]
    ways += [f"--time {3 * search.seconds}"] if search.stopped else []
    ways += [f"--tokens {wanted.tokens - 1}"] if wanted.tokens > 2 else []
    ways += ["--heads 1"] if wanted.heads > 1 else []
    return Fault(text, hint=say("design.none.hint", ways=", ".join(ways)))


def _write(
    wanted: Wanted,
    made: list[tuple[Wanted, Design]],
    count: int | None,
    screen: Screen,
    writing: Writing,
) -> None:
    from blockcalc.teach.design.report import report, table
    from blockcalc.teach.design.write import Text, block_text

    command = shlex.join(["blockcalc", *sys.argv[1:]])
    if count is not None:
        width = max(2, len(str(count)))
        names = [f"{i + 1:0{width}}.yaml" for i in range(len(made))]
        files = {
            name: [block_text(own, found, Text(name, command, i + 1)).encode()]
            for i, (name, (own, found)) in enumerate(zip(names, made, strict=True))
        }
        send_folder(files, str(writing.output), writing.force)
        screen.terminal().print(table([(n, d) for n, (_, d) in zip(names, made, strict=True)]))
        return
    path = target(writing.output, ".yaml")
    content = block_text(*made[0], Text("FILE" if path is None else Path(path).name, command))
    if path is None:
        typer.echo(encodable(content, sys.stdout.encoding), nl=False)
        return
    from blockcalc.cli.output import write_file, wrote

    write_file(path, content.encode(), writing.force)
    wrote(path)
    screen.terminal().print(report(made[0][1]))
