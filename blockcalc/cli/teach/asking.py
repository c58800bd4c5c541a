"""The options of worksheet and quiz: which cells are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from blockcalc.cli.inputs import parse_steps
from blockcalc.cli.options import (
    DigitsOpt,
    LevelEasyOpt,
    LevelHardOpt,
    SeedOpt,
    StepsOfOpt,
    TeachBlanksOpt,
)
from blockcalc.errors import Fault, UsageError
from blockcalc.messages import say

if TYPE_CHECKING:
    from blockcalc.nn.spec import Spec
    from blockcalc.program.trace import Trace
    from blockcalc.teach.sheet import Worksheet


@dataclass(eq=False, repr=False)
class Asking:
    """Which cells are left open."""

    blanks: TeachBlanksOpt = None
    steps: StepsOfOpt = None
    seed: SeedOpt = 0
    easy: LevelEasyOpt = False
    hard: LevelHardOpt = False
    digits: DigitsOpt = 4

    def worksheet(self, spec: Spec, trace: Trace, columns: bool = False) -> Worksheet:
        """Choose the cells."""
        from blockcalc.explain.depth import Depth, chosen_steps
        from blockcalc.explain.steps import Explainer
        from blockcalc.teach.blanks import Level, choose
        from blockcalc.teach.sheet import Worksheet

        if self.easy and self.hard:
            raise UsageError(Fault(say("teach.levels")))
        level = Level.easy if self.easy else Level.hard if self.hard else Level.normal
        patterns = parse_steps(self.steps)
        depth = Depth(digits=self.digits)
        steps = chosen_steps(trace.program, patterns) if patterns else None
        gaps = choose(Explainer(spec, trace, depth), steps, self.blanks, self.seed, level)
        return Worksheet(spec, trace, gaps, depth, level, columns)
