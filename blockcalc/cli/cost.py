"""The commands ``shapes`` and ``cost``. No values are computed, so only shapes are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

from blockcalc.cli.formats import with_formats
from blockcalc.cli.inputs import Errors, Screen, Writing, stem_of, waiting
from blockcalc.cli.options import (
    BatchOpt,
    BiasOpt,
    DFfOpt,
    DHeadOpt,
    DModelOpt,
    DoubleOpt,
    DtypeOpt,
    FileArg,
    Formats,
    GatedOpt,
    HeadsOpt,
    KvHeadsOpt,
    LayersOpt,
    LoraOnOpt,
    LoraOpt,
    NormKindOpt,
    NormOpt,
    PresetOpt,
    SetOpt,
    TokensOpt,
)
from blockcalc.errors import Fault, UsageError
from blockcalc.messages import say
from blockcalc.shell.groups import Without, grouped

if TYPE_CHECKING:
    from blockcalc.costs.plan import Plan
    from blockcalc.explain.document import Document


RESIZED = ("tokens", "batch", "layers")  # the sizes of a file that options can override


@dataclass(eq=False, repr=False)
class Counted:
    """The options that say what is counted: a file, a published model, or given sizes."""

    file: FileArg = None
    preset: PresetOpt = None
    norm: NormOpt = None
    sets: SetOpt = None
    d_model: DModelOpt = None
    d_ff: DFfOpt = None
    heads: HeadsOpt = None
    kv_heads: KvHeadsOpt = None
    d_head: DHeadOpt = None
    tokens: TokensOpt = None
    batch: BatchOpt = None
    layers: LayersOpt = None
    gated: GatedOpt = None
    norm_kind: NormKindOpt = None
    bias: BiasOpt = None

    def sizes(self) -> dict[str, Any]:
        """Collect the given sizes and the order as arguments of ``Sizes``."""
        others = ("file", "preset", "norm", "sets")
        names = [field.name for field in fields(self) if field.name not in others]
        found = {name: getattr(self, name) for name in names}
        found["order"] = self.norm.value if self.norm else None
        return {key: value for key, value in found.items() if value is not None}

    @property
    def name(self) -> str:
        """Name what is counted, for the names of files."""
        given = self.sizes().keys() - {"order", *RESIZED}
        return self.preset or ("block" if given and self.file is None else stem_of(self.file))

    def plan(self) -> Plan:
        """Make the plan.

        Raises
        ------
        UsageError
            Options exclude each other, or a word is unknown.
        """
        from blockcalc.costs.plan import Sizes, of_file, with_axes
        from blockcalc.docs import samples as embedded

        sizes = self.sizes()
        if self.file is not None and self.preset is not None:
            raise UsageError(Fault(say("cli.formats_two", names="FILE, --preset")))
        if self.preset is not None:
            return _preset(self.preset, self.sets, sizes)
        if self.file is None and set(sizes) - {"order", *RESIZED} and not self.sets:
            return Sizes(**sizes).plan()
        order = sizes.pop("order", None)
        odd = [f"--{key.replace('_', '-')}" for key in sizes if key not in RESIZED]
        if odd:
            raise UsageError(Fault(say("plan.file_sizes", options=", ".join(odd))))
        from blockcalc.reading.load import load
        from blockcalc.reading.overrides import parse_sets

        pairs = parse_sets(self.sets or [], {"norm.order": order})
        name = embedded.default() if self.file is None else self.file
        with waiting(self.file):
            spec = load(name, pairs, [order] if order else [], shapes_only=True)
        return with_axes(of_file(spec), sizes)


def _preset(preset: str, sets: list[str] | None, sizes: dict[str, Any]) -> Plan:
    from blockcalc.costs.presets import published

    if sets:
        raise UsageError(Fault(say("cli.formats_two", names="--preset, --set")))
    return published(preset).plan(**sizes)


@with_formats(("pieces", "data"), "help.cost")
@grouped
def shapes(
    *,
    counted: Annotated[Counted, Without("layers")],
    asked: Formats = None,
    writing: Writing,
    screen: Screen,
    errors: Errors,
) -> None:
    """Show the shapes of every step."""
    plan = counted.plan()
    from blockcalc.costs.data import shapes_data
    from blockcalc.costs.shapes import shape_pieces
    from blockcalc.explain.document import Document

    document = Document(lambda: shape_pieces(plan), lambda: shapes_data(plan))
    _give(document, asked or {}, writing, screen, counted.name)


@with_formats(("pieces", "data"), "help.cost")
@grouped
def cost(
    *,
    counted: Counted,
    dtype: DtypeOpt = "fp32",
    double: DoubleOpt = None,
    lora: LoraOpt = 0,
    lora_on: LoraOnOpt = None,
    asked: Formats = None,
    writing: Writing,
    screen: Screen,
    errors: Errors,
) -> None:
    """Count parameters, operations and bytes."""
    from blockcalc.costs.plan import AXES, BITS, with_lora
    from blockcalc.messages.words import did_you_mean

    axis = double.replace("-", "_") if double else None
    if axis is not None and axis not in AXES:
        text = say("plan.axis", known=", ".join(AXES), word=double)
        raise UsageError(Fault(text, hint=did_you_mean(axis, list(AXES))))
    if dtype not in BITS:
        text = say("plan.dtype", known=", ".join(BITS), word=dtype)
        raise UsageError(Fault(text, hint=did_you_mean(dtype, list(BITS))))
    plan = with_lora(counted.plan(), dtype, lora, lora_on)
    from blockcalc.costs.data import cost_data
    from blockcalc.costs.explain import cost_pieces
    from blockcalc.explain.document import Document

    document = Document(lambda: cost_pieces(plan, axis), lambda: cost_data(plan, axis))
    _give(document, asked or {}, writing, screen, counted.name)


def _give(
    document: Document, asked: Mapping[str, bool], writing: Writing, screen: Screen, name: str
) -> None:
    """Show a document in the terminal, or write it."""
    if writing.output is None and not any(asked.values()):
        screen.show(screen.terminal(), document.pieces())
        return
    writing.write(document, writing.formats(asked), name)
