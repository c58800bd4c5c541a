"""The chain of shapes through a block: every matrix fits the one before it, or is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from blockcalc.source import Path
from blockcalc.titles import say


class Faults(Protocol):
    """Takes note of faults at a path, and knows the lines of the file."""

    def fault(self, path: Path, message: str, hint: str | None = None) -> None: ...

    def has_commas(self, path: Path) -> bool: ...


@dataclass(frozen=True)
class Size:
    """A length that something has, and the words that say so."""

    n: int
    because: str
    name: str


@dataclass
class Chain:
    """Holds the matrices against each other."""

    faults: Faults
    arrays: Mapping[str, NDArray[Any]]

    def size(self, name: str, axis: int, symbol: str) -> Size | None:
        """Take the length of an axis as the measure for what follows."""
        array = self.arrays.get(name)
        if array is None:
            return None
        n = array.shape[axis]
        has = say("shape.size", name=name, n=n, unit=unit(array.ndim, axis, n), symbol=symbol)
        return Size(n, has, name)

    def fits(self, name: str, axis: int, size: Size | None, hint: str | None = None) -> None:
        """Require that an axis of a matrix has the length of what it meets."""
        array = self.arrays.get(name)
        if array is None or size is None or array.shape[axis] == size.n:
            return
        n = array.shape[axis]
        both = say("shape.mismatch", name=name, n=n, unit=unit(array.ndim, axis, n),
                   because=size.because)  # fmt: skip
        if any(self.faults.has_commas(tuple(m.split("."))) for m in (name, size.name)):
            hint = say("hint.decimal_comma")
        elif hint is None and array.ndim == 2 and array.shape[::-1][axis] == size.n:
            hint = say("shape.transposed", name=name)
        self.faults.fault(tuple(name.split(".")), both, hint)


def unit(rank: int, axis: int, n: int) -> str:
    """Name what is counted along an axis."""
    kind = "numbers" if rank == 1 else "columns" if axis == -1 else "rows"
    return say(f"unit.{kind}.{'one' if n == 1 else 'many'}")


def check_shapes(faults: Faults, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Check the whole chain, x to the last norm; one fault for each matrix that breaks it."""
    chain = Chain(faults, arrays)
    d_model = chain.size("x", -1, "d_model")
    first = arrays.get("attn.w_q")
    if d_model and first is not None and d_model.n != len(first) == arrays["x"].shape[-2]:
        chain.fits("attn.w_q", -2, d_model, say("shape.x_transposed"))
        return
    _attention(chain, "attn", d_model)
    _ffn(chain, "ffn", d_model)
    for norm in ("norm1", "norm2", "final_norm"):
        chain.fits(f"{norm}.gamma", -1, d_model)
        chain.fits(f"{norm}.beta", -1, d_model)


def _attention(chain: Chain, name: str, d_model: Size | None) -> None:
    for part in "qkv":
        chain.fits(f"{name}.w_{part}", -2, d_model)
        chain.fits(
            f"{name}.b_{part}",
            -1,
            chain.size(f"{name}.w_{part}", -1, "d_v" if part == "v" else "d_head"),
        )
    chain.fits(f"{name}.w_k", -1, chain.size(f"{name}.w_q", -1, "d_head"))
    chain.fits(f"{name}.w_o", -2, chain.size(f"{name}.w_v", -1, "d_v"))
    chain.fits(f"{name}.w_o", -1, d_model)
    chain.fits(f"{name}.b_o", -1, d_model)
    chain.fits(f"{name}.out", -1, d_model)
    chain.fits(f"{name}.out", -2, chain.size("x", -2, "T"))


def _ffn(chain: Chain, name: str, d_model: Size | None) -> None:
    chain.fits(f"{name}.w_1", -2, d_model)
    d_ff = chain.size(f"{name}.w_1", -1, "d_ff")
    chain.fits(f"{name}.b_1", -1, d_ff)
    chain.fits(f"{name}.w_2", -2, d_ff)
    chain.fits(f"{name}.w_2", -1, d_model)
    chain.fits(f"{name}.b_2", -1, d_model)
