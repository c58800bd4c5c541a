"""What a person wrote, checked: plain data, no reader in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from numpy.typing import NDArray

from blockcalc.errors import Place
from blockcalc.nn.orders import ORDERS
from blockcalc.program.rounding import Rounding

EPS = 1e-5


@dataclass(frozen=True)
class NormSpec:
    """One norm: its place in the file is its name; gamma and beta are there if given.

    ``kind`` is ``layer`` or ``rms``; ``unit_offset`` multiplies by 1 + gamma; ``sample`` divides the
    variance by n - 1; ``outside`` adds eps after the root.
    """

    name: str
    eps: float = EPS
    kind: str = "layer"
    unit_offset: bool = False
    sample: bool = False
    outside: bool = False


@dataclass(frozen=True)
class RopeSpec:
    """Rotary positions: ``dims`` columns of each head are turned, in halves or as neighbours.

    ``theta`` is None where the angles are given.
    """

    half: bool
    dims: int
    start: int = 0
    theta: float | None = None


@dataclass(frozen=True)
class AttentionSpec:
    """The attention of a block.

    ``out_in`` tells that weights are stored ``[out, in]``, as a linear layer of PyTorch does.

    ``dropout`` is the p of its weights; ``by_batch`` names the masks that are given
    for each of a batch and not for each head; ``scale`` is a factor, ``"none"``, or None for 1/√d_head; ``softmax`` is ``plain``,
    ``shifted``, or None to choose by the scores.
    """

    name: str
    scale: float | str | None = None
    softmax: str | None = None
    n_heads: int = 1
    n_kv_heads: int = 1
    qkv_layout: str = "blocks"
    out_in: bool = False
    rope: RopeSpec | None = None
    dropout: float = 0.0
    by_batch: tuple[str, ...] = ()


@dataclass(frozen=True)
class FfnSpec:
    """The feed-forward part of a block; ``dropout`` is the p of what the activation gives."""

    name: str
    activation: str = "relu"
    gated: bool = False
    out_in: bool = False
    dropout: float = 0.0


Work = AttentionSpec | FfnSpec


@dataclass(frozen=True)
class SublayerSpec:
    """A sublayer: its work and the residual around it; ``dropout`` is the p of what the residual adds."""

    work: Work
    dropout: float = 0.0


@dataclass(frozen=True)
class BlockSpec:
    """One block: its sublayers, and its norms, both in the order of use.

    The order of the block deals out the norms, so many to each sublayer; those after them stay unused.
    In a stack ``steps`` stands before the names of its steps, ``blocks.0.``, and ``keys`` before those of
    its weights; runs of a repeated block share their keys.
    """

    sublayers: tuple[SublayerSpec, ...]
    norms: tuple[NormSpec, ...]
    steps: str = ""
    keys: str = ""

    @property
    def out_in(self) -> bool:
        """Tell whether its weights are stored ``[out, in]``."""
        return any(s.work.out_in for s in self.sublayers)

    def with_work(self, change: Callable[[Work], Work]) -> BlockSpec:
        """Change the work of every sublayer."""
        changed = tuple(replace(s, work=change(s.work)) for s in self.sublayers)
        return replace(self, sublayers=changed)

    def with_attention(self, change: Callable[[AttentionSpec], AttentionSpec]) -> BlockSpec:
        """Change every attention."""
        return self.with_work(
            lambda work: change(work) if isinstance(work, AttentionSpec) else work
        )


@dataclass(frozen=True)
class Spec:
    """A whole file.

    Attributes
    ----------
    order : str
        ``post`` or ``pre``.
    tokens : tuple of tuple of str
        The labels of the rows of x, for each of a batch.
    arrays : mapping
        Every given matrix by its path in the file, ``attn.w_q``; float64.
    seed : int or None
        Where the drawn numbers of dropout begin.
    evaluation : bool
        Whether dropout is written in the file and off.
    loss : str or None
        Where a backward pass starts, a key of ``LOSSES``; its matrix is ``loss.target`` or ``loss.with``.
    expect : mapping
        A person's own numbers by step; nan where not judged.
    origins : mapping
        Where a matrix that is not written out came from.
    remarks : tuple of str
        What the reading has to say: each whole number that float64 cannot hold, answers that were left out.
    source : Source or None
        Where it came from; gives the place of every key.
    built : list
        Its program, once it has been written: a spec never changes, so it is written once.
    """

    order: str
    blocks: tuple[BlockSpec, ...]
    arrays: Mapping[str, NDArray[Any]]
    tokens: tuple[tuple[str, ...], ...]
    title: str | None = None
    notes: str | None = None
    final_norm: NormSpec | None = None
    stop: str | None = None
    seed: int | None = None
    evaluation: bool = False
    rounding: Rounding | None = None
    loss: str | None = None
    expect: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    source: Any = None
    built: list[Any] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Give the shape of every given matrix."""
        return {name: array.shape for name, array in self.arrays.items()}

    @property
    def spare_norms(self) -> tuple[str, ...]:
        """Name the norms that the order leaves over: for sublayers that a block lacks, or for another order."""
        each = ORDERS[self.order].norms
        found = {
            f"{block.keys}{norm.name}": None
            for block in self.blocks
            for norm in block.norms[each * len(block.sublayers) :]
        }
        return tuple(found)

    def place(self, path: str) -> Place | None:
        """Give the place in the file of a key such as ``attn.w_q``."""
        return self.source.place(path) if self.source else None

    def with_order(self, order: str) -> Spec:
        """Give the same numbers in the other order, ``post`` or ``pre``."""
        return self if order == self.order else replace(self, order=order)

    def with_eps(self, eps: float) -> Spec:
        """Give every norm this eps."""
        blocks = tuple(
            replace(b, norms=tuple(replace(norm, eps=eps) for norm in b.norms)) for b in self.blocks
        )
        final = replace(self.final_norm, eps=eps) if self.final_norm else None
        return replace(self, blocks=blocks, final_norm=final)

    def with_rounding(self, rounding: Rounding) -> Spec:
        """Round every step so."""
        return replace(self, rounding=rounding)

    def with_softmax(self, form: str) -> Spec:
        """Give every attention this form of softmax."""
        blocks = tuple(
            b.with_attention(lambda own: replace(own, softmax=form)) for b in self.blocks
        )
        return replace(self, blocks=blocks)
