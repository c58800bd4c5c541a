"""Compute a Transformer block by hand: every step with its formula, arithmetic and numbers.

>>> import blockcalc
>>> trace = blockcalc.run({"x": [[1.0, 3.0]], "attn": {"out": [[1, 1]]}, "norm1": {"eps": 0}})
>>> trace["residual1"]
array([[2., 4.]])
"""

from __future__ import annotations

TYPE_CHECKING = False  # without the typing module, to keep start-up fast

if TYPE_CHECKING:
    from typing import Any

    from blockcalc.api import compare, cost, grad, judge, load, loads, run, sample
    from blockcalc.errors import BlockcalcError, InputError, LookupFault, UsageError, WriteError
    from blockcalc.messages import set_language
    from blockcalc.notebook.checked import Checked
    from blockcalc.notebook.spec import Spec
    from blockcalc.notebook.trace import Trace

__version__ = "0.1.0"

__all__ = [
    "BlockcalcError",
    "Checked",
    "InputError",
    "LookupFault",
    "Spec",
    "Trace",
    "UsageError",
    "WriteError",
    "__version__",
    "compare",
    "cost",
    "grad",
    "judge",
    "load",
    "loads",
    "run",
    "sample",
    "set_language",
]

_HOMES = {
    **dict.fromkeys(
        ("BlockcalcError", "InputError", "LookupFault", "UsageError", "WriteError"), "errors"
    ),
    "Checked": "notebook.checked",
    "set_language": "messages",
    "Spec": "notebook.spec",
    "Trace": "notebook.trace",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that ``--help`` does not import NumPy."""
    if name in __all__:
        from importlib import import_module

        return getattr(import_module(f"blockcalc.{_HOMES.get(name, 'api')}"), name)
    raise AttributeError(f"module 'blockcalc' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
