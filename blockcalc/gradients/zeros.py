"""Why entries of a gradient are 0."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from blockcalc.explain.head import collapses, two_features
from blockcalc.messages import say
from blockcalc.nn.activations import ACTIVATIONS
from blockcalc.nn.settings import FfnSettings
from blockcalc.ops.elementwise import Quotient
from blockcalc.ops.movement import Columns
from blockcalc.ops.op import Array, Ref
from blockcalc.ops.rotate import Rotate
from blockcalc.program.loss import Loss
from blockcalc.program.program import Program
from blockcalc.program.trace import Trace
from blockcalc.records import dataclass


@dataclass(frozen=True, eq=False)
class Zeros:
    """Finds the reasons for zeros in gradients.

    Attributes
    ----------
    forward : Program
        The forward pass alone.
    trace : Trace
        The run with its gradients.
    loss : Loss
        The loss that is differentiated.
    """

    forward: Program
    trace: Trace
    loss: Loss

    def reason(self, ref: Ref, zero: Array) -> str:
        """Say why entries of a gradient are 0; an empty text if that is not known.

        Parameters
        ----------
        ref : Ref
            The weight or input.
        zero : ndarray
            Which entries of its gradient are 0 up to round-off.
        """
        if self._shifts_scores(ref, zero):
            return say("why.b_k")
        if zero.all() and self._through_two_features(ref):
            return say("why.two")
        if zero.all() and self._constant_loss():
            return say("why.constant")
        dead = self._dead_units(ref, zero)
        if dead is not None and dead.any():
            counts = {"n": int(dead.sum()), "all": int(zero.sum())}
            reason = say("why.dead")
            return reason if dead.sum() == zero.sum() else say("why.some", reason=reason, **counts)
        return say("why.masked") if ref.role == "data" and self._unattended(zero) else ""

    def _constant_loss(self) -> bool:
        """Tell whether the loss is a sum of normalized rows, which is constant."""
        last = self.forward.sections[-1] if self.forward.sections else None
        norm = (
            last is not None
            and last.kind == "layer_norm"
            and last.last == len(self.forward.equations)
        )
        return self.loss.uniform and norm and isinstance(self.forward.equations[-1].op, Quotient)

    def _dead_units(self, ref: Ref, zero: Array) -> Array | None:
        """Find zeros of hidden units whose ReLU is 0 for all tokens, in every run of a block."""
        axes = [axis for axis, name in enumerate(ref.axes) if name == "d_ff"]
        inputs = [self.trace.arrays[name] for name in self._rectified(ref)]
        if not axes or not inputs:
            return None
        dead = np.all([(x <= 0).all(axis=tuple(range(x.ndim - 1))) for x in inputs], axis=0)
        shape = [1] * zero.ndim
        shape[axes[0]] = len(dead)
        return np.asarray(zero & dead.reshape(shape))

    def _rectified(self, ref: Ref) -> Iterator[str]:
        """Name what ReLU is applied to in the FFNs that use a matrix."""
        equations = self.forward.equations
        for section in self.forward.sections:
            inside = equations[section.first : section.last]
            if isinstance(section.settings, FfnSettings) and any(ref in e.inputs for e in inside):
                yield from (e.inputs[0].name for e in inside if e.op == ACTIVATIONS["relu"].op)

    def _shifts_scores(self, ref: Ref, zero: Array) -> bool:
        """Tell whether zeros come from a bias of keys: it adds a constant to a row of scores."""
        equations = self.forward.equations
        projection = next((eq for eq in equations if ref in eq.inputs[2:]), None)
        if projection is None or any(isinstance(eq.op, Rotate) for eq in equations):
            return False
        if projection.out.part == "key":
            return True
        keys = (eq for eq in equations if projection.out in eq.inputs and eq.out.part == "key")
        columns = [i for eq in keys if isinstance(eq.op, Columns) for i in eq.op.indices]
        return bool(columns) and set(np.flatnonzero(zero).tolist()) <= set(columns)

    def _through_two_features(self, ref: Ref) -> bool:
        """Tell whether every path from a matrix to the loss passes a LayerNorm of two features."""
        reached = {self.forward.equations[-1].out.name}
        for index in range(len(self.forward.equations) - 1, -1, -1):
            eq, section = self.forward.equations[index], self.forward.top_section_of(index)
            inner = eq.inputs[:1] if section is not None and two_features(section) else ()
            if eq.out.name in reached:
                reached.update(r.name for r in eq.inputs if r not in inner)
        return collapses(self.forward) and ref.name not in reached

    def _unattended(self, zero: Array) -> bool:
        """Tell whether every row of zeros is of a token that no query attends to, in any block."""
        outs = (s.out.name for s in self.forward.sections if s.kind == "softmax")
        weights = [self.trace.arrays[name] for name in outs]
        rows = np.asarray(zero.all(axis=-1))
        if not weights or not rows.any() or rows.ndim != 1:
            return False
        attended = np.any([(w != 0).any(axis=tuple(range(w.ndim - 1))) for w in weights], axis=0)
        return bool(not (rows & attended).any() and (zero == rows[:, None]).all())
