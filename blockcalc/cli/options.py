"""The options shared by several commands."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

import typer

from blockcalc.explain.depth import Detail
from blockcalc.messages import known, say
from blockcalc.messages.words import clauses
from blockcalc.nn.orders import ORDERS
from blockcalc.program.loss import LOSSES
from blockcalc.views import FORMATS


class Order(StrEnum):
    """The words of ``--norm``: the orders."""

    _ignore_ = "members key"
    members = vars()
    for key in ORDERS:
        members[key] = key


class LossKind(StrEnum):
    """The words of ``--loss``."""

    _ignore_ = "members key"
    members = vars()
    for key in LOSSES:
        members[key] = key


class Color(StrEnum):
    """The words of ``--color``."""

    auto = "auto"
    always = "always"
    never = "never"


class TokensForm(StrEnum):
    """The words of ``--form``: whether a token is a row or a column."""

    row = "row"
    column = "column"


class ErrorFormat(StrEnum):
    """The words of ``--error-format``."""

    text = "text"
    json = "json"


def words(kind: type[StrEnum]) -> str:
    """Write the words of an option for its help.

    Examples
    --------
    >>> words(StrEnum("Side", ["LEFT", "RIGHT"]))
    'left|right'
    """
    return "|".join(kind)


def _losses() -> str:
    """List the kinds of losses, each with what it is if it has such a text."""
    texts = {kind: f"help.loss.{kind}" for kind in LOSSES}
    comma = say("words.comma")
    return clauses(
        f"{kind}{comma}{say(key)}" if known(key) else kind for kind, key in texts.items()
    )


FIRST, SECOND, *_ = ORDERS
SHADED = ", ".join(f"--{name}" for name, form in FORMATS.items() if form.shades)
FRAMED = ", ".join(f"--{name}" for name, form in FORMATS.items() if form.document)

# the types of parameters, one for each option ----------------------------------------------------


def _file_of(word: str | None) -> str | None:
    """Give the file that an argument names; ``@tiny`` is a sample."""
    if word is None:
        return None
    from blockcalc.docs.samples import file_of

    return file_of(word)


Formats = Mapping[str, bool] | None  # a flag for each: see ``with_formats``
FileArg = Annotated[
    str | None, typer.Argument(metavar="FILE", help=say("help.file"), callback=_file_of)
]
NormOpt = Annotated[
    Order | None, typer.Option("--norm", metavar=words(Order), help=say("help.norm"))
]
LossOpt = Annotated[
    LossKind | None,
    typer.Option("--loss", metavar=words(LossKind), help=say("help.loss", kinds=_losses())),
]
ChainOpt = Annotated[bool, typer.Option("--chain", help=say("help.chain"))]
RateOpt = Annotated[str | None, typer.Option("--lr", metavar="NUMBER", help=say("help.lr"))]
EpsOpt = Annotated[str | None, typer.Option("--eps", metavar="NUMBER", help=say("help.eps"))]
SetOpt = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help=say("help.set"))
]
RoundOpt = Annotated[str | None, typer.Option("--round", metavar="N|Nsf", help=say("help.round"))]
DetailOpt = Annotated[
    Detail, typer.Option("--detail", metavar=words(Detail), help=say("help.detail"))
]
StepsOpt = Annotated[
    list[str] | None, typer.Option("--steps", metavar="NAMES", help=say("help.steps"))
]
DigitsOpt = Annotated[
    int, typer.Option("--digits", metavar="N", min=1, max=17, help=say("help.digits"))
]
VerifyOpt = Annotated[bool, typer.Option("--verify", help=say("help.verify"))]
AllOpt = Annotated[bool, typer.Option("--all", help=say("help.all"))]
NoProseOpt = Annotated[bool, typer.Option("--no-prose", help=say("help.no_prose"))]
RowOpt = Annotated[str | None, typer.Option("--row", metavar="TOKEN", help=say("help.row"))]
CellOpt = Annotated[str | None, typer.Option("--cell", metavar="N,N", help=say("help.cell"))]
BriefOpt = Annotated[bool, typer.Option("--brief", help=say("help.brief"))]
HeatOpt = Annotated[bool, typer.Option("--heat", help=say("help.heat"))]
ShadeOpt = Annotated[bool, typer.Option("--heat", help=say("help.export.heat", names=SHADED))]
ColorOpt = Annotated[Color, typer.Option("--color", metavar=words(Color), help=say("help.color"))]
NoColorOpt = Annotated[bool, typer.Option("--no-color", help=say("help.no_color"))]
NoPagerOpt = Annotated[bool, typer.Option("--no-pager", help=say("help.no_pager"))]
ErrorOpt = Annotated[
    ErrorFormat,
    typer.Option("--error-format", metavar=words(ErrorFormat), help=say("help.error_format")),
]
DebugOpt = Annotated[bool, typer.Option("--debug", help=say("help.debug"))]


def _size(key: str) -> Any:
    """Make an option for a size, a whole number from 1."""
    return typer.Option(f"--{key.replace('_', '-')}", metavar="N", min=1, help=say(f"help.{key}"))


DModelOpt = Annotated[int | None, _size("d_model")]
DFfOpt = Annotated[int | None, _size("d_ff")]
HeadsOpt = Annotated[int | None, _size("heads")]
KvHeadsOpt = Annotated[int | None, _size("kv_heads")]
DHeadOpt = Annotated[int | None, _size("d_head")]
TokensOpt = Annotated[int | None, _size("tokens")]
BatchOpt = Annotated[int | None, _size("batch")]
LayersOpt = Annotated[int | None, _size("layers")]
PresetOpt = Annotated[str | None, typer.Option("--preset", metavar="NAME", help=say("help.preset"))]
GatedOpt = Annotated[bool | None, typer.Option("--gated/--plain", help=say("help.gated"))]
NormKindOpt = Annotated[
    str | None, typer.Option("--norm-kind", metavar="NAME", help=say("help.norm_kind"))
]
BiasOpt = Annotated[bool | None, typer.Option("--bias/--no-bias", help=say("help.bias"))]


def _wanted(key: str) -> Any:
    """Make an option for a size of a file to fill in, small enough to be filled in by hand."""
    text = say(f"help.new.{key}")
    return typer.Option(f"--{key.replace('_', '-')}", metavar="N", min=1, max=64, help=text)


NewTokensOpt = Annotated[int, _wanted("tokens")]
NewDModelOpt = Annotated[int, _wanted("d_model")]
NewHeadsOpt = Annotated[int, _wanted("heads")]
NewDFfOpt = Annotated[int | None, _wanted("d_ff")]
StyleOpt = Annotated[
    str,
    typer.Option(
        "--style", metavar="NAME", help=say("help.new.style", names="post, pre, gpt2, bert, llama")
    ),
]
OutputOpt = Annotated[
    str | None, typer.Option("--output", "-o", metavar="PATH", help=say("help.output"))
]
ForceOpt = Annotated[bool, typer.Option("--force", help=say("help.force"))]
OtherArg = Annotated[
    str | None,
    typer.Argument(
        metavar="OTHER",
        help=say("help.other", first=FIRST, second=SECOND),
        callback=_file_of,
    ),
]
GradOpt = Annotated[bool, typer.Option("--grad", help=say("help.export.grad"))]
GuessOpt = Annotated[bool, typer.Option("--guess", help=say("help.step.guess"))]
FragmentOpt = Annotated[bool, typer.Option("--fragment", help=say("help.fragment", names=FRAMED))]
NumericOpt = Annotated[bool, typer.Option("--numeric", help=say("help.numeric"))]
DepthsOpt = Annotated[str | None, typer.Option("--depths", metavar="N,N", help=say("help.depths"))]
DtypeOpt = Annotated[str, typer.Option("--dtype", metavar="NAME", help=say("help.dtype"))]
DoubleOpt = Annotated[str | None, typer.Option("--double", metavar="AXIS", help=say("help.double"))]
LoraOpt = Annotated[int, typer.Option("--lora", min=0, metavar="RANK", help=say("help.lora"))]
LoraOnOpt = Annotated[
    str | None, typer.Option("--lora-on", metavar="NAMES", help=say("help.lora_on"))
]
CopyOpt = Annotated[
    str | None, typer.Option("--copy", metavar="DIR", help=say("help.samples.copy"))
]
ModelArg = Annotated[str, typer.Argument(metavar="DIR_OR_FILE", help=say("help.import.model"))]
LayerOpt = Annotated[
    int | None, typer.Option("--layer", metavar="N", min=0, help=say("help.import.layer"))
]
AllLayersOpt = Annotated[bool, typer.Option("--all-layers", help=say("help.import.all"))]
DrawnOpt = Annotated[
    int, typer.Option("--tokens", metavar="N", min=1, max=4096, help=say("help.import.tokens"))
]
WeightsArg = Annotated[str, typer.Argument(metavar="FILE", help=say("help.weights.file"))]
PageArg = Annotated[str | None, typer.Argument(metavar="NAME", help=say("help.docs.name"))]
AnswersArg = Annotated[
    list[str] | None, typer.Argument(metavar="ANSWERS", help=say("help.check.answers"))
]
MapOpt = Annotated[str | None, typer.Option("--map", metavar="FILE", help=say("help.check.map"))]
NumbersOpt = Annotated[
    str | None, typer.Option("--dtype", metavar="NAME", help=say("help.check.dtype"))
]
LayerOfOpt = Annotated[
    int | None, typer.Option("--layer", metavar="N", min=0, help=say("help.check.layer"))
]
ToleranceOpt = Annotated[
    str | None, typer.Option("--tolerance", metavar="ABS", help=say("help.check.tolerance"))
]
ScoreOpt = Annotated[bool, typer.Option("--score", help=say("help.check.score"))]
BlankOpt = Annotated[bool, typer.Option("--blank", help=say("help.check.blank"))]
PowerOpt = Annotated[bool, typer.Option("--power", help=say("help.check.power"))]
AsJsonOpt = Annotated[bool, typer.Option("--json", help=say("help.mistakes.json"))]
TeachBlanksOpt = Annotated[
    int | None,
    typer.Option("--blanks", metavar="N", min=1, help=say("help.teach.blanks", blanks=8, steps=3)),
]
StepsOfOpt = Annotated[
    list[str] | None, typer.Option("--steps", metavar="NAMES", help=say("help.teach.steps"))
]
SeedOpt = Annotated[int, typer.Option("--seed", min=0, metavar="N", help=say("help.teach.seed"))]
LevelEasyOpt = Annotated[bool, typer.Option("--easy", help=say("help.teach.easy"))]
LevelHardOpt = Annotated[bool, typer.Option("--hard", help=say("help.teach.hard"))]
FormOpt = Annotated[
    TokensForm, typer.Option("--form", metavar=words(TokensForm), help=say("help.teach.form"))
]
KeyOpt = Annotated[bool, typer.Option("--key", help=say("help.teach.key"))]
SheetOutputOpt = Annotated[
    str | None, typer.Option("--output", "-o", metavar="PATH", help=say("help.teach.output"))
]
