"""The names that errors and help list, from the tables that hold them."""

from __future__ import annotations

from blockcalc.cli.formats import formats_of
from blockcalc.cli.run import EXPORTED
from blockcalc.nn import norms, orders
from blockcalc.program import loss
from blockcalc.views import FORMATS

ORDERS, LOSSES, NORMS = (", ".join(table) for table in (orders.ORDERS, loss.LOSSES, norms.NORMS))


def flags(*parts: str) -> str:
    """List the options of the formats that write one of these parts; by default those of export."""
    return ", ".join(f"--{name}" for name in formats_of(parts or EXPORTED))


def endings(*parts: str) -> str:
    """List the endings of the files of these formats."""
    return ", ".join(dict.fromkeys(FORMATS[name].ending for name in formats_of(parts or EXPORTED)))
