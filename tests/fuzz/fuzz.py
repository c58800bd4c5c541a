"""Mutated files: only the project's own errors are raised, nothing hangs, no nan is printed.

Run as ``python tests/fuzz/fuzz.py --reader 1000000 --run 5000 --check 1000``; seeded, so that a run
repeats.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import re
import signal
import sys
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import blockcalc
from blockcalc.answers.numbers import Typed
from blockcalc.answers.text import answers_in
from blockcalc.check.explain import check_document
from blockcalc.check.run import check as check_answers
from blockcalc.costs.explain import cost_pieces
from blockcalc.costs.plan import of_file
from blockcalc.costs.shapes import shape_pieces
from blockcalc.explain.depth import Depth, Detail
from blockcalc.explain.document import Piece, StepPiece
from blockcalc.explain.steps import explain
from blockcalc.files.decode import decode, read_text
from blockcalc.gradients.explain import GradientExplainer, explain_gradient
from blockcalc.gradients.run import work_gradients
from blockcalc.mistakes.alternative import Block
from blockcalc.mistakes.catalogue import Catalogue
from blockcalc.mistakes.table import MISTAKES
from blockcalc.notation.alphabets import Text
from blockcalc.reading.checker import Checker
from blockcalc.reading.load import check
from blockcalc.views import choose_format

HERE = Path(__file__).resolve().parent.parent
SECONDS = 10  # what one input may take
SECONDS_OF_CHECK = 120  # every mistake of the catalogue is tried on every wrong step
WORDS = [
    b"[", b"]", b"{", b"}", b",", b": ", b"\n", b"  ", b"- ", b"#", b"&a ", b"*a", b"<<: ", b"!t ", b"|\n", b">", b"'", b'"',
    b"~", b"?", b"null", b"true", b"no", b".inf", b"-.inf", b".nan", b"1e400", b"1e-400", b"0x1", b"1/3", b"1/0", b"-0", b"1_0",
    b"\t", b"\r", b"\x00", b"\xff", b"\xe2\x88\x92", b"\xef\xbc\x91", b"\xe2\x80\xa8", b"\xef\xbb\xbf", b"---\n", b"...\n", b"%YAML 1.1\n",
    b"9" * 30, b"[[1, 0], [0, 1]]", b"{value: [[1]], transpose: true}", b"{eye: 2}", b"{random: [2, 2]}", b"x", b"attn", b"ffn",
    b"blocks", b"repeat: 2", b"dropout", b"norm", b"stop", b"expect", b"round", b"causal", b"rope", b"mask", b"w_qkv", b"n_heads",
]  # fmt: skip
SMALL = [
    b"x: [[1, 0], [0, 1]]\nattn: {w_q: [[1, 0], [0, 1]], w_k: [[1, 1], [0, 1]], w_v: [[1, 0], [1, 1]]}\n",
    b"x: [[1, 2]]\nattn: {out: [[1, 1]]}\nnorm: {order: pre, kind: rms}\n",
    b'{"x": [[1, 2.5], [-3e-1, "1/3"]], "attn": {"out": [[0, 0], [0, 0]]}}\n',
    b"x: [[1, 2]]\nblocks:\n  - attn: &a {w_q: [[1], [0]], w_k: [[1], [1]], w_v: [[1, 0], [0, 1]]}\n    repeat: 2\n  - attn: *a\n",
    b"x: [[1, 2], [0, 1]]\nattn:\n  n_heads: 2\n  causal: true\n  w_qkv: [[1, 0, 1, 0, 1, 0], [0, 1, 0, 1, 0, 1]]\n  mask: {add: [[0, -.inf], [1, 0]]}\n",
    b"x: [[1, 2]]\nffn: {w_gate: [[1], [0]], w_up: [[1], [1]], w_down: [[1, 2]], activation: swish}\nattn: {out: [[1, 0]]}\n",
    b"x: [[1, 2], [3, 1]]\nattn: {out: [[1, 0], [0, 1]]}\ndropout: {p: 0.5, training: true, seed: 1}\nround: {decimals: 2}\nexpect: {residual1: [[?, 1], [2, ~]]}\n",
]  # fmt: skip


def corpus() -> list[bytes]:
    """Collect small texts, every bad input and every sample."""
    folders = [HERE / "bad_inputs", HERE.parent / "samples"]
    files = [
        p for folder in folders for p in sorted(folder.iterdir()) if p.suffix in (".yaml", ".json")
    ]
    return SMALL * 30 + [raw for p in files if len(raw := p.read_bytes()) < 3000]


VALUES = [b"0", b"1", b"-2", b"0.5", b"1e-9", b"1e9", b"1e300", b"-1e300", b"1/3", b"3", b"2", b"true", b"false", b"pre", b"post", b"none",
          b"rms", b"gelu", b"silu", b"shifted", b"keep", b"pad", b"half", b"sample", b"outside", b"out_in", b"[1]", b"[1, 2]", b"[[1, 2]]",
          b"{}", b"[]", b"''", b"per_head", b"99", b".5", b"attn.q", b"norm1"]  # fmt: skip
TOKEN = re.compile(rb"-?[0-9][0-9.e/-]*|[A-Za-z_][A-Za-z_0-9.]*")


def retell(rng: random.Random, raw: bytes) -> bytes:
    """Change one word or number into another, or move a line: most stay well formed."""
    if rng.random() < 0.2:
        lines = raw.split(b"\n")
        a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
        lines[a], lines[b] = (lines[b], lines[a]) if rng.random() < 0.5 else (lines[a], lines[a])
        return b"\n".join(lines)
    found = list(TOKEN.finditer(raw))
    if not found:
        return raw
    one = rng.choice(found)
    other = rng.choice(found)[0] if rng.random() < 0.3 else rng.choice(VALUES)
    return raw[: one.start()] + other + raw[one.end() :]


def mutate(rng: random.Random, texts: list[bytes]) -> bytes:
    """Change a text in a few places."""
    raw = bytearray(rng.choice(texts))
    if rng.random() < 0.6:
        for _ in range(rng.choice((1, 1, 2, 3))):
            raw = bytearray(retell(rng, bytes(raw)))
        return bytes(raw)
    for _ in range(rng.choice((1, 1, 1, 1, 2, 3, 6))):
        at, how = rng.randint(0, len(raw)), rng.random()
        if how < 0.35:
            raw[at:at] = rng.choice(WORDS)
        elif how < 0.55:
            del raw[at : at + rng.randint(1, 8)]
        elif how < 0.75:
            raw[at : at + rng.randint(0, 4)] = rng.choice(WORDS)
        elif how < 0.85:
            other = rng.choice(texts)
            start = rng.randint(0, len(other))
            raw[at:at] = other[start : start + rng.randint(1, 40)]
        elif how < 0.95:
            start = rng.randint(0, len(raw))
            raw[at:at] = raw[start : start + rng.randint(1, 40)]
        elif raw:
            raw[min(at, len(raw) - 1)] = rng.randrange(256)
    return bytes(raw)


def read_only(raw: bytes, name: str) -> Any:
    """Read and check a text as a file would be."""
    return check(Checker(read_text(decode(raw, name), name)))


def whole_run(raw: bytes, name: str) -> None:
    """Read, compute and print everything, forward, backward and costs; no nan is printed."""
    spec = read_only(raw, name)
    said(explain(spec, blockcalc.run(spec), Depth(Detail.cells)))
    said(explain_gradient(spec, work_gradients(spec), Depth(Detail.cells)))
    plan = of_file(spec)
    for pieces in (cost_pieces(plan), cost_pieces(plan, "tokens"), shape_pieces(plan)):
        for _ in pieces:
            pass


def said(pieces: Iterable[Piece]) -> None:
    """Say everything of a run; nothing that is said is a nan."""
    text = Text()
    for piece in pieces:
        if isinstance(piece, StepPiece):
            shown = [text.render(e) for line in piece.lines for e in (line.left, line.result)]
            shown += [text.figure(f) for grid in piece.grids for row in grid.rows for f in row]
            assert not any("nan" in s for s in shown), piece.name


NUMBERS = [b"?", b"nan", b"inf", b"-inf", b"1e300", b"-1e308", b"1.7e308", b"1e-320", b"1e-300", b"1/3", b"5/1.732", b"-0.0", b"0",
           b"0." + b"3" * 300, b"9" * 300, b"9" * 400, b"1e15", b"7", b"[1]", b"x", b"true", b"1,5", b"0." + b"0" * 20 + b"1"]  # fmt: skip
JUDGED = ("tiny", "causal", "two_heads", "llama_style", "stack")


@cache
def work(name: str) -> Block:
    """Compute a sample with its backward pass."""
    spec = blockcalc.sample(name)
    return Block(spec, work_gradients(spec))


@cache
def catalogue(name: str) -> Catalogue:
    """Make the mistakes of a sample."""
    return Catalogue(work(name), tuple(MISTAKES.values()))


def wrong_answers(rng: random.Random, name: str) -> bytes:
    """Write some of the right numbers of a sample, and change a few."""
    arrays = work(name).trace.arrays
    form = rng.choice(("{:.2f}", "{:.4f}", "{!r}", "{:.3e}"))
    lines = []
    for step in rng.sample(list(arrays), rng.randint(1, 12)):
        values = np.asarray(arrays[step], dtype=np.float64)
        if rng.random() < 0.2:
            values = values * rng.choice((0, -1, 2, 1e300, 1e-300))
        numbers = np.vectorize(lambda x: form.format(float(x)), otypes=[object])(values)
        lines.append(f"{step}: {numbers.tolist()}".replace("'", ""))
    raw = "\n".join(lines).encode()
    for _ in range(rng.choice((0, 1, 1, 2, 5))):
        one = rng.choice(list(TOKEN.finditer(raw)))
        if one[0][:1].isdigit() or one[0][:1] == b"-":
            raw = raw[: one.start()] + rng.choice(NUMBERS) + raw[one.end() :]
        elif rng.random() < 0.2:
            raw = retell(rng, raw)
    return raw


def whole_check(raw: bytes, name: str) -> None:
    """Judge answers to the sample that the file is named for, and write the report in each format.

    An answer that cannot be read has its place, and JSON has no nan.
    """
    block, known = work(name), catalogue(name)
    answers = answers_in(read_text(decode(raw, name), name, Typed))
    checked = check_answers(block.trace, answers, known)
    assert all(one.why for one in checked.unreadable)
    document = check_document(block.spec, [checked], True, GradientExplainer)
    for form in ("json", "csv", "latex", "typst"):
        written = choose_format({form: True}, None).write(document, False)
        if form == "json":
            json.loads(written, parse_constant=refuse)
    for _ in document.pieces():
        pass


def refuse(word: str) -> None:
    """Raise an error for a word that JSON does not have."""
    raise ValueError(word)


def attack(job: tuple[str, int, int]) -> tuple[int, int, list[str]]:
    """Try so many inputs of a seed; give how many were read, refused, and what went wrong."""
    kind, seed, count = job
    rng, texts = random.Random(seed), corpus()
    target = {"reader": read_only, "run": whole_run, "check": whole_check}[kind]
    fine = refused = 0
    wrong: list[str] = []

    def late(*_: Any) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, late)
    for _ in range(count):
        if kind == "check":
            name = rng.choice(JUDGED)
            raw = wrong_answers(rng, name)
        else:
            raw = mutate(rng, texts)
            name = rng.choice(("a.yaml", "a", "a.json" if raw[:1] == b"{" else "a.yaml"))
        signal.alarm(SECONDS if kind != "check" else SECONDS_OF_CHECK)
        try:
            target(raw, name)
            fine += 1
        except blockcalc.BlockcalcError:
            refused += 1
        except Exception as error:  # the very thing that is looked for
            wrong.append(f"{type(error).__name__}: {error}\n  {name}: {raw!r}")
            if len(wrong) == 10:
                break
        finally:
            signal.alarm(0)
    return fine, refused, wrong


def main() -> int:
    """Attack on every core; exit code 1 if anything but a refusal came out."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--reader", type=int, default=0)
    parser.add_argument("--run", type=int, default=0)
    parser.add_argument("--check", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    failed: bool = False
    cores = multiprocessing.cpu_count()
    for kind, total in (("reader", args.reader), ("run", args.run), ("check", args.check)):
        if not total:
            continue
        begun = time.perf_counter()
        jobs = [(kind, args.seed + i, -(-total // (cores * 8))) for i in range(cores * 8)]
        with multiprocessing.Pool(cores) as pool:
            results = pool.map(attack, jobs, chunksize=1)
        fine, refused = sum(r[0] for r in results), sum(r[1] for r in results)
        wrong = [line for r in results for line in r[2]]
        took = time.perf_counter() - begun
        print(
            f"{kind}: {fine + refused} inputs, {fine} fine, {refused} refused, {len(wrong)} wrong, {took:.0f} s"
        )
        for line in wrong[:10]:
            print(line, file=sys.stderr)
        failed |= bool(wrong)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
