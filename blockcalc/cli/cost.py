"""The commands ``shapes`` and ``cost``. No values are computed, so only shapes are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from blockcalc.cli.formats import with_formats
from blockcalc.cli.options import (
    Color,
    ColorOpt,
    DebugOpt,
    ErrorFormat,
    ErrorOpt,
    FileArg,
    Formats,
    NoColorOpt,
    NormOpt,
    Order,
    SetOpt,
)
from blockcalc.cli.output import send
from blockcalc.errors import Fault, UsageError
from blockcalc.messages import say
from blockcalc.shell.argv import Command

if TYPE_CHECKING:
    from blockcalc.costs.plan import Plan
    from blockcalc.explain.document import Document


DModelOpt = Annotated[
    int | None, typer.Option("--d-model", metavar="N", min=1, help=say("help.d_model"))
]
DFfOpt = Annotated[int | None, typer.Option("--d-ff", metavar="N", min=1, help=say("help.d_ff"))]
HeadsOpt = Annotated[
    int | None, typer.Option("--heads", metavar="N", min=1, help=say("help.heads"))
]
KvHeadsOpt = Annotated[
    int | None, typer.Option("--kv-heads", metavar="N", min=1, help=say("help.kv_heads"))
]
DHeadOpt = Annotated[
    int | None, typer.Option("--d-head", metavar="N", min=1, help=say("help.d_head"))
]
TokensOpt = Annotated[
    int | None, typer.Option("--tokens", metavar="N", min=1, help=say("help.tokens"))
]
BatchOpt = Annotated[
    int | None, typer.Option("--batch", metavar="N", min=1, help=say("help.batch"))
]
LayersOpt = Annotated[
    int | None, typer.Option("--layers", metavar="N", min=1, help=say("help.layers"))
]
PresetOpt = Annotated[str | None, typer.Option("--preset", metavar="NAME", help=say("help.preset"))]
GatedOpt = Annotated[bool | None, typer.Option("--gated/--plain", help=say("help.gated"))]
NormKindOpt = Annotated[
    str | None, typer.Option("--norm-kind", metavar="layer|rms", help=say("help.norm_kind"))
]
BiasOpt = Annotated[bool | None, typer.Option("--bias/--no-bias", help=say("help.bias"))]
OutputOpt = Annotated[
    str | None, typer.Option("--output", "-o", metavar="PATH", help=say("help.output"))
]
ForceOpt = Annotated[bool, typer.Option("--force", help=say("help.force"))]


RESIZED = ("tokens", "batch", "layers")  # the sizes of a file that options can override


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command(help=say("help.shapes"), cls=Command)(shapes)
    app.command(help=say("help.cost"), cls=Command)(cost)


@with_formats(("pieces", "data"), "help.cost")
def shapes(
    file: FileArg = None,
    preset: PresetOpt = None,
    norm: NormOpt = None,
    sets: SetOpt = None,
    d_model: DModelOpt = None,
    d_ff: DFfOpt = None,
    heads: HeadsOpt = None,
    kv_heads: KvHeadsOpt = None,
    d_head: DHeadOpt = None,
    tokens: TokensOpt = None,
    batch: BatchOpt = None,
    gated: GatedOpt = None,
    norm_kind: NormKindOpt = None,
    bias: BiasOpt = None,
    asked: Formats = None,
    output: OutputOpt = None,
    force: ForceOpt = False,
    color: ColorOpt = Color.auto,
    no_color: NoColorOpt = False,
    error_format: ErrorOpt = ErrorFormat.text,
    debug: DebugOpt = False,
) -> None:
    """Show the shapes of every step."""
    wanted = {"d_model": d_model, "d_ff": d_ff, "heads": heads, "kv_heads": kv_heads, "d_head": d_head,
              "tokens": tokens, "batch": batch, "gated": gated, "norm_kind": norm_kind, "bias": bias}  # fmt: skip
    plan = _plan(file, preset, norm, sets, wanted)
    from blockcalc.costs.data import shapes_data
    from blockcalc.costs.shapes import shape_pieces
    from blockcalc.explain.document import Document

    document = Document(lambda: shape_pieces(plan), lambda: shapes_data(plan))
    _give(document, asked or {}, output, force, color, no_color)


@with_formats(("pieces", "data"), "help.cost")
def cost(
    file: FileArg = None,
    preset: PresetOpt = None,
    norm: NormOpt = None,
    sets: SetOpt = None,
    d_model: DModelOpt = None,
    d_ff: DFfOpt = None,
    heads: HeadsOpt = None,
    kv_heads: KvHeadsOpt = None,
    d_head: DHeadOpt = None,
    tokens: TokensOpt = None,
    batch: BatchOpt = None,
    layers: LayersOpt = None,
    gated: GatedOpt = None,
    norm_kind: NormKindOpt = None,
    bias: BiasOpt = None,
    dtype: Annotated[str, typer.Option("--dtype", metavar="NAME", help=say("help.dtype"))] = "fp32",
    double: Annotated[
        str | None, typer.Option("--double", metavar="AXIS", help=say("help.double"))
    ] = None,
    lora: Annotated[int, typer.Option("--lora", min=0, metavar="RANK", help=say("help.lora"))] = 0,
    lora_on: Annotated[
        str | None, typer.Option("--lora-on", metavar="NAMES", help=say("help.lora_on"))
    ] = None,
    asked: Formats = None,
    output: OutputOpt = None,
    force: ForceOpt = False,
    color: ColorOpt = Color.auto,
    no_color: NoColorOpt = False,
    error_format: ErrorOpt = ErrorFormat.text,
    debug: DebugOpt = False,
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
    wanted = {"d_model": d_model, "d_ff": d_ff, "heads": heads, "kv_heads": kv_heads, "d_head": d_head,
              "tokens": tokens, "batch": batch, "layers": layers, "gated": gated, "norm_kind": norm_kind,
              "bias": bias}  # fmt: skip
    plan = with_lora(_plan(file, preset, norm, sets, wanted), dtype, lora, lora_on)
    from blockcalc.costs.data import cost_data
    from blockcalc.costs.explain import cost_pieces
    from blockcalc.explain.document import Document

    document = Document(lambda: cost_pieces(plan, axis), lambda: cost_data(plan, axis))
    _give(document, asked or {}, output, force, color, no_color)


def _plan(
    file: str | None,
    preset: str | None,
    norm: Order | None,
    sets: list[str] | None,
    wanted: dict[str, Any],
) -> Plan:
    """Make the plan: from a file, a published model, or given sizes."""
    from blockcalc.costs.plan import Sizes, of_file, with_axes
    from blockcalc.docs import samples as embedded
    from blockcalc.messages.words import did_you_mean
    from blockcalc.nn.norms import NORMS

    sizes = {key: value for key, value in wanted.items() if value is not None}
    if norm is not None:
        sizes["order"] = norm.value
    if sizes.get("norm_kind", "layer") not in NORMS:
        kind, kinds = sizes["norm_kind"], list(NORMS)
        text = say("plan.norm_kind", word=kind, known=" or ".join(kinds))
        raise UsageError(Fault(text, hint=did_you_mean(kind, kinds)))
    if file is not None and preset is not None:
        raise UsageError(Fault(say("cli.formats_two", names="FILE, --preset")))
    if preset is not None:
        return _preset(preset, sets, sizes)
    if file is None and set(sizes) - {"order", *RESIZED} and not sets:
        return Sizes(**sizes).plan()
    order = sizes.pop("order", None)
    odd = [f"--{key.replace('_', '-')}" for key in sizes if key not in RESIZED]
    if odd:
        raise UsageError(Fault(say("plan.file_sizes", options=", ".join(odd))))
    from blockcalc.reading.load import load
    from blockcalc.reading.overrides import parse_sets

    pairs = parse_sets(sets or [], {"norm.order": order})
    name = embedded.default() if file is None else file
    spec = load(name, pairs, [order] if order else [], shapes_only=True)
    return with_axes(of_file(spec), sizes)


def _preset(preset: str, sets: list[str] | None, sizes: dict[str, Any]) -> Plan:
    from blockcalc.costs.presets import PRESETS

    if sets:
        raise UsageError(Fault(say("cli.formats_two", names="--preset, --set")))
    if preset not in PRESETS:
        from blockcalc.messages.words import did_you_mean

        text = say("plan.preset", word=preset, known=", ".join(PRESETS))
        raise UsageError(Fault(text, hint=did_you_mean(preset, list(PRESETS))))
    return PRESETS[preset].plan(**sizes)


def _give(
    document: Document,
    asked: Mapping[str, bool],
    output: str | None,
    force: bool,
    color: Color,
    no_color: bool,
) -> None:
    """Show a document in the terminal, or write it."""
    if output is None and not any(asked.values()):
        from blockcalc.views.screen import make_console
        from blockcalc.views.terminal import Terminal

        Terminal(make_console("never" if no_color else color.value)).print(document.pieces())
        return
    from blockcalc.views import choose_format

    chosen = choose_format(asked, output)
    send(chosen.write(document), output, force)
