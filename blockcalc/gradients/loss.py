"""Choose and compute the loss of a backward pass."""

from __future__ import annotations

from dataclasses import replace

from blockcalc.errors import Fault, InputError, UsageError
from blockcalc.messages import say
from blockcalc.messages.words import dims, require_word
from blockcalc.nn.block import build
from blockcalc.nn.run import run
from blockcalc.nn.spec import Spec
from blockcalc.ops.op import Array, Ref
from blockcalc.ops.reduce import Whole
from blockcalc.program.loss import DEFAULT, LOSSES, OTHERWISE, Loss
from blockcalc.program.trace import Trace


def choose_loss(spec: Spec, kind: str | None = None) -> Loss:
    """Choose the loss: ``kind``, that of the file, or mse against x (sum if the shape differs).

    Raises
    ------
    UsageError
        There is no such loss, it needs a matrix that is not given, or there is no step.
    InputError
        Its matrix does not have the shape of the result.
    """
    out = _result(spec)
    like_x = out.shape == spec.arrays["x"].shape
    if kind is None:
        kind = spec.loss or (DEFAULT if like_x else OTHERWISE).kind
    require_word("loss", kind, LOSSES)
    loss = LOSSES[kind]
    by_default = loss.key == "target" and like_x
    if loss.matrix and loss.matrix not in spec.arrays and not by_default:
        raise UsageError(Fault(say("loss.needs", kind=kind, key=loss.key)))
    if loss.matrix in spec.arrays and spec.arrays[loss.matrix].shape != out.shape:
        sizes = {"has": dims(spec.arrays[loss.matrix].shape), "wanted": dims(out.shape)}
        text = say("loss.shape", name=loss.matrix, out=out.name, **sizes)
        raise InputError(Fault(text, spec.place(loss.matrix)))
    return loss


def _result(spec: Spec) -> Ref:
    equations = build(spec).equations
    if not equations:
        raise UsageError(Fault(say("loss.none")))
    return equations[-1].out


def loss_text(spec: Spec, loss: Loss) -> str:
    """Write the formula of the loss."""
    given = not loss.matrix or loss.matrix in spec.arrays
    return say(f"loss.{loss.kind}" if given else f"loss.{loss.kind}.x", name=_result(spec).name)


def with_matrix(loss: Loss, trace: Trace) -> dict[str, Array]:
    """Give the arrays of a run with the matrix of the loss, by default x."""
    arrays = dict(trace.arrays)
    if loss.matrix and loss.matrix not in arrays:
        arrays[loss.matrix] = arrays["x"]
    return arrays


def loss_after(spec: Spec, kind: str | None, trace: Trace) -> float:
    """Compute the loss again with the new matrices."""
    new = {n.removeprefix("new."): trace.arrays[n] for n in trace if n.startswith("new.")}
    changed = replace(spec, arrays={**spec.arrays, **new})
    return loss_of(changed, choose_loss(spec, kind))


def loss_of(spec: Spec, loss: Loss) -> float:
    """Compute a block forward, and its loss."""
    trace = run(spec)
    out = trace.arrays[trace.program.equations[-1].out.name]
    other = with_matrix(loss, trace).get(loss.matrix)
    return loss_value(loss, out, other)


def loss_value(loss: Loss, out: Array, other: Array | None) -> float:
    """Compute a loss from the result and its matrix."""
    return float(Whole(loss.tree, loss.mean).forward(operands_of(loss, out, other))[0])


def operands_of(loss: Loss, out: Array, other: Array | None) -> list[Array]:
    """Give the operands of the summed term: result and matrix, or their difference."""
    if other is None:
        return [out]
    return [out - other] if loss.difference else [out, other]
