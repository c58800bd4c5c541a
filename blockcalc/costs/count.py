"""Count parameters, operations and bytes of a block from its program, without values.

An operation is an operator or a function in the arithmetic: one multiply-add is two. Bytes
follow from shapes and dtypes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

from blockcalc.costs.closed_form import Form, Forms, times
from blockcalc.costs.kept import kept_results
from blockcalc.costs.plan import BITS, WEIGHTS_ONLY, Plan, fitting
from blockcalc.nn.block import program_of
from blockcalc.nn.settings import AttentionSettings, FfnSettings, NormSettings
from blockcalc.ops.matmul import MatMul
from blockcalc.ops.movement import Repeat
from blockcalc.ops.op import Ref, Shape
from blockcalc.program.program import Equation, Program

GROUPS = ("projections", "scores", "softmax", "ffn", "norms", "residuals", "other")


@dataclass(frozen=True)
class Parameter:
    """A learned matrix or vector.

    ``block`` is the block of a stack that reads it first, ``part`` the section, such as ``attn``;
    ``kind`` is matrix, bias or norm.
    """

    ref: Ref
    block: str
    part: str
    kind: str
    form: Form

    @property
    def count(self) -> int:
        """Count its numbers."""
        return prod(self.ref.shape)


@dataclass(frozen=True)
class StepCost:
    """One step: its operations, and the bytes that it reads and writes.

    Attributes
    ----------
    eq : Equation
    group : str
        One of ``GROUPS``.
    flops : int
        Its operations.
    form, bias : Form or None
        The closed forms of the operations of a matrix product, and of adding its bias; None for
        other steps.
    written, moved : int
        The bytes of its result, and of its operands and its result.
    """

    eq: Equation
    group: str
    flops: int
    form: Form | None
    bias: Form | None
    written: int
    moved: int

    @property
    def product(self) -> int:
        """Give the operations of a matrix product, without its bias; 0 for other steps."""
        return prod(self.eq.out.shape) * 2 * self.eq.inputs[0].shape[-1] if self.form else 0

    @property
    def intensity(self) -> float:
        """Give the operations per byte read and written."""
        return self.flops / self.moved


@dataclass(frozen=True)
class Kept:
    """A result that the backward pass needs, and its bytes."""

    ref: Ref
    bytes: int


@dataclass(frozen=True)
class Adapter:
    """The pair of matrices that LoRA trains for a matrix: ``[in, rank]`` and ``[rank, out]``."""

    name: str
    shape: Shape
    rank: int

    @property
    def count(self) -> int:
        """Count the numbers of both matrices."""
        return self.rank * sum(self.shape)


@dataclass
class Cost:
    """The counts of a plan.

    Examples
    --------
    >>> from blockcalc import load
    >>> attn = {"w_q": [[1], [1]], "w_k": [[1], [1]], "w_v": [[1, 0], [0, 1]]}
    >>> spec = load({"x": [[1, 2]], "attn": attn})
    >>> cost = Cost(Plan(spec, spec.shapes))
    >>> cost.parameters_of(), [step.flops for step in cost.steps][:2]
    (8, [4, 4])
    """

    plan: Plan
    built: Program | None = field(default=None, repr=False)

    @cached_property
    def program(self) -> Program:
        """Give the program that is counted."""
        return self.built or program_of(self.plan.spec, self.plan.shapes)

    @cached_property
    def forms(self) -> Forms:
        """Give the letters of its sizes."""
        return Forms(self.program)

    @property
    def tokens(self) -> int:
        """Count the tokens of all batch entries."""
        return self.forms.sizes.get("B", 1) * self.forms.sizes["T"]

    # parameters ---------------------------------------------------------------------------

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """List the parameters, in the order of use."""
        found: dict[str, Parameter] = {}
        for index, eq in enumerate(self.program.equations):
            for ref in (ref for ref in eq.inputs if ref.role == "weight"):
                if ref.name not in found:
                    form = self.forms.of(ref.axes, ref.shape)
                    found[ref.name] = Parameter(ref, *_home(self.program, index), _kind(ref), form)
        return tuple(found.values())

    def parameters_of(self, part: str = "", kind: str = "") -> int:
        """Count the parameters of the blocks in the program, or those of a part or kind."""
        return sum(
            p.count for p in self.parameters if part in ("", p.part) and kind in ("", p.kind)
        )

    @property
    def parameters_of_all(self) -> int:
        """Count the parameters of the model: all layers, and the matrices outside them."""
        outside = sum(o.count for o in self.plan.outside if not o.tied)
        return self.parameters_of() * self.plan.layers + outside

    @property
    def adapters(self) -> tuple[Adapter, ...]:
        """List the LoRA matrices of the blocks in the program."""
        if not self.plan.lora:
            return ()
        chosen = set(self.plan.lora_on)
        return tuple(
            Adapter(p.ref.name, p.ref.shape, self.plan.lora)
            for p in self.parameters
            if p.kind == "matrix" and {p.ref.name, p.ref.name.rpartition(".")[2]} & chosen
        )

    @property
    def adapter_parameters(self) -> int:
        """Count the parameters of LoRA, for all layers."""
        return sum(a.count for a in self.adapters) * self.plan.layers

    # operations ---------------------------------------------------------------------------

    @cached_property
    def steps(self) -> tuple[StepCost, ...]:
        """Count every step."""
        return tuple(self._steps())

    def _steps(self) -> Iterator[StepCost]:
        for index, eq in enumerate(self.program.equations):
            section = self.program.top_section_of(index)
            group = _group(eq, section.settings if section else None)
            flops = eq.op.flops(eq.inputs)
            form = bias = None
            if isinstance(eq.op, MatMul) and group != "other":
                inner = self.forms.axis(eq.inputs[0].axes[-1], eq.inputs[0].shape[-1])
                outer = self.forms.of(eq.out.axes, eq.out.shape)
                form = self.forms.reduced(times({(): 2}, outer, inner))
                bias = outer if len(eq.inputs) == 3 else {}
            written = self.bytes_of(eq.out)
            moved = written + sum(map(self.bytes_of, eq.inputs))
            yield StepCost(eq, group, flops, form, bias, written, moved)

    def flops_of(self, *groups: str, products: bool = False) -> int:
        """Count the operations of all blocks; with ``products`` only those of matrix products."""
        return sum(
            s.product if products else s.flops
            for s in self.steps
            if not groups or s.group in groups
        )

    @property
    def flops_of_all(self) -> int:
        """Count the operations of the model: all layers, and the products outside them."""
        outside = sum(2 * self.tokens * o.count for o in self.plan.outside if o.product)
        return self.flops_of() * self.plan.layers + outside

    # bytes --------------------------------------------------------------------------------

    @property
    def other_bits(self) -> int:
        """Give the bits of all numbers that are not in weight matrices."""
        return 16 if self.plan.dtype in WEIGHTS_ONLY else BITS[self.plan.dtype]

    def bytes_of(self, ref: Ref) -> int:
        """Count the bytes of a matrix."""
        if ref.role == "mask" or ref.part in ("keep", "allowed"):
            return prod(ref.shape)
        matrix = ref.role == "weight" and len(ref.shape) == 2
        bits = BITS[self.plan.dtype] if matrix else self.other_bits
        return -(-prod(ref.shape) * bits // 8)

    @property
    def weight_bytes(self) -> int:
        """Count the bytes of all parameters of the model."""
        outside = sum(o.count * self.other_bits // 8 for o in self.plan.outside if not o.tied)
        return sum(self.bytes_of(p.ref) for p in self.parameters) * self.plan.layers + outside

    @property
    def intermediate_bytes(self) -> int:
        """Count the bytes of all results of the blocks in the program."""
        return sum(step.written for step in self.steps)

    @property
    def score_bytes(self) -> int:
        """Count the bytes of the scores of the blocks in the program, ``[B, H, T, T]`` each."""
        return sum(s.written for s in self.steps if s.eq.out.part == "scores")

    @property
    def cache_bytes(self) -> int:
        """Count the bytes of the KV cache of all layers."""
        return self.plan.layers * sum(self.bytes_of(ref) for ref in self._cached())

    def _cached(self) -> Iterator[Ref]:
        """Find the cached keys and values: after RoPE, before they are repeated for query heads."""
        for section in self.program.top_sections():
            equations = self.program.equations[section.first : section.last]
            if any(eq.out.part == "scores" for eq in equations):
                refs = [eq.out for eq in equations if not isinstance(eq.op, Repeat)]
                for part in ("key", "value"):
                    yield [ref for ref in refs if ref.part == part][-1]

    @cached_property
    def kept(self) -> tuple[Kept, ...]:
        """List the results that the backward pass of the blocks needs, each once."""
        found: dict[str, Ref] = {}
        trained = {a.name for a in self.adapters} if self.plan.lora else None
        for ref in kept_results(self.program, trained):
            found.setdefault(ref.name, ref)
        return tuple(Kept(ref, self.bytes_of(ref)) for ref in found.values())

    @property
    def kept_bytes(self) -> int:
        """Count the bytes kept for the backward pass, for all layers."""
        return sum(k.bytes for k in self.kept) * self.plan.layers

    @property
    def training(self) -> dict[str, int]:
        """Count the bytes of training with AdamW.

        Gradients have the type of the weights; the two moments are fp32, and weights of 16 bits
        have a copy in fp32. With LoRA only the low-rank matrices have gradients and moments.
        """
        adapters = self.adapter_parameters
        trained = adapters if self.plan.lora else self.parameters_of_all
        size = self.other_bits // 8
        wide = 4 if size == 2 else 0
        return {
            "weights": self.weight_bytes + adapters * size,
            "gradients": trained * size,
            "optimizer": trained * (2 * max(size, 4) + wide),
            "kept": self.kept_bytes,
        }


def counted(plan: Plan) -> Cost:
    """Count a plan whose sizes may not fit.

    Raises
    ------
    UsageError
        They do not fit.
    """
    return Cost(plan, fitting(plan))


def _home(program: Program, index: int) -> tuple[str, str]:
    """Give the block and the section of an equation, the section without the name of the block."""
    block, section = program.block_of(index), program.top_section_of(index)
    outer, name = block.name if block else "", section.name if section else ""
    return outer, name.removeprefix(f"{outer}.")


def _kind(ref: Ref) -> str:
    """Give the kind of a parameter: a gamma or beta is of a norm."""
    return ref.part if ref.part in ("matrix", "bias") else "norm"


def _group(eq: Equation, settings: object) -> str:
    """Give the group of a step, by the settings of its section."""
    weights = any(ref.role == "weight" for ref in eq.inputs)
    if isinstance(settings, AttentionSettings):
        if isinstance(eq.op, MatMul):
            constant = any(ref.role == "constant" for ref in eq.inputs)
            return "projections" if weights else "other" if constant else "scores"
        return "softmax" if "query" in eq.out.axes else "other"
    if isinstance(settings, NormSettings):
        return "norms"
    if eq.out.part == "residual":
        return "residuals"
    return "ffn" if isinstance(settings, FfnSettings) else "other"
