"""The checked input: plain data, independent of the reader."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from numpy.typing import NDArray

from blockcalc.errors import Fault, Place, UsageError
from blockcalc.messages import say
from blockcalc.messages.words import described, require_finite, require_word
from blockcalc.nn.orders import ORDERS
from blockcalc.program.read_only import read_only
from blockcalc.program.rounding import Rounding

EPS = 1e-5
SOFTMAX = ("plain", "shifted")


@dataclass(frozen=True)
class NormSpec:
    """One norm; its name is its key in the file, and gamma and beta are optional.

    ``kind`` is ``layer`` or ``rms``; ``unit_offset`` multiplies by 1 + gamma; ``sample`` divides
    the variance by n - 1; ``outside`` adds eps after the root.
    """

    name: str
    eps: float = EPS
    kind: str = "layer"
    unit_offset: bool = False
    sample: bool = False
    outside: bool = False


@dataclass(frozen=True)
class RopeSpec:
    """Rotary positions: ``dims`` columns of each head, paired in halves or as neighbours.

    ``theta`` is None if the angles are given.
    """

    half: bool
    dims: int
    start: int = 0
    theta: float | None = None


@dataclass(frozen=True)
class AttentionSpec:
    """The attention of a block.

    Attributes
    ----------
    name : str
        Its key in the file.
    scale : float, str or None
        A factor, ``"none"``, or None for 1/√d_head.
    softmax : str or None
        ``plain``, ``shifted``, or None to choose by the scores.
    base2 : bool
        Whether the softmax takes powers of 2 in place of e.
    n_heads, n_kv_heads : int
        The number of query heads, and of key heads, which they share.
    qkv_layout : str
        The layout of a fused projection, ``blocks`` or ``per_head``.
    out_in : bool
        Whether weights are stored ``[out, in]``, as in a linear layer of PyTorch.
    rope : RopeSpec or None
        Rotary positions.
    dropout : float
        The p of dropout of the attention weights.
    by_batch : tuple of str
        The masks given for each batch entry and not for each head: ``keep``, ``add``.
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
    base2: bool = False


@dataclass(frozen=True)
class FfnSpec:
    """The FFN of a block; ``dropout`` is the p of the output of the activation."""

    name: str
    activation: str = "relu"
    gated: bool = False
    out_in: bool = False
    dropout: float = 0.0


Work = AttentionSpec | FfnSpec


@dataclass(frozen=True)
class SublayerSpec:
    """A sublayer: attention or FFN, and the residual; ``dropout`` is the p of its output."""

    work: Work
    dropout: float = 0.0


@dataclass(frozen=True)
class BlockSpec:
    """One block: its sublayers and its norms, both in the order of use.

    The order of the block assigns a fixed number of norms to each sublayer; further norms are
    unused. In a stack ``steps`` is the prefix of the names of its steps, such as ``blocks.0.``, and
    ``keys`` that of its weights; the runs of a repeated block share their weights.
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
        """Apply ``change`` to the work of every sublayer."""
        changed = tuple(replace(s, work=change(s.work)) for s in self.sublayers)
        return replace(self, sublayers=changed)

    def with_attention(self, change: Callable[[AttentionSpec], AttentionSpec]) -> BlockSpec:
        """Apply ``change`` to every attention."""
        return self.with_work(
            lambda work: change(work) if isinstance(work, AttentionSpec) else work
        )


@dataclass(frozen=True, eq=False)
class Spec:
    """A whole file. Two specs are equal only if they are the same object.

    Attributes
    ----------
    order : str
        A key of ``ORDERS``, such as ``post``.
    blocks : tuple of BlockSpec
        The blocks, in the order of use.
    arrays : mapping
        Every given matrix by its path in the file, ``attn.w_q``; float64, read-only.
    tokens : tuple of tuple of str
        The labels of the rows of x, for each batch entry.
    title, notes : str or None
        Texts of the file about itself.
    final_norm : NormSpec or None
        The norm after the last block.
    stop : str or None
        The last step to compute.
    seed : int or None
        The seed of dropout.
    evaluation : bool
        Whether the file has dropout but is in evaluation mode.
    rates : mapping
        The p of dropout at each place where the file has it, on or off.
    rounding : Rounding or None
        The rounding of every step.
    loss : str or None
        The kind of the loss, a key of ``LOSSES``; its matrix is ``loss.target`` or ``loss.with``.
    expect : mapping
        Expected values by step; nan for entries left open; read-only.
    points : mapping
        What each step counts in a score, by the names of the file; may be empty.
    origins : mapping
        The origin of each matrix that is not written out.
    remarks : tuple of str
        Notes of the reader: whole numbers that float64 cannot represent, expected values that were
        ignored.
    source : Source or None
        The text it was read from, which gives the position of every key.
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
    rates: Mapping[str, float] = field(default_factory=dict)
    rounding: Rounding | None = None
    loss: str | None = None
    expect: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    points: Mapping[str, float] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    source: Any = None
    # its program, once it has been built: a spec is immutable, so it is built once
    built: list[Any] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "arrays", read_only(self.arrays))
        object.__setattr__(self, "expect", read_only(self.expect))

    def __getstate__(self) -> dict[str, Any]:
        """Give what is pickled: a mapping without assignment cannot be."""
        plain = {"arrays": dict(self.arrays), "expect": dict(self.expect), "built": []}
        return {**self.__dict__, **plain}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Give the shape of every given matrix."""
        return {name: array.shape for name, array in self.arrays.items()}

    @property
    def spare_norms(self) -> tuple[str, ...]:
        """Name the unused norms: of missing sublayers, or of another order."""
        each = ORDERS[self.order].norms
        found = {
            f"{block.keys}{norm.name}": None
            for block in self.blocks
            for norm in block.norms[each * len(block.sublayers) :]
        }
        return tuple(found)

    def place(self, path: str) -> Place | None:
        """Give the position in the file of a key such as ``attn.w_q``."""
        return self.source.place(path) if self.source else None

    def with_order(self, order: str) -> Self:
        """Return a spec with another order, a key of ``ORDERS``."""
        require_word("order", order, ORDERS)
        return self if order == self.order else replace(self, order=order)

    def with_eps(self, eps: float) -> Self:
        """Return a spec in which every norm has this eps."""
        eps = require_finite("eps", eps)
        blocks = tuple(
            replace(b, norms=tuple(replace(norm, eps=eps) for norm in b.norms)) for b in self.blocks
        )
        final = replace(self.final_norm, eps=eps) if self.final_norm else None
        return replace(self, blocks=blocks, final_norm=final)

    def with_rounding(self, rounding: Rounding) -> Self:
        """Return a spec with this rounding of every step."""
        if not isinstance(rounding, Rounding):
            raise UsageError(Fault(say("api.rounding", got=described(rounding))))
        return replace(self, rounding=rounding)

    def with_softmax(self, form: str) -> Self:
        """Return a spec in which every softmax has this form, ``plain`` or ``shifted``."""
        require_word("softmax", form, SOFTMAX)
        blocks = tuple(
            b.with_attention(lambda attn: replace(attn, softmax=form)) for b in self.blocks
        )
        return replace(self, blocks=blocks)
