"""Lines of arithmetic: the tree of a cell with digits that make the line correct as printed.

A line gets ``=`` only if it is exact in the digits shown, otherwise ``≈``; then the operands
get more digits until evaluating the printed line gives the result to half a unit of its last
digit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal, DivisionByZero, InvalidOperation, Overflow, localcontext
from fractions import Fraction

from blockcalc.explain.document import Line
from blockcalc.messages import known, say
from blockcalc.notation.digits import constant, exact_figure, fraction_of, power_figure, unit_of
from blockcalc.ops.evaluate import FUNCTIONS, evaluate, exact_value
from blockcalc.ops.expr import Binary, Call, Cell, Dots, Expr, Figure, Fold, Num, substitute, walk
from blockcalc.ops.rotate import Rotate
from blockcalc.program.program import Equation, Section

MOST_EXTRA = 17
MOST_TERMS = 12
_KEPT_TERMS = (6, 2)  # how many first and last terms of a long sum are shown

Show = Callable[[Cell, int], Figure]
Number = Callable[[Cell], float]


def work(left: Expr, cell: Expr, number: Number, show: Show, result: Figure, whole: bool) -> Line:
    """Make the line for one cell.

    Parameters
    ----------
    left : Expr
        The cell to compute, such as ``S[1,2]``.
    cell : Expr
        Its tree, with cells and constants at the leaves.
    number : callable
        The value of a cell.
    show : callable
        The figure of a cell with a number of extra digits.
    result : Figure
        The value as its table shows it.
    whole : bool
        Whether a sum of many terms is written out.
    """
    if not whole:
        short = _shorten(cell)
        if short is not cell:
            middle = _figures(short, show, 0)
            exact = not _rounded(short, number, show, 0)
            return Line(left, "=" if exact else "≈", middle, "≈", result, True)
    for extra in range(MOST_EXTRA):
        middle = _figures(cell, show, extra)
        if holds(middle, result):
            break
    else:
        shorter = _fewer(middle, result)
        if shorter is None:
            return Line(left, "=", None, "=", result)
        result = shorter
    exactly = exact_value(middle, printed)
    blocked = result.digits == "-inf"
    exact = blocked or (exactly is not None and exactly == fraction_of(result))
    equals = "=" if exact else "≈"
    relation = "≈" if _rounded(cell, number, show, extra) else "="
    return Line(left, relation, middle, equals, result)


def why_not(cell: Expr, show: Show, result: Figure) -> str:
    """Give the key of the text that says why a cell has no arithmetic."""
    if result.digits == "-inf":
        return "words.nothing"
    middle = _figures(cell, show, MOST_EXTRA - 1)
    outside = exact_value(middle, printed) is None and precise_value(middle) is None
    return "words.range" if outside else "words.lost"


def _figures(cell: Expr, show: Show, extra: int) -> Expr:
    def leaf(e: Expr) -> Expr:
        if isinstance(e, Cell):
            return show(e, extra)
        if isinstance(e, Num) and not _kept(e):
            return constant(e.value)
        return e

    return substitute(cell, leaf)


def _kept(e: Num) -> bool:
    """Tell whether a constant is printed as a symbol: a bare minus, and π."""
    return e.value == -1 or e.symbol == "pi"


def _rounded(cell: Expr, number: Number, show: Show, extra: int) -> bool:
    """Tell whether an operand is shown with fewer digits than it has."""
    for e in walk(cell):
        if isinstance(e, Cell):
            x, shown = number(e), show(e, extra)
            if math.isfinite(x) and fraction_of(shown) != fraction_of(exact_figure(x)):
                return True
    return False


def _shorten(cell: Expr) -> Expr:
    """Leave out the middle terms of long sums."""
    match cell:
        case Fold(op=op, terms=terms) if len(terms) > MOST_TERMS:
            head, tail = _KEPT_TERMS
            return Fold(op, (*terms[:head], Dots(), *terms[-tail:]))
        case Binary(op=op, left=left, right=right):
            short = _shorten(left)
            return cell if short is left else Binary(op, short, right)
        case _:
            return cell


def holds(middle: Expr, result: Figure) -> bool:
    """Tell whether a line is correct as printed: its value rounds to the result."""
    if result.digits in ("inf", "-inf"):
        return bool(evaluate(middle, as_float) == float(result.digits))
    unit, shown = unit_of(result), fraction_of(result)
    exactly = exact_value(middle, printed)
    if exactly is None:
        near = precise_value(middle)
        return near is not None and abs(near[0] - shown) < unit / 2 - near[1]
    gap = abs(exactly - shown)
    return gap < unit / 2 or (gap == unit / 2 and abs(shown) > abs(exactly))


def precise_value(middle: Expr) -> tuple[Fraction, Fraction] | None:
    """Evaluate a printed line to 40 digits; return the value and its error bound.

    Functions without a precise form have float64 precision. None if the value is out of range.
    """
    with localcontext(_PRECISE):
        try:
            value = _precise(middle, _NO_CELLS)
        except ArithmeticError:
            return None
        if not value.is_finite():
            return None
        rough = any(isinstance(e, Call) and e.function not in _PRECISE_CALLS for e in walk(middle))
        return Fraction(value), abs(Fraction(value)) * Fraction(1, 10 ** (12 if rough else 30))


def decimal_value(tree: Expr, number: Callable[[Cell], Decimal], digits: int) -> Decimal | None:
    """Evaluate a tree with some digits; ``number`` is the value of a cell.

    None if it is out of range, or has a function without a precise form.
    """
    for e in walk(tree):
        if isinstance(e, Call) and e.function not in _PRECISE_CALLS:
            return None
        if isinstance(e, Num) and e.symbol == "pi" and digits > _PRECISE.prec:
            return None
    with localcontext(_PRECISE) as context:
        context.prec = digits
        try:
            return _precise(tree, number)
        except ArithmeticError:
            return None


def _precise(e: Expr, number: Callable[[Cell], Decimal]) -> Decimal:
    match e:
        case Figure():
            return Decimal(e.digits) * Decimal(10) ** (e.exponent or 0)
        case Cell():
            return number(e)
        case Num(value=value, symbol=symbol):
            return _PI if symbol == "pi" else Decimal(value)
        case Fold(op="+", terms=terms):
            return sum((_precise(t, number) for t in terms), Decimal(0))
        case Fold(terms=terms):
            return max(_precise(t, number) for t in terms)
        case Binary(op=op, left=left, right=right):
            return _PRECISE_BINARY[op](_precise(left, number), _precise(right, number))
        case Call("ln", (Binary("+", one, Call("exp") as power),)) if _precise(one, number) == 1:
            return _ln_of_1_and(_precise(power, number))
        case Call(function=function, args=args):
            values = [_precise(a, number) for a in args]
            if function in _PRECISE_CALLS:
                return _PRECISE_CALLS[function](*values)
            return Decimal(float(FUNCTIONS[function](*map(float, values))))
    raise TypeError(type(e).__name__)


def _ln_of_1_and(x: Decimal) -> Decimal:
    """Give ln(1 + x) for x above 0, which 40 digits would lose beside 1."""
    with localcontext() as wider:
        if x.adjusted() < -wider.prec // 2:
            return x - x * x / 2
        wider.prec += wider.prec // 2
        return (1 + x).ln()


_NO_CELLS = dict[Cell, Decimal]().__getitem__  # a printed line has figures in their place
_PRECISE = Context(
    prec=40, Emax=10**6, Emin=-(10**6), traps=[InvalidOperation, DivisionByZero, Overflow]
)
_PI = Decimal("3.141592653589793238462643383279502884197169")
_PRECISE_BINARY: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "^": lambda a, b: a**b,
}
_PRECISE_CALLS: dict[str, Callable[..., Decimal]] = {
    "sqrt": lambda x: x.sqrt(),
    "ln": lambda x: x.ln(),
    "abs": abs,
    "exp": lambda x: x.exp(),
    "max": max,
    "ratio": lambda a, b: a / b,
    "over": lambda a, b: a / b if b else Decimal(0),
    "step": lambda x: Decimal(int(x > 0)),
    "allowed": lambda keep: Decimal(int(keep != 0)),
    "tanh": lambda x: 1 - 2 / ((2 * x).exp() + 1),
    "mask": lambda x, allowed: x if allowed else Decimal("-inf"),
}


def as_float(e: Expr) -> float:
    """Give the value of a printed leaf as a float."""
    assert isinstance(e, Figure)
    return float(e.digits if e.exponent is None else f"{e.digits}e{e.exponent}")


def _fewer(middle: Expr, result: Figure) -> Figure | None:
    """Drop digits of the result until the line is correct; None if it never is."""
    value = as_float(result)
    if math.isinf(value):
        return None
    for digits in range(len(result.digits) - 1, 0, -1):
        shorter = power_figure(value, digits) if value else result
        if holds(middle, shorter):
            return shorter
    return None


def printed(leaf: Expr) -> Fraction | None:
    """Give the exact value of a printed leaf; None if it is infinite or not a figure."""
    if not isinstance(leaf, Figure) or leaf.digits in ("inf", "-inf"):
        return None
    return fraction_of(leaf)


def divides_by_nothing(tree: Expr, number: Number) -> bool:
    """Tell whether a gradient divides by 0, which gives 0 by convention."""
    divisors = (e.args[1] for e in walk(tree) if isinstance(e, Call) and e.function == "over")
    return any(
        evaluate(d, lambda e: number(e) if isinstance(e, Cell) else 0.0) == 0 for d in divisors
    )


def no_answer(tree: Expr, number: Number) -> bool:
    """Tell whether the divisor of a quotient is 0."""
    *_, divisor = (e for e in walk(tree) if isinstance(e, Cell))
    return number(divisor) == 0


def same_words(eq: Equation) -> str:
    """Say why an entry is copied unchanged from an operand."""
    return say("words.unturned" if isinstance(eq.op, Rotate) else "words.same")


def undefined_words(section: Section | None) -> str:
    """Say why a quotient of a section is 0 where its divisor is 0."""
    key = f"words.undefined.{section.kind}" if section is not None else ""
    return say(key if known(key) else "words.undefined")
