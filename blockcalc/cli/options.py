"""The options shared by several commands."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

import typer

from blockcalc.messages import say
from blockcalc.nn.orders import ORDERS


class Order(StrEnum):
    """The words of ``--norm``: the orders."""

    _ignore_ = "members key"
    members = vars()
    for key in ORDERS:
        members[key] = key


class Detail(StrEnum):
    """The words of ``--detail``."""

    tables = "tables"
    normal = "normal"
    cells = "cells"


class Color(StrEnum):
    """The words of ``--color``."""

    auto = "auto"
    always = "always"
    never = "never"


class ErrorFormat(StrEnum):
    """The words of ``--error-format``."""

    text = "text"
    json = "json"


def words(kind: type[StrEnum]) -> str:
    """Write the words of an option for its help.

    Examples
    --------
    >>> words(Order)
    'post|pre'
    """
    return "|".join(kind)


Formats = Mapping[str, bool] | None  # a flag for each: see ``with_formats``
FileArg = Annotated[str | None, typer.Argument(metavar="FILE", help=say("help.file"))]
NormOpt = Annotated[
    Order | None, typer.Option("--norm", metavar=words(Order), help=say("help.norm"))
]
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
AllOpt = Annotated[bool, typer.Option("--all", help=say("help.all"))]
NoProseOpt = Annotated[bool, typer.Option("--no-prose", help=say("help.no_prose"))]
ColorOpt = Annotated[Color, typer.Option("--color", metavar=words(Color), help=say("help.color"))]
NoColorOpt = Annotated[bool, typer.Option("--no-color", help=say("help.no_color"))]
ErrorOpt = Annotated[
    ErrorFormat,
    typer.Option("--error-format", metavar=words(ErrorFormat), help=say("help.error_format")),
]
DebugOpt = Annotated[bool, typer.Option("--debug", help=say("help.debug"))]
