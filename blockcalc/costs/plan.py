"""Plans to count: from a file, a preset or sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

from blockcalc.errors import Fault, UsageError
from blockcalc.messages import say
from blockcalc.messages.words import did_you_mean, listed, require_flag, require_whole, require_word
from blockcalc.nn.activations import ACTIVATIONS
from blockcalc.nn.block import program_of
from blockcalc.nn.norms import NORMS
from blockcalc.nn.orders import NORM_KEYS, ORDERS, SUBLAYERS
from blockcalc.nn.spec import (
    AttentionSpec,
    BlockSpec,
    FfnSpec,
    NormSpec,
    RopeSpec,
    Spec,
    SublayerSpec,
)
from blockcalc.ops.op import Shape
from blockcalc.program.builder import Misfit, Missing
from blockcalc.program.program import Program


@dataclass(frozen=True)
class Sizes:
    """The sizes of a block, and its kind.

    Attributes
    ----------
    d_model, d_ff, heads, tokens, batch, layers : int
        At least 1.
    kv_heads : int
        The heads of keys and values; 0 for as many as ``heads``.
    d_head : int
        The width of a head; 0 for d_model / heads.
    gated : bool
        Whether the FFN is gated.
    norm_kind, order, activation : str
        Keys of ``NORMS``, ``ORDERS`` and ``ACTIVATIONS``.
    bias : bool
        Whether projections and the FFN have biases, and norms a beta.
    qkv_bias : bool or None
        Whether queries, keys and values have biases; None for the same as ``bias``.
    rope, causal : bool
        Whether there are rotary positions, and a causal mask.
    """

    d_model: int = 512
    d_ff: int = 2048
    heads: int = 8
    kv_heads: int = 0
    d_head: int = 0
    tokens: int = 128
    batch: int = 1
    layers: int = 1
    gated: bool = False
    norm_kind: str = "layer"
    order: str = "pre"
    activation: str = "gelu"
    bias: bool = True
    qkv_bias: bool | None = None
    rope: bool = False
    causal: bool = False

    def __post_init__(self) -> None:
        """Check every field.

        Raises
        ------
        UsageError
            A field has the wrong type, too small a size or an unknown word, or the heads do not
            divide d_model.
        """
        for name in WHOLE:
            low = 0 if name in ("kv_heads", "d_head") else 1
            object.__setattr__(self, name, require_whole(name, getattr(self, name), low))
        for name in FLAGS:
            value = getattr(self, name)
            if not (value is None and name == "qkv_bias"):
                require_flag(name, value)
        require_word("norm_kind", self.norm_kind, NORMS)
        require_word("order", self.order, ORDERS)
        require_word("activation", self.activation, ACTIVATIONS)
        self._check_heads()

    @property
    def norms(self) -> tuple[str, ...]:
        """Name the norms that the order uses."""
        return NORM_KEYS[: len(SUBLAYERS) * ORDERS[self.order].norms]

    def _check_heads(self) -> None:
        """Raise an error if d_model is not divisible by the heads."""
        if not self.d_head and self.d_model % self.heads:
            text = say("plan.heads", d_model=self.d_model, heads=self.heads)
            raise UsageError(Fault(text, hint=say("plan.heads.hint")))
        if self.kv_heads and self.heads % self.kv_heads:
            raise UsageError(Fault(say("heads.groups", heads=self.heads, kv=self.kv_heads)))

    def plan(self, **more: object) -> Plan:
        """Make the plan of a block of these sizes."""
        d_head = self.d_head or self.d_model // self.heads
        few = self.kv_heads or self.heads
        rope = RopeSpec(True, d_head - d_head % 2, theta=10000.0) if self.rope else None
        attention = AttentionSpec("attn", n_heads=self.heads, n_kv_heads=few, rope=rope)
        ffn = FfnSpec("ffn", self.activation, self.gated)
        norms = tuple(NormSpec(name, kind=self.norm_kind) for name in self.norms)
        block = BlockSpec((SublayerSpec(attention), SublayerSpec(ffn)), norms)
        spec = Spec(self.order, (block,), {}, ())
        return replace(Plan(spec, self.shapes(d_head, few), self.layers), **more)  # type: ignore[arg-type]

    def shapes(self, d_head: int, few: int) -> dict[str, Shape]:
        """Give the shape of every matrix."""
        c, f, q, k = self.d_model, self.d_ff, self.heads * d_head, few * d_head
        found: dict[str, Shape] = {"x": (self.batch, self.tokens, c)}
        widths = {"attn.w_q": (c, q), "attn.w_k": (c, k), "attn.w_v": (c, k), "attn.w_o": (q, c)}
        names = ("w_gate", "w_up", "w_down") if self.gated else ("w_1", "w_2")
        widths |= {f"ffn.{name}": (f, c) if name == names[-1] else (c, f) for name in names}
        biased = dict.fromkeys(widths, self.bias)
        if self.qkv_bias is not None:
            biased |= dict.fromkeys(("attn.w_q", "attn.w_k", "attn.w_v"), self.qkv_bias)
        for name, shape in widths.items():
            found[name] = shape
            if biased[name]:
                found[name.replace(".w_", ".b_")] = (shape[1],)
        for norm in self.norms:
            found[f"{norm}.gamma"] = (c,)
            if self.bias and NORMS[self.norm_kind].shifts:
                found[f"{norm}.beta"] = (c,)
        if self.rope:
            found["attn.rope.positions"] = (self.tokens, 1)
            found["attn.rope.freqs"] = (1, d_head // 2)
        if self.causal:
            found["attn.causal"] = (self.tokens, self.tokens)
        return found


WHOLE = ("d_model", "d_ff", "heads", "kv_heads", "d_head", "tokens", "batch", "layers")
FLAGS = ("gated", "bias", "qkv_bias", "rope", "causal")


def of_file(spec: Spec) -> Plan:
    """Make the plan of a file."""
    return Plan(spec, spec.shapes, title=spec.title or "")


AXES: dict[str, tuple[str, ...]] = {
    "tokens": ("token", "query", "key"),
    "batch": ("batch",),
    "d_model": ("d_model", "d_head", "d_v", "d_q", "d_k", "d_qkv", "d_concat", "pair"),
    "d_ff": ("d_ff",),
    "heads": ("head", "kv_head", "d_head", "d_v", "d_q", "d_k", "d_qkv", "d_concat"),
    "layers": (),
}


def resized(plan: Plan, program: Program, axis: str, to: int, of: int = 1) -> Plan:
    """Give a plan in which the length of an axis is multiplied by ``to / of``.

    With ``d_model`` the width of a head changes and the number of heads is kept; with ``heads`` the
    width of a head is kept. The shapes need not fit at that size; see ``fitting``.
    """
    if axis == "layers":
        return replace(plan, layers=plan.layers * to // of)
    shapes: dict[str, Shape] = {}
    rows = "batch" in program.inputs[0].axes
    for ref in program.inputs:
        wanted = (
            n * to // of if a in AXES[axis] else n for a, n in zip(ref.axes, ref.shape, strict=True)
        )
        shape = tuple(wanted)
        by_row = ref.role == "data" or ref.part == "keep"
        shapes[ref.name] = (to // of, *shape) if axis == "batch" and not rows and by_row else shape
    blocks = tuple(_resized(block, axis, to, of) for block in plan.spec.blocks)
    return replace(plan, spec=replace(plan.spec, blocks=blocks), shapes=shapes)


def _resized(block: BlockSpec, axis: str, to: int, of: int) -> BlockSpec:
    def change(attn: AttentionSpec) -> AttentionSpec:
        if axis == "heads":
            heads, few = attn.n_heads * to // of, attn.n_kv_heads * to // of
            attn = replace(attn, n_heads=heads, n_kv_heads=few)
        if axis == "d_model" and attn.rope:
            attn = replace(attn, rope=replace(attn.rope, dims=attn.rope.dims * to // of))
        return attn

    return block.with_attention(change)


def fitting(plan: Plan) -> Program:
    """Build the program of a plan; raise a UsageError if its sizes do not fit."""
    try:
        return program_of(plan.spec, plan.shapes)
    except (Missing, Misfit) as error:
        fault = error.faults[0]
        text = say("plan.misfit", problem=fault.message)
        raise UsageError(Fault(text, hint=fault.hint)) from None


@dataclass(frozen=True)
class Model:
    """A published model.

    Attributes
    ----------
    title, source : str
        Its name, and where its sizes are from.
    sizes : mapping
        The fields of its ``Sizes``.
    outside : callable
        Takes d_model and gives the matrices outside its blocks.
    positions : int
        The number of tokens that it supports; 0 if there is no limit.
    """

    title: str
    source: str
    sizes: Mapping[str, object]
    outside: Callable[[int], tuple[Outside, ...]] = lambda d_model: ()
    positions: int = 0

    def _outside(self, sizes: Sizes, changed: bool) -> Iterator[Outside]:
        """Give the matrices outside; if ``changed``, the final norm has a beta as the sizes say."""
        for matrix in self.outside(sizes.d_model):
            norm, _, part = matrix.name.rpartition(".")
            if norm != "final norm" or not changed:
                yield matrix
            elif part == "gamma":
                yield matrix
                if sizes.bias and NORMS[sizes.norm_kind].shifts:
                    yield replace(matrix, name=f"{norm}.beta")

    def plan(self, **changes: object) -> Plan:
        """Make its plan, with changed sizes. Without biases its norms have no beta either."""
        sizes = Sizes(**{**self.sizes, **changes})  # type: ignore[arg-type]
        outside = tuple(self._outside(sizes, "bias" in changes or "norm_kind" in changes))
        about = {"title": self.title, "source": self.source, "positions": self.positions}
        return sizes.plan(outside=outside, **about)


def with_axes(plan: Plan, sizes: Mapping[str, int]) -> Plan:
    """Give a plan of a file with other numbers of tokens, batch entries or layers.

    A stack has its own layers; a UsageError is raised for others, or if shapes do not fit.
    """
    if "layers" in sizes and len(plan.spec.blocks) > 1:
        raise UsageError(Fault(say("plan.stack_layers")))
    for axis, n in sizes.items():
        program = fitting(plan)
        x = program.inputs[0]
        now = {"tokens": x.shape[-2], "batch": x.shape[0] if len(x.shape) == 3 else 1, "layers": 1}
        plan = resized(plan, program, axis, n, now[axis])
    return plan


def with_lora(plan: Plan, dtype: str, rank: int = 0, names: str | None = None) -> Plan:
    """Give a plan with a dtype of weights, and LoRA on the matrices of some keys.

    By default LoRA adapts w_q and w_v, as in the paper, or the fused matrix that contains both.

    Raises
    ------
    UsageError
        There are names but no rank, or a name is not that of a matrix.
    """
    if names is not None and not rank:
        raise UsageError(Fault(say("plan.lora_rank")))
    whole = [n for n, s in plan.shapes.items() if len(s) == 2 and ".w_" in n]
    there = {n.rpartition(".")[2] for n in whole}
    default = "w_qkv" if "w_qkv" in there else "w_q,w_v"
    keys = tuple(
        name.strip() for name in (default if names is None else names).split(",") if name.strip()
    )
    if rank:
        missing = [key for key in keys if key not in there and key not in whole]
        hint = say("plan.lora_hint", names=listed([*sorted(there), *whole]))
        if not keys:
            raise UsageError(Fault(say("plan.lora_empty"), hint=hint))
        if missing:
            text = say("plan.lora_none", names=", ".join(missing))
            raise UsageError(Fault(text, hint=did_you_mean(missing[0], [*there, *whole]) or hint))
    return replace(plan, dtype=dtype, lora=rank, lora_on=keys)


BITS = {"fp64": 64, "fp32": 32, "bf16": 16, "fp16": 16, "fp8": 8, "int8": 8, "int4": 4}
WEIGHTS_ONLY = ("fp8", "int8", "int4")  # only for weight matrices; all else has 16 bits


@dataclass(frozen=True)
class Outside:
    """A matrix of a model outside its blocks, such as its embedding.

    A ``tied`` one is shared with another matrix; a ``product`` multiplies every token.
    """

    name: str
    shape: Shape
    tied: bool = False
    product: bool = False

    @property
    def count(self) -> int:
        """Count its numbers."""
        return prod(self.shape)


@dataclass(frozen=True)
class Plan:
    """What to count.

    Attributes
    ----------
    spec : Spec
        Its matrices need not exist.
    shapes : mapping
        The shape of every given matrix.
    layers : int
        How many times the model has these blocks.
    outside : tuple of Outside
        Its matrices outside the blocks.
    dtype : str
        The dtype of weight matrices, a key of ``BITS``.
    lora : int
        The rank of LoRA; 0 is none.
    lora_on : tuple of str
        The keys of the adapted matrices, such as ``w_q``, or their full names.
    positions : int
        The number of tokens that a published model supports; 0 if there is no limit.
    title, source : str
        What it is and where its sizes are from; empty if there is nothing to say.
    """

    spec: Spec
    shapes: Mapping[str, Shape]
    layers: int = 1
    outside: tuple[Outside, ...] = ()
    dtype: str = "fp32"
    lora: int = 0
    lora_on: tuple[str, ...] = ("w_q", "w_v")
    positions: int = 0
    title: str = ""
    source: str = ""
