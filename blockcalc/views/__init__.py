"""One file a format; a view decides layout, never content and never digits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from blockcalc.errors import Fault, UsageError
from blockcalc.messages import say

if TYPE_CHECKING:
    from blockcalc.explain.depth import Depth
    from blockcalc.nn.spec import Spec
    from blockcalc.program.trace import Trace


@dataclass(frozen=True)
class Format:
    """An export format: the ending of its files, and the function that makes the bytes."""

    name: str
    ending: str
    function: str
    binary: bool = False

    def export(self, spec: Spec, trace: Trace, depth: Depth, fragment: bool = False) -> bytes:
        """Write a run in this format; ``fragment`` is the body without what goes around it."""
        module, _, name = self.function.partition(":")
        made = getattr(import_module(f"blockcalc.views.{module}"), name)(
            spec, trace, depth, fragment
        )
        assert isinstance(made, bytes)
        return made


FORMATS = {
    "latex": Format("latex", ".tex", "latex:latex"),
    "json": Format("json", ".json", "run_json:json_bytes"),
    "npz": Format("npz", ".npz", "run_json:npz_bytes", binary=True),
}


def choose_format(asked: Mapping[str, bool], output: str | None) -> Format:
    """Choose the format that is asked for, or else by the ending of the file to write."""
    named = [name for name, yes in asked.items() if yes]
    if len(named) > 1:
        raise UsageError(Fault(say("cli.formats_two", names=" and ".join("--" + n for n in named))))
    if named:
        return FORMATS[named[0]]
    for chosen in FORMATS.values():
        if output and output.lower().endswith(chosen.ending):
            return chosen
    raise UsageError(Fault(say("cli.formats_none", names=", ".join("--" + n for n in FORMATS))))
