"""Check the chain of shapes through a block: every matrix must fit the one before it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from blockcalc.messages import say
from blockcalc.messages.words import dims, say_count
from blockcalc.nn.spec import AttentionSpec, BlockSpec, FfnSpec
from blockcalc.reading.checker import Checker
from blockcalc.records import dataclass


@dataclass(frozen=True)
class Size:
    """A size, the sentence that explains it, and the name of the matrix that has it."""

    n: int
    because: str
    name: str


@dataclass(eq=False, repr=False)
class Chain:
    """Checks the sizes of matrices against each other.

    Attributes
    ----------
    c : Checker
        Collects the errors.
    arrays : mapping
        The matrices by name.
    out_in : bool
        Whether weights are stored [out, in].
    stop : str
        The step after which the block ends, empty if it does not.
    """

    c: Checker
    arrays: Mapping[str, NDArray[Any]]
    out_in: bool = False
    stop: str = ""

    @property
    def axes(self) -> tuple[int, int]:
        """The input axis and the output axis of a weight."""
        return (-1, -2) if self.out_in else (-2, -1)

    def size(self, name: str, axis: int, symbol: str) -> Size | None:
        """Take the length of an axis as the size that later matrices must have."""
        array = self.arrays.get(name)
        if array is None:
            return None
        n = array.shape[axis]
        has = say("shape.size", name=name, n=n, unit=unit(array.ndim, axis, n), symbol=symbol)
        return Size(n, has, name)

    def fits(
        self, name: str, axis: int, size: Size | None, hint: str | None = None, last: bool = False
    ) -> None:
        """Require that an axis of a matrix has a given size.

        ``last`` tells that the output of the matrix is as wide as x.
        """
        array = self.arrays.get(name)
        if array is None or size is None or array.shape[axis] == size.n:
            return
        n = array.shape[axis]
        both = say("shape.mismatch", name=name, n=n, unit=unit(array.ndim, axis, n),
                   because=size.because)  # fmt: skip
        if any(self.c.has_commas(m) for m in (name, size.name)):
            hint = say("hint.decimal_comma")
        elif hint is None and array.ndim == 2 and self.turned(array, axis, size, last):
            hint = say("shape.transposed", name=name)
        newer = self.c.is_set(size.name) and not self.c.is_set(name)
        self.c.fault(size.name if newer else name, both, hint)

    def turned(self, array: NDArray[Any], axis: int, size: Size, last: bool) -> bool:
        """Tell whether a weight would fit only if transposed."""
        into, out = self.axes
        right_way = axis == out and array.shape[into] == self.arrays["x"].shape[-1]
        d_model = self.arrays["x"].shape[-1]
        last = last and axis == into and array.shape[into] != d_model
        return bool(array.shape[::-1][axis] == size.n and not right_way and not last)


def unit(rank: int, axis: int, n: int) -> str:
    """Name the unit of an axis: numbers, rows or columns."""
    kind = "numbers" if rank == 1 else "columns" if axis == -1 else "rows"
    return say_count(f"unit.{kind}", n)


def check_shapes(
    c: Checker,
    arrays: Mapping[str, NDArray[Any]],
    blocks: Iterable[BlockSpec],
    stop: str | None = None,
) -> None:
    """Check the whole chain from x to the last norm; one error for each matrix that does not fit.

    The output of a layer need not fit the residual if ``stop`` ends within the layer.
    """
    first_runs: dict[str, BlockSpec] = {}
    for block in blocks:
        first_runs.setdefault(block.keys, block)
    for block in first_runs.values():
        inside = (stop or "").startswith(block.steps)
        own = block.keys + (stop or "")[len(block.steps) :] if inside else ""
        chain = Chain(c, arrays, block.out_in, own)
        _block(chain, block, block.keys)
    whole = Chain(c, arrays)
    _norm(whole, "final_norm", whole.size("x", -1, "d_model"))


def _block(chain: Chain, block: BlockSpec, keys: str) -> None:
    d_model = chain.size("x", -1, "d_model")
    for work in (s.work for s in block.sublayers):
        if not isinstance(work, AttentionSpec):
            _ffn(chain, work, keys, d_model)
        elif d_model and _turned_x(chain, keys + work.name, d_model):
            chain.fits(f"{keys}{work.name}.w_q", chain.axes[0], d_model, say("shape.x_transposed"))
            return
        else:
            _attention(chain, work, keys, d_model)
            _check_masks(chain, work, keys)
    for norm in block.norms:
        _norm(chain, keys + norm.name, d_model)


def _turned_x(chain: Chain, name: str, d_model: Size) -> bool:
    """Tell whether the projections of an attention would fit the transpose of x."""
    into, tokens = chain.axes[0], chain.arrays["x"].shape[-2]
    q, *others = (chain.arrays.get(f"{name}.w_{part}") for part in "qkv")
    if q is None or any(w is not None and w.shape[into] == d_model.n for w in others):
        return False
    return bool(d_model.n != q.shape[into] == tokens)


def _norm(chain: Chain, name: str, d_model: Size | None) -> None:
    for part in ("gamma", "beta"):
        chain.fits(f"{name}.{part}", -1, d_model)


def _for_heads(size: Size | None, count: int, of: int) -> Size | None:
    """Convert the width of ``of`` heads to that of ``count`` heads."""
    if size is None or size.n % of:
        return None
    n = size.n // of * count
    few = say_count("heads", count)
    words = say("shape.shared", because=size.because, count=few, of=of, n=n)
    return replace(size, n=n, because=words) if count != of else size


def _attention(chain: Chain, spec: AttentionSpec, keys: str, d_model: Size | None) -> None:
    name, heads, few = keys + spec.name, spec.n_heads, spec.n_kv_heads
    into, out = chain.axes
    _check_heads(chain, f"{name}.w_q", out, heads)
    _check_heads(chain, f"{name}.w_v", out, few)
    _check_heads(chain, f"{name}.w_qkv", out, heads + 2 * few, "heads.fused")
    for part in "qkv":
        chain.fits(f"{name}.w_{part}", into, d_model)
        symbol = f"d_{part}" if heads > 1 or part == "v" else "d_head"
        chain.fits(f"{name}.b_{part}", -1, chain.size(f"{name}.w_{part}", out, symbol))
    chain.fits(f"{name}.w_qkv", into, d_model)
    chain.fits(f"{name}.b_qkv", -1, chain.size(f"{name}.w_qkv", out, "d_qkv"))
    symbol = "d_q" if heads > 1 else "d_head"
    chain.fits(f"{name}.w_k", out, _for_heads(chain.size(f"{name}.w_q", out, symbol), few, heads))
    joined = _for_heads(chain.size(f"{name}.w_v", out, "d_v"), heads, few)
    joined = joined or _for_heads(chain.size(f"{name}.w_qkv", out, "d_qkv"), heads, heads + 2 * few)
    chain.fits(f"{name}.w_o", into, joined, last=True)
    _check_output(chain, name, "o", d_model)
    _check_shape(chain, f"{name}.out", chain.arrays["x"].shape)


def _check_output(chain: Chain, name: str, letter: str, d_model: Size | None) -> None:
    """Check the output projection of a layer: as wide as the residual, if there is one."""
    out = chain.axes[1]
    if chain.stop.startswith(f"{name}."):
        d_model = chain.size(f"{name}.w_{letter}", out, "d_model")
    chain.fits(f"{name}.w_{letter}", out, d_model)
    chain.fits(f"{name}.b_{letter}", -1, d_model)


def _check_heads(chain: Chain, name: str, axis: int, heads: int, key: str = "heads.width") -> None:
    """Require that heads divide an axis of a weight; ``key`` is the text of the error."""
    array = chain.arrays.get(name)
    if array is not None and array.shape[axis] % heads:
        n = array.shape[axis]
        text = say(key, name=name, n=n, unit=unit(2, axis, n), heads=heads)
        chain.c.fault(name, text)


def _check_pattern(chain: Chain, place: str, *shapes: tuple[int, ...]) -> None:
    """Check the shape of the dropout pattern of a place."""
    _check_shape(chain, f"{place}_keep", *shapes, key=f"dropout.keep.{place}")


def _check_shape(chain: Chain, name: str, *shapes: tuple[int, ...], key: str = "") -> None:
    """Require one of several shapes; ``key`` is the name of the matrix in the file."""
    array = chain.arrays.get(name)
    if array is not None and array.shape not in shapes:
        wanted = ", ".join(map(dims, shapes))
        text = say("mask.shape", name=key or name, has=dims(array.shape), wanted=wanted)
        chain.c.fault(name, text)


def _check_masks(chain: Chain, spec: AttentionSpec, keys: str) -> None:
    *batch, t, _ = chain.arrays["x"].shape
    h, name = spec.n_heads, keys + spec.name
    padding = [(t,), *([(batch[0], t)] if batch else [])]
    _check_shape(chain, f"{name}.padding", *padding)
    shapes: list[tuple[int, ...]] = [(t, t), (h, t, t)]
    if batch:
        shapes += [(batch[0], h, t, t)] if h > 1 else []
        shapes += [(batch[0], 1, t, t)]
    for kind in ("keep", "add"):
        _check_shape(chain, f"{name}.mask.{kind}", *shapes)
    _check_pattern(chain, f"{name}.weights", (*batch, *([h] if h > 1 else []), t, t))
    _check_pattern(chain, f"{name}.out", chain.arrays["x"].shape)


def _ffn(chain: Chain, spec: FfnSpec, keys: str, d_model: Size | None) -> None:
    name = keys + spec.name
    into, out = chain.axes
    wide = ("w_gate", "w_up") if spec.gated else ("w_1",)
    last = "w_down" if spec.gated else "w_2"
    d_ff = chain.size(f"{name}.{wide[0]}", out, "d_ff")
    for key in wide:
        chain.fits(f"{name}.{key}", into, d_model)
        chain.fits(f"{name}.{key}", out, d_ff)
        own = chain.size(f"{name}.{key}", out, "d_ff")
        chain.fits(f"{name}.b_{key.removeprefix('w_')}", -1, own)
    chain.fits(f"{name}.{last}", into, d_ff, last=True)
    _check_output(chain, name, last.removeprefix("w_"), d_model)
    if d_ff is not None:
        _check_pattern(chain, f"{name}.act", (*chain.arrays["x"].shape[:-1], d_ff.n))
    _check_pattern(chain, f"{name}.out", chain.arrays["x"].shape)
