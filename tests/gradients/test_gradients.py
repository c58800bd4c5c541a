"""The backward pass against differences, as it is printed, and on the command line."""

from __future__ import annotations

import json
import operator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings

import blockcalc
from blockcalc.errors import InputError, UsageError
from blockcalc.explain.depth import Depth
from blockcalc.explain.document import Heading, Line, Listing, Remark, StepPiece
from blockcalc.gradients.differences import differences
from blockcalc.gradients.explain import explain_gradient
from blockcalc.gradients.loss import loss_after
from blockcalc.gradients.run import gradient_of, norm_of, parameters, work_gradients
from blockcalc.gradients.stacks import depths
from blockcalc.nn.activations import ACTIVATIONS
from blockcalc.notation.alphabets import Latex, Text
from blockcalc.ops.elementwise import Centered, Elementwise, Quotient
from blockcalc.ops.expr import Binary, Call, Cell, Expr, Fold, Num
from blockcalc.ops.op import Array, Op, Ref
from blockcalc.program.backward import with_gradients
from blockcalc.program.loss import Loss
from blockcalc.program.program import Equation
from blockcalc.program.trace import Trace
from blockcalc.reading.load import load
from tests.equations import EVERY
from tests.helpers import SAMPLES, cli, random_data, sample_specs, text
from tests.read_back import check, from_latex, from_text, plain_text, printed

pytestmark = pytest.mark.slow

THREE = next(str(path) for path in SAMPLES if path.stem == "three_features")


# every operation ------------------------------------------------------------------------------


def _backward_equations() -> list[Equation]:
    """Collect what the backward passes of all samples write, in both ways."""
    found: dict[Any, Equation] = {}
    for spec in sample_specs():
        program = blockcalc.run(spec).program
        for chain in (False, True):
            for kind in ("sum", "mse", "dot"):
                equations = with_gradients(program, Loss(kind), chain).equations
                for eq in equations[len(program.equations) :]:
                    found.setdefault((eq.op, tuple(r.shape for r in eq.inputs)), eq)
    return list(found.values())


BACKWARD = _backward_equations()


def _operands(eq: Equation) -> list[Array]:
    rng = np.random.RandomState(len(eq.inputs) + eq.out.shape[0])
    return [rng.uniform(0.3, 2, ref.shape) for ref in eq.inputs]


@pytest.mark.parametrize("eq", BACKWARD, ids=lambda eq: f"{type(eq.op).__name__}-{eq.out.name}")
def test_backward_operations_are_operations_like_others(eq: Equation) -> None:
    xs = _operands(eq)
    whole = eq.op.forward(xs)
    axes, shape = eq.op.result(eq.inputs)
    assert whole.shape == shape == eq.out.shape
    assert len(axes) == len(shape)
    assert eq.op.forward([x.astype("float32") for x in xs]).dtype == np.float32
    for at in np.ndindex(whole.shape):
        size = max(1.0, abs(float(whole[at])))
        assert abs(_work(eq.op.cell(at, eq.inputs), xs) - whole[at]) <= 1e-11 * size
    assert eq.op.rule(eq.inputs)
    assert eq.op.flops(eq.inputs) >= 0
    assert Text().render(eq.op.formula([_name(ref) for ref in eq.inputs]))


def _name(ref: Ref) -> Expr:
    from blockcalc.ops.expr import Name

    return Name(ref.symbol)


def _work(tree: Expr, xs: list[Array]) -> float:
    from blockcalc.ops.evaluate import evaluate

    return float(
        evaluate(tree, lambda e: float(xs[e.operand][e.at]) if isinstance(e, Cell) else 0.0)
    )


def _slopes(op: Op, refs: tuple[Ref, ...], xs: list[Array], i: int, weights: Array) -> Array:
    """Work what an operation says of a gradient."""
    axes, shape = op.result(refs)
    g = Ref("g", "g", axes, shape, "computed")
    lines = op.vjp(refs, i, g)
    if lines is None:
        return np.zeros_like(xs[i])
    values = {"g": weights, **{f"x{k}": x for k, x in enumerate(xs)}}
    names = {id(ref): f"x{k}" for k, ref in enumerate(refs)}
    last = weights
    for _, inner, operands in lines:
        own = [last if r is None else values["g" if r is g else names[id(r)]] for r in operands]
        last = inner.forward(own)
    return last.reshape(xs[i].shape)


CHECKED = [eq for eq in EVERY if eq.inputs]


@pytest.mark.parametrize("eq", CHECKED, ids=lambda eq: f"{type(eq.op).__name__}-{eq.out.name}")
def test_every_gradient_agrees_with_central_differences(eq: Equation) -> None:
    xs = _operands(eq)
    refs = tuple(Ref(f"x{k}", r.symbol, r.axes, r.shape, r.role) for k, r in enumerate(eq.inputs))
    weights = np.random.RandomState(3).normal(0, 1, eq.out.shape)
    constant = {"Rotate": 1, "Shifted": 1}.get(type(eq.op).__name__, len(xs))
    for i in range(min(len(xs), constant)):
        if getattr(eq.op, "kind", "") == "max":
            continue  # it is only subtracted again
        exact = _slopes(eq.op, refs, xs, i, weights)
        near = np.zeros_like(xs[i])
        for at in np.ndindex(xs[i].shape):
            sides = []
            for sign in (1, -1):
                moved = [x.copy() for x in xs]
                moved[i][at] += sign * 1e-6
                sides.append(float((_plainly(eq.op, moved) * weights).sum()))
            near[at] = (sides[0] - sides[1]) / 2e-6
        if i > 0 and _chooses(eq.op) and not (exact.any() and near.any()):
            continue  # what chooses has no slope
        np.testing.assert_allclose(exact, near, rtol=2e-7, atol=2e-8 * max(1.0, np.abs(near).max()))


def _plainly(op: Op, xs: list[Array]) -> Array:
    """Work an operation without what it does for rows that are even."""
    return Elementwise.forward(op, xs) if isinstance(op, Centered) else op.forward(xs)


def _chooses(op: Op) -> bool:
    return any(
        isinstance(e, Call) and e.function in ("step", "allowed", "mask") for e in _calls(op)
    )


def _calls(op: Op) -> list[Expr]:
    from blockcalc.ops.expr import walk

    return list(walk(op.body)) if isinstance(op, Elementwise) else []


# whole blocks ---------------------------------------------------------------------------------


@settings(max_examples=40)
@given(data=random_data())
def test_any_block_agrees_with_differences(data: dict[str, Any]) -> None:
    spec = load(data)
    trace = work_gradients(spec)
    assume(_smooth(trace, 1e-4))
    for found in differences(spec, None, trace):
        assert found.relative <= 1e-6, found


def _smooth(trace: Trace, gap: float) -> bool:
    """Tell whether no norm is near to even and no ReLU near to its kink."""
    for eq in trace.program.start().equations:
        if eq.op == ACTIVATIONS["relu"] and np.abs(trace.arrays[eq.inputs[0].name]).min() < gap:
            return False
        norm = isinstance(eq.op, Quotient) and not eq.out.name.endswith("attn.weights")
        if norm and np.abs(trace.arrays[eq.inputs[1].name]).min() < 0.05:
            return False
    return True


def test_two_hundred_blocks_agree_with_differences_of_fifty_digits() -> None:
    mp = pytest.importorskip("mpmath", reason="mpmath is a development tool")
    mp.mp.dps = 50
    rng = np.random.RandomState(0)
    done = 0
    while done < 200:
        spec = load(_small(rng))
        trace = work_gradients(spec, "dot")
        if not _smooth(trace, 1e-4):
            continue
        _fifty(mp, trace, rng)
        done += 1


def _small(rng: Any) -> dict[str, Any]:
    """Draw a small block of any kind, with d_model 3 or 4."""
    d, heads = [(3, 1), (4, 2)][rng.randint(2)]
    t, f = rng.randint(1, 3), rng.randint(2, 4)

    def m(*shape: int) -> Any:
        return rng.normal(0, 1, shape).round(3).tolist()

    gated, rms = rng.randint(2), rng.randint(2)
    act = list(ACTIVATIONS)[rng.randint(len(ACTIVATIONS))]
    few = rng.randint(1, heads + 1)
    own = d // heads
    attn: dict[str, Any] = {
        "w_q": m(d, d), "w_k": m(d, few * own), "w_v": m(d, few * own), "w_o": m(d, d), "n_heads": heads, "n_kv_heads": few,
        "causal": bool(rng.randint(2)), "softmax": ["plain", "shifted"][rng.randint(2)],
    }  # fmt: skip
    if rng.randint(2):
        attn |= {"b_q": m(d), "b_k": m(few * own), "b_v": m(few * own), "b_o": m(d)}
    if heads == 2 and rng.randint(2):
        attn["rope"] = {"theta": 100}
    ffn: dict[str, Any] = {"activation": act}
    ffn |= (
        {"w_gate": m(d, f), "w_up": m(d, f), "w_down": m(f, d)}
        if gated
        else {"w_1": m(d, f), "b_1": m(f), "w_2": m(f, d)}
    )
    norm = {"order": ["pre", "post"][rng.randint(2)], "kind": ["layer", "rms"][rms]}
    if not rms and rng.randint(2):
        norm |= {"variance": "sample"}
    if rng.randint(4) == 0:
        norm |= {"eps_place": "outside", "eps": 0.01}
    norms = (
        {f"norm{k}": {"gamma": m(d), **({} if rms else {"beta": m(d)})} for k in (1, 2)}
        if rng.randint(2)
        else {}
    )
    return {
        "x": m(t, d),
        "attn": attn,
        "ffn": ffn,
        "norm": norm,
        **norms,
        "loss": {"kind": "dot", "with": m(t, d)},
    }


def _fifty(mp: Any, trace: Trace, rng: Any) -> None:
    """Hold the slope along a random direction of every matrix against a difference of 50 digits."""
    program = trace.program.start()
    names = [r.name for r in program.inputs if r.role in ("weight", "data")]
    top = max(float(np.abs(gradient_of(trace, name)).max()) for name in names)
    h = mp.mpf(10) ** -18
    for name in names:
        way = rng.normal(0, 1, trace.arrays[name].shape)
        sides = []
        for sign in (1, -1):
            values = {r.name: _precise(mp, trace.arrays[r.name]) for r in program.inputs}
            values[name] = values[name] + sign * h * _precise(mp, way)
            sides.append(_loss(mp, program, values, trace))
        near = (sides[0] - sides[1]) / (2 * h)
        exact = float((gradient_of(trace, name) * way).sum())
        size = max(top * float(np.abs(way).sum()), 1e-300)
        assert abs(near - exact) <= 1e-11 * size, (name, near, exact)


def _precise(mp: Any, array: Array) -> Any:
    out = np.empty(array.shape, dtype=object)
    for at in np.ndindex(array.shape):
        out[at] = mp.mpf(float(array[at]))
    return out


def _loss(mp: Any, program: Any, values: dict[str, Any], trace: Trace) -> Any:
    for eq in program.equations:
        out = np.empty(eq.out.shape, dtype=object)
        for at in np.ndindex(eq.out.shape):
            out[at] = _mp(mp, eq.op.cell(at, eq.inputs), eq, values)
        values[eq.out.name] = out
    other = _precise(mp, trace.arrays["loss.with"])
    return (values[program.equations[-1].out.name] * other).sum()


def _mp(mp: Any, e: Expr, eq: Equation, values: dict[str, Any]) -> Any:
    match e:
        case Cell(operand=operand, at=at):
            return values[eq.inputs[operand].name][at]
        case Num(value=value, symbol=symbol):
            return mp.pi if symbol == "pi" else mp.mpf(value)
        case Fold(op=op, terms=terms):
            own = [_mp(mp, t, eq, values) for t in terms]
            return (
                mp.fsum(own)
                if op == "+" and mp.ninf not in own
                else max(own)
                if op == "max"
                else sum(own)
            )
        case Binary(op=op, left=left, right=right):
            a, b = _mp(mp, left, eq, values), _mp(mp, right, eq, values)
            works: dict[str, Any] = {
                "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "^": operator.pow,
            }  # fmt: skip
            return works[op](a, b)
        case Call(function=function, args=args):
            xs = [_mp(mp, a, eq, values) for a in args]
            named: dict[str, Any] = {
                "max": max,
                "ratio": lambda a, b: a / b if b else mp.mpf(0),
                "mask": lambda a, m: a if m else mp.ninf,
            }
            return named[function](*xs) if function in named else getattr(mp, function)(*xs)
    raise TypeError(type(e).__name__)


# conventions ------------------------------------------------------------------------------------


def test_a_relu_at_exactly_0_takes_0_and_says_so() -> None:
    trace = work_gradients(load(THREE))
    pre = trace["ffn.pre"]
    assert (pre == 0).any()
    assert (trace["grad.ffn.pre"][pre == 0] == 0).all()
    notes = [n for p in _steps(load(THREE), trace) for n in p.notes]
    assert "ReLU at exactly 0 (1 of 6) takes the derivative 0." in notes


@pytest.mark.parametrize("chain", [False, True])
def test_an_even_row_without_eps_passes_no_gradient_on(chain: bool) -> None:
    data = {"x": [[1, 1, 1], [1, 2, 4]], "attn": {"out": [[1, 1, 1], [0, 0, 0]]}, "norm": {"eps": 0},
            "loss": {"with": [[1, 2, 3], [3, 1, 2]]}}  # fmt: skip
    spec = load(data)
    trace = work_gradients(spec, chain=chain)
    assert (trace["grad.x"][0] == 0).all()
    assert np.abs(trace["grad.x"][1]).max() > 0.1
    if not chain:
        notes = [n for p in _steps(spec, trace) for n in p.notes]
        assert any("its gradient is taken as 0, by convention" in n for n in notes)


@pytest.mark.parametrize("chain", [False, True])
def test_a_query_that_sees_nothing_passes_no_gradient_on(chain: bool) -> None:
    eye = {"eye": 3}
    data = {"x": [[1, 0, 2], [0, 1, 4]], "attn": {"w_q": eye, "w_k": eye, "w_v": eye, "mask": {"keep": [[0, 0], [1, 1]]}},
            "loss": {"with": [[1, 2, 3], [3, 1, 2]]}}  # fmt: skip
    trace = work_gradients(load(data), chain=chain)
    assert (trace["grad.attn.masked"][0] == 0).all()
    assert np.isfinite(trace["grad.x"]).all()


def test_dropout_gives_a_gradient_to_what_it_kept() -> None:
    data = {"x": [[1.0, 2.0, 4.0]], "attn": {"out": [[1, 2, 1]]}, "stop": "residual1",
            "dropout": {"p": 0.5, "training": True, "keep": {"attn.out": [[1, 0, 1]]}}, "loss": {"kind": "sum"}}  # fmt: skip
    trace = work_gradients(load(data))
    assert trace["grad.attn.out"].tolist() == [[2, 0, 2]]


def test_weights_stored_the_other_way_have_gradients_of_their_layout() -> None:
    spec = load(THREE)
    turned = {n: (a.T if ".w_" in n else a) for n, a in spec.arrays.items()}
    data: dict[str, Any] = {
        "x": turned["x"],
        "weight_layout": "out_in",
        "attn": {},
        "ffn": {"activation": "relu"},
    }
    for name, array in turned.items():
        part, _, key = name.partition(".")
        if part in ("attn", "ffn"):
            data[part][key] = array
    one, two = work_gradients(spec), work_gradients(load(data))
    for ref in parameters(one.program):
        np.testing.assert_allclose(
            gradient_of(two, ref.name), gradient_of(one, ref.name).T, atol=1e-14
        )


def test_a_repeated_block_sums_over_its_runs() -> None:
    spec = load(THREE)
    block = {"attn": {k[5:]: v for k, v in spec.arrays.items() if k.startswith("attn.")},
             "ffn": {k[4:]: v for k, v in spec.arrays.items() if k.startswith("ffn.")}}  # fmt: skip
    shared = work_gradients(load({"x": spec.arrays["x"], "blocks": [{**block, "repeat": 2}]}))
    apart = work_gradients(load({"x": spec.arrays["x"], "blocks": [block, block]}))
    for key in ("attn.w_q", "ffn.w_1"):
        both = gradient_of(apart, f"blocks.0.{key}") + gradient_of(apart, f"blocks.1.{key}")
        np.testing.assert_allclose(gradient_of(shared, f"blocks.0.{key}"), both, atol=1e-13)


def test_what_both_passes_hold_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = load(THREE)
    blockcalc.run(spec)
    monkeypatch.setattr("blockcalc.nn.run.MOST_NUMBERS", 150)
    blockcalc.run(spec)
    with pytest.raises(InputError, match="the steps would hold"):
        work_gradients(spec)


def test_rounding_is_of_the_forward_pass_alone() -> None:
    spec = load(THREE, [("round.decimals", "3")])
    trace = work_gradients(spec)
    assert np.array_equal(trace["norm1"], trace["norm1"].round(3))
    assert not np.array_equal(trace["grad.norm1"], trace["grad.norm1"].round(3))
    with pytest.raises(UsageError, match="rounding every step leaves none"):
        differences(spec, None, trace)


# published ------------------------------------------------------------------------------------


def test_a_published_hidden_layer_with_its_mask() -> None:
    """Tom Yeh, Backpropagation: two ReLU layers; the sheet's dZ2 lacks the mask, these are right."""
    x = np.array([[2, -1], [1, 1], [2, 1], [1, 2]]).T
    w1 = np.array([[1, 0, -1, 1], [0, 1, 1, 0], [1, -1, 0, 0]]).T
    w2 = np.array([[0, -1, 2], [-1, 1, 0], [0, 1, 1], [-1, 0, 0]]).T
    z3 = np.array([[0.003357661626502615, 0.24472847105479764], [0.49832116918674874, -0.3347590442251781],
                   [-0.5016788308132513, 0.09003057317038046]]).T  # fmt: skip
    w3 = np.array([[0, -1, -1, 2], [-1, 0, 0, 0], [-1, 0, 1, 0]]).T
    data = {
        "x": x, "attn": {"out": np.zeros_like(x)}, "norm": {"order": "pre"}, "stop": "ffn.out",
        "ffn": {"w_1": w1, "b_1": [1, 1, 0], "w_2": w2, "b_2": [1, 2, 1, 3]},
    }  # fmt: skip
    program = with_gradients(_plain_ffn(), Loss("dot"))
    values = {"x": x.astype(float), "ffn.w_1": w1.astype(float), "ffn.b_1": np.array([1.0, 1, 0]), "ffn.w_2": w2.astype(float),
              "ffn.b_2": np.array([1.0, 2, 1, 3]), "ffn.w_3": w3.astype(float), "loss.with": z3}  # fmt: skip
    from blockcalc.program.trace import steps

    for step in steps(program, values):
        values[step.equation.out.name] = step.value
    want = {
        "ffn.w_2": [[0, 0, 0], [-0.25144379, -0.74761606, -0.00335766], [-1.16477088, -2.48423966, -0.50503649],
                    [0.50288759, 1.49523212, 0.00671532]],
        "ffn.b_2": [0, -0.24808613, -0.65973439, 0.49617227],
        "ffn.w_1": [[0.23801315, -0.24808613, -0.25144379, -0.49281460], [-0.61736194, -0.90782052, -1.41621468, -1.30724689],
                    [-1.01007298, -0.50503649, -1.01007298, -0.50503649]],
        "ffn.b_1": [-0.24808613, -0.90782052, -0.50503649],
    }  # fmt: skip
    assert data
    for name, right in want.items():
        got = values[program.find(f"grad.{name}")]
        np.testing.assert_allclose(got, np.array(right).T, atol=5e-9)


def _plain_ffn() -> Any:
    from blockcalc.nn.layers import linear
    from blockcalc.program.builder import Builder

    shapes = {
        "x": (2, 4),
        "ffn.w_1": (4, 3),
        "ffn.b_1": (3,),
        "ffn.w_2": (3, 4),
        "ffn.b_2": (4,),
        "ffn.w_3": (4, 3),
    }
    b = Builder(shapes)
    h = b.given("x", "X", ("token", "d_model"), role="data")
    for k, (name, width) in enumerate((("1", "d_1"), ("2", "d_2")), 1):
        u = linear(b, f"ffn.z_{k}", f"Z_{k}", h, f"ffn.w_{name}", width)
        h = b.add(f"ffn.a_{k}", f"A_{k}", ACTIVATIONS["relu"], u)
    linear(b, "ffn.z_3", "Z_3", h, "ffn.w_3", "d_3")
    return b.program()


def test_a_published_training_step() -> None:
    """djimrastephane, tiny-transformer-by-hand: logits from the attention of the last row; dW_out and the new loss."""
    x = [[1, 0], [0, 1]]
    data = {"x": x, "attn": {"w_q": [[1, 0], [1, 1]], "w_k": [[1, 1], [0, 1]], "w_v": {"eye": 2}, "causal": True},
            "stop": "attn.z"}  # fmt: skip
    z = blockcalc.run(load(data))["attn.z"][1]
    w = np.array([[0, 1, 0, 1, -1, 0], [0, 0, 1, -1, 0, -1.0]])
    logits = z @ w
    p = np.exp(logits) / np.exp(logits).sum()
    one = np.eye(6)[3]
    dw = np.outer(z, p - one)
    np.testing.assert_allclose(z, [0.6698, 0.3302], atol=5e-5)
    np.testing.assert_allclose(dw[0], [0.0960, 0.1875, 0.1335, -0.5350, 0.0491, 0.0690], atol=6e-5)
    # the same gradient from the product's own card
    from blockcalc.ops.matmul import MatMul

    a, b = (
        Ref("z", "Z", ("token", "d"), (1, 2), "computed"),
        Ref("w", "W", ("d", "v"), (2, 6), "weight"),
    )
    g = Ref("g", "g", ("token", "v"), (1, 6), "computed")
    lines = MatMul().vjp((a, b), 1, g)
    assert lines is not None
    np.testing.assert_allclose(lines[0][1].forward([z[None], (p - one)[None]]), dw, atol=1e-15)
    new = w - 2 * dw
    after = -np.log((np.exp(z @ new) / np.exp(z @ new).sum())[3])
    assert abs(-np.log(p[3]) - 1.60351606) < 1e-8
    assert abs(after - 0.84039043) < 1e-8


# as it is printed -------------------------------------------------------------------------------


def _steps(spec: Any, trace: Trace, **depth: Any) -> list[StepPiece]:
    return [p for p in explain_gradient(spec, trace, Depth(**depth)) if isinstance(p, StepPiece)]


def _lines(spec: Any, trace: Trace, **depth: Any) -> list[Line]:
    return [
        line for p in _steps(spec, trace, detail="cells", whole=True, **depth) for line in p.lines
    ]


@pytest.mark.parametrize("chain", [False, True], ids=["closed", "chain"])
@pytest.mark.parametrize("spec", sample_specs(), ids=lambda s: f"{s.title[:18]}-{s.order}")
def test_every_printed_line_is_true(spec: Any, chain: bool) -> None:
    lines = [line for line in _lines(spec, work_gradients(spec, chain=chain)) if line.middle]
    assert len(lines) > 50
    for line in lines:
        check(printed(line, Text()), from_text)
        check(printed(line, Text(plain=True)), plain_text)
        check(printed(line, Latex()), from_latex)


@settings(max_examples=25)
@given(data=random_data())
def test_every_printed_line_of_any_block_is_true(data: dict[str, Any]) -> None:
    spec = load(data)
    for line in _lines(spec, work_gradients(spec)):
        if line.middle:
            check(printed(line, Text()), from_text)


def test_the_order_of_what_is_said() -> None:
    spec = load(THREE)
    titles = [
        p.title for p in explain_gradient(spec, work_gradients(spec)) if isinstance(p, Heading)
    ]
    assert titles == [
        "Inputs and weights", "Forward in brief", "The loss", "Backward from the loss", "Backward through a LayerNorm",
        "Backward through the FFN", "What comes together", "Backward through a LayerNorm", "Backward through the attention",
        "What comes together", "All gradients",
    ]  # fmt: skip
    sums = [
        p
        for p in _steps(spec, work_gradients(spec))
        if any(n.startswith("Sums over") for n in p.notes)
    ]
    assert {p.name for p in sums} >= {"grad.attn.w_q", "grad.ffn.w_1"}


def _table(spec: Any, trace: Trace) -> dict[str, tuple[Any, ...]]:
    last = [p for p in explain_gradient(spec, trace) if isinstance(p, Listing)][-1]
    return {str(row[0]): row for row in last.rows}


def test_the_table_of_all_gradients() -> None:
    spec = load(THREE)
    trace = work_gradients(spec)
    rows = _table(spec, trace)
    assert set(rows) == {
        f"grad.{r}"
        for r in ("x", "attn.w_q", "attn.w_k", "attn.w_v", "attn.w_o", "ffn.w_1", "ffn.w_2")
    } | {"all parameters"}
    total = np.sqrt(sum((gradient_of(trace, r.name) ** 2).sum() for r in parameters(trace.program)))
    assert rows["all parameters"][1] == f"{total:.4g}"
    assert rows["grad.ffn.w_2"][4:] == ("3/9", "ReLU gives 0 there for every token")


def test_reasons_for_zeros() -> None:
    tiny = load(str(SAMPLES[0]))
    assert tiny.arrays["x"].shape[1] == 2
    assert (
        _table(tiny, work_gradients(tiny))["grad.attn.w_q"][5]
        == "with d_model = 2 LayerNorm passes no gradient on"
    )
    heads = load(next(str(p) for p in SAMPLES if p.stem == "two_heads"))
    row = _table(heads, work_gradients(heads))["grad.attn.b_k"]
    assert row[4:] == ("4/4", "softmax does not see what is added to all scores of a query")


# what else can be asked ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sum", "mse", None])
def test_numeric_agrees_for_every_sample(kind: str | None) -> None:
    for spec in sample_specs():
        trace = work_gradients(spec, kind)
        assert all(d.relative <= 1e-6 for d in differences(spec, kind, trace)), spec.title


def changed(trace: Trace, name: str, by: float) -> Trace:
    """Add to the first entry of a matrix."""
    own = trace.arrays[name].copy()
    own[0, 0] += by
    return replace(trace, arrays={**trace.arrays, name: own})


def test_numeric_notices_a_wrong_gradient() -> None:
    spec = load(THREE)
    trace = work_gradients(spec)
    trace = changed(trace, "grad.attn.w_v", 0.01)
    worst = max(differences(spec, None, trace), key=lambda d: d.relative)
    assert worst.name == "attn.w_v"
    assert worst.relative > 1e-3


def test_one_step_of_descent_lowers_the_loss() -> None:
    spec = load(THREE)
    trace = work_gradients(spec, rate=0.1)
    want = spec.arrays["attn.w_v"] - 0.1 * trace["grad.attn.w_v"]
    np.testing.assert_array_equal(trace["new.attn.w_v"], want)
    assert loss_after(spec, None, trace) < trace["loss"][0]
    after = work_gradients(load(THREE, []).with_order("post"))
    assert after["loss"] == trace["loss"]


def test_stacks_side_by_side() -> None:
    spec = load(THREE)
    rows = list(depths(spec, [1, 2, 4], None))
    assert [(r.order, r.blocks, r.block) for r in rows] == [
        (order, n, i) for order in ("post", "pre") for n in (1, 2, 4) for i in range(n)
    ]
    alone = work_gradients(spec)
    assert rows[0].loss == alone["loss"][0]
    total = np.sqrt(sum((gradient_of(alone, r.name) ** 2).sum() for r in parameters(alone.program)))
    assert abs(rows[0].norm - total) < 1e-12
    assert abs(rows[0].rms - np.sqrt((alone["out"] ** 2).mean())) < 1e-12
    share = np.linalg.norm(alone["attn.out"]) / np.linalg.norm(alone["x"])
    assert abs((rows[0].shares[0] or 0) - share) < 1e-12
    stack = load(next(str(p) for p in SAMPLES if p.stem == "stack"))
    with pytest.raises(UsageError, match="stack already"):
        list(depths(stack, [1], None))


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        ({"kind": "huber"}, "kind is one of sum, mse, dot"),
        ({"kind": "sum", "target": [[1]]}, "loss.target does not go with loss.kind sum"),
        ({"kind": "mse", "with": [[1]]}, "loss.with does not go with loss.kind mse"),
        ({}, "loss.kind"),
        ({"target": [[1, 2]]}, "loss.target is 1×2, and the result norm2 is 2×3"),
        ({"targets": 1}, "did you mean 'target'?"),
        (3, "a mapping with keys"),
    ],
)
def test_a_loss_that_cannot_be(loss: Any, said: str) -> None:
    from blockcalc.views.errors import report

    spec = load(THREE)
    data = {"x": spec.arrays["x"], "attn": {k[5:]: v for k, v in spec.arrays.items() if k[:4] == "attn"},
            "ffn": {k[4:]: v for k, v in spec.arrays.items() if k[:3] == "ffn"}, "loss": loss}  # fmt: skip
    with pytest.raises(InputError) as caught:
        load(data)
    assert said in report(caught.value)


def test_the_loss_of_a_file() -> None:
    assert load(THREE, [("loss.target", "[[1, 2, 3], [4, 5, 6]]")]).loss == "mse"
    assert load(THREE, [("loss.with", "[[1, 2, 3], [4, 5, 6]]")]).loss == "dot"
    spec = load(THREE, [("loss.kind", "sum")])
    assert work_gradients(spec)["loss"][0] == pytest.approx(blockcalc.run(spec)["out"].sum())
    assert Text().symbol("grad:gamma^(1)") == "dγ⁽¹⁾"
    assert Latex().symbol("grad:W_Q") == r"\mathrm{d}W_{Q}"


# the command --------------------------------------------------------------------------------------


def test_the_command_shows_and_exports(tmp_path: Path) -> None:
    out = text(cli("grad", THREE, "--numeric", "--lr", "0.1"))
    assert "All gradients agree" in out
    assert "loss before 1.08436, after" in out
    data = json.loads(text(cli("export", THREE, "--grad", "--json")))
    assert data["steps"]["grad.attn.w_q"]["formula"] == "dW_Q = Xᵀ dQ"
    assert data["steps"]["grad.attn.w_q"]["latex"] == r"\mathrm{d}W_{Q} = X^{\top}\, \mathrm{d}Q"
    target = tmp_path / "a.npz"
    assert cli("export", THREE, "--grad", "-o", str(target)).returncode == 0
    z = np.load(target)
    trace = work_gradients(load(THREE))
    assert np.array_equal(z["grad.attn.w_q"], trace["grad.attn.w_q"])
    assert "grad.attn.out" in dict(z["aliases"])
    some = text(cli("grad", THREE, "--steps", "grad.scores", "--no-prose"))
    assert "dS = dS_scaled / √d_head" in some
    stacked = text(cli("grad", THREE, "--depths", "1,2"))
    assert "post-norm" in stacked
    assert "pre-norm" in stacked
    assert "Forward in brief" not in text(cli("grad", THREE, "--detail", "cells"))


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("grad", THREE, "--loss", "dot"), "loss dot needs a matrix"),
        (("grad", THREE, "--numeric", "--round", "3"), "rounding every step leaves none"),
        (("grad", THREE, "--lr", "0"), "--lr is a number above 0"),
        (("grad", THREE, "--lr", "fast"), "--lr is a number above 0"),
        (("grad", THREE, "--depths", "1,0"), "--depths takes numbers"),
        (("export", THREE, "--json", "--chain"), "go with --grad"),
        (("grad", THREE, "--set", "loss.with=[[1]]"), "loss.with is 1×1"),
    ],
)
def test_what_the_command_refuses(args: tuple[str, ...], said: str) -> None:
    done = cli(*args)
    assert done.returncode == 2
    assert said in done.stderr.decode()
    assert done.stdout == b""


@pytest.mark.parametrize("stop", ["max", "shifted", "exp", "sum"])
def test_a_stop_inside_a_shifted_softmax_is_refused(stop: str) -> None:
    spec = load(THREE, [("attn.softmax", "shifted"), ("stop", f"attn.weights.{stop}")])
    with pytest.raises(UsageError, match="inside a softmax"):
        work_gradients(spec, "sum")
    plain = load(THREE, [("attn.softmax", "plain"), ("stop", "attn.weights.exp")])
    assert gradient_of(work_gradients(plain, "sum"), "attn.w_q").any()


def test_remarks_are_of_numbers() -> None:
    from blockcalc.gradients.tables import numeric

    spec = load(THREE)
    trace = work_gradients(spec)
    trace = changed(trace, "grad.attn.w_v", 1)
    pieces = list(numeric(differences(spec, None, trace)))
    assert any(isinstance(p, Remark) and "grad.attn.w_v disagrees" in p.text for p in pieces)


# what an attack found -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_slopes_stay_in_range(name: str) -> None:
    from blockcalc.ops.derivative import derivative
    from blockcalc.ops.evaluate import arrays

    xs = np.array([-1e3, -705.0, -30.0, 30.0, 1e3])
    slopes = np.broadcast_to(arrays(derivative(ACTIVATIONS[name].body, 0), [xs]), xs.shape)
    assert np.isfinite(slopes).all()
    flat = {"tanh": 0, "sigmoid": 0}.get(name, 1)
    assert slopes[-1] == pytest.approx(flat, abs=1e-12)
    assert slopes[0] == pytest.approx(1 if name == "identity" else 0, abs=1e-12)


def test_numeric_moves_as_little_as_it_must() -> None:
    even = {
        "x": [[1, 1, 1], [1, 2, 4]],
        "attn": {"out": [[1, 1, 1], [0, 0, 1]]},
        "loss": {"with": [[1, 2, 3], [3, 1, 2]]},
    }
    for norm in ({"eps": 1e-3, "eps_place": "outside"}, {"eps": 1e-8}, {"eps": 0}):
        spec = load({**even, "norm": norm})
        found = differences(spec, None, work_gradients(spec))
        assert not any(d.wrong or d.unjudged for d in found), norm
    small = {
        "x": [[1e-160, 2e-160]],
        "attn": {"out": [[1e-160, 1e-160]]},
        "stop": "residual1",
        "loss": {"kind": "sum"},
    }
    spec = load(small)
    assert all(d.relative <= 1e-6 for d in differences(spec, None, work_gradients(spec)))


def test_reasons_are_true() -> None:
    spec = load(THREE)
    rows = _table(spec, work_gradients(spec, "sum"))
    assert rows["grad.x"][5] == "the sum of a normalized row is always 0"
    some = _table(spec, work_gradients(spec))["grad.ffn.w_1"]
    assert some[4:] == ("4/9", "ReLU gives 0 there for every token (3 of 4)")
    eye = {"eye": 3}
    data = {"x": [[1, 0, 2], [0, 1, 4]], "attn": {"w_q": eye, "w_k": eye, "w_v": eye, "padding": ["keep", "pad"]},
            "stop": "attn.z", "loss": {"kind": "sum"}}  # fmt: skip
    trace = work_gradients(load(data))
    assert np.abs(trace["grad.attn.v"][1]).max() == 0


def test_a_query_that_sees_nothing_is_told_of_backward_too() -> None:
    eye = {"eye": 3}
    data = {"x": [[1, 0, 2], [0, 1, 4]], "attn": {"w_q": eye, "w_k": eye, "w_v": eye, "mask": {"keep": [[0, 0], [1, 1]]}},
            "loss": {"with": [[1, 2, 3], [3, 1, 2]]}}  # fmt: skip
    spec = load(data)
    steps = {p.name: p for p in _steps(spec, work_gradients(spec))}
    assert (
        "A query whose keys are all masked passes no gradient on: row 1."
        in steps["grad.attn.masked"].notes
    )
    forward = {p.name: p for p in _steps(spec, work_gradients(spec), detail="cells")}[
        "attn.weights"
    ]
    assert (
        forward.lines[0].words == "0/0 on paper; taken as 0, for every key of this query is masked"
    )


def test_names_of_gradients() -> None:
    stack = load(next(str(p) for p in SAMPLES if p.stem == "stack"))
    trace = work_gradients(stack)
    for name in (
        "grad.out",
        "grad.blocks.0",
        "grad.blocks.0.attn",
        "grad.blocks.1.norm1.normalized",
    ):
        assert trace[name].shape
    chosen = [p.name for p in _steps(stack, trace, patterns=("grad.attn.*",))]
    assert {f"grad.blocks.{i}.attn.{part}" for i in (0, 1) for part in ("scores", "w_q")} <= set(
        chosen
    )
    assert not any(".ffn." in name for name in chosen)
    rounded = load(THREE, [("round.decimals", "2")])
    shown = [p for p in _steps(rounded, work_gradients(rounded)) if p.name == "grad.x"]
    assert max(len(f.digits) for row in shown[0].grids[0].rows for f in row) <= 8


@pytest.mark.parametrize("option", [("--numeric",), ("--lr", "1"), ("--chain",), ("--steps", "x")])
def test_stacks_are_shown_alone(option: tuple[str, ...]) -> None:
    done = cli("grad", THREE, "--depths", "1", *option)
    assert done.returncode == 2
    assert "--depths shows stacks alone" in done.stderr.decode()
    assert (
        "take stop away"
        in cli("grad", THREE, "--depths", "1", "--set", "stop=attn.z").stderr.decode()
    )


def test_a_norm_neither_overflows_nor_vanishes() -> None:
    assert norm_of(np.array([3e200, -4e200])) == pytest.approx(5e200, rel=1e-15)
    assert norm_of(np.array([3e-200, 4e-200])) == pytest.approx(5e-200, rel=1e-15)
    assert norm_of(np.array([3.0, 4.0])) == 5.0
    assert norm_of(np.array([[0.0], [0.0]])) == norm_of(np.array([])) == 0.0


def test_the_table_of_huge_gradients_is_finite() -> None:
    spec = blockcalc.loads(
        "x: [[1, 2, 4]]\nattn: {out: [[1, 1, 0]]}\nffn: {w_1: [[-1e160], [0], [1e160]], w_2: [[1, 1, 3]]}\n"
        "norm: {order: pre, eps: 1}\n"
    )
    trace = work_gradients(spec, "sum")
    table = [p for p in explain_gradient(spec, trace) if isinstance(p, Listing)][-1]
    assert table.rows[-1][1] == "2.683×10¹⁶⁰"
    assert table.rows[0][1] == "3.286×10¹⁶⁰"
