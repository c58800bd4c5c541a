"""Work a Transformer block by hand: every step with its formula, arithmetic and numbers.

>>> import blockcalc
>>> spec = blockcalc.load({"x": [[1.0, 3.0]], "attn": {"out": [[1, 1]]}, "norm1": {"eps": 0}})
>>> trace = blockcalc.run(spec)
>>> trace["residual1"]
array([[2., 4.]])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from blockcalc.errors import BlockcalcError
    from blockcalc.nn.block import build
    from blockcalc.nn.run import run
    from blockcalc.nn.spec import Spec
    from blockcalc.program.program import Program
    from blockcalc.program.trace import Trace
    from blockcalc.reading.load import load

__version__ = "0.1.0"

__all__ = ["BlockcalcError", "Program", "Spec", "Trace", "__version__", "build", "load", "run"]

_ROOMS = {
    "BlockcalcError": "errors",
    "Program": "program.program",
    "Spec": "nn.spec",
    "Trace": "program.trace",
    "build": "nn.block",
    "load": "reading.load",
    "run": "nn.run",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: ``--help`` needs no NumPy."""
    if name in _ROOMS:
        from importlib import import_module

        return getattr(import_module(f"blockcalc.{_ROOMS[name]}"), name)
    raise AttributeError(f"module 'blockcalc' has no attribute {name!r}")
