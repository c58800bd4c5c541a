"""The expression tree of one cell.

An operation defines a cell once, as a tree. With names at its leaves the tree is the formula,
with numbers it is the arithmetic, and evaluated it is the value. All three come from the same
tree, so they cannot disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from blockcalc.records import dataclass

Value = Any  # a Python float, or an array with one entry per cell
At = tuple[int, ...]


class Expr:
    """Base class of all nodes; Python's operators build trees."""

    __slots__ = ()
    __array_ufunc__ = None  # NumPy arrays on the left defer to these operators

    def __add__(self, other: Expr | float) -> Expr:
        return Binary("+", self, lift(other))

    def __radd__(self, other: float) -> Expr:
        return Binary("+", lift(other), self)

    def __sub__(self, other: Expr | float) -> Expr:
        return Binary("-", self, lift(other))

    def __rsub__(self, other: float) -> Expr:
        return Binary("-", lift(other), self)

    def __mul__(self, other: Expr | float) -> Expr:
        return Binary("*", self, lift(other))

    def __rmul__(self, other: float) -> Expr:
        return Binary("*", lift(other), self)

    def __truediv__(self, other: Expr | float) -> Expr:
        return Binary("/", self, lift(other))

    def __rtruediv__(self, other: float) -> Expr:
        return Binary("/", lift(other), self)

    def __pow__(self, other: float) -> Expr:
        return Binary("^", self, lift(other))

    def __abs__(self) -> Expr:
        return call("abs", self)

    def __neg__(self) -> Expr:
        return Binary("*", Num(-1.0), self)


@dataclass(frozen=True, slots=True)
class Num(Expr):
    """A constant; a formula shows its symbol, arithmetic its value."""

    value: float
    symbol: str | None = None


@dataclass(frozen=True, slots=True)
class Name(Expr):
    """A whole matrix, by its symbol in formulas."""

    symbol: str


@dataclass(frozen=True, slots=True)
class Cell(Expr):
    """One entry of operand number ``operand`` of an equation."""

    operand: int
    at: At


@dataclass(frozen=True, slots=True)
class Figure(Expr):
    """A number with fixed digits: ``digits × 10^exponent``."""

    digits: str
    exponent: int | None = None

    @property
    def negative(self) -> bool:
        return self.digits.startswith("-")


@dataclass(frozen=True, slots=True)
class Blank(Figure):
    """A number that is left open, with room to write it; ``digits`` is how text shows it.

    Attributes
    ----------
    number : int
        Its number among the blanks of a worksheet; 0 if it is not asked for.
    wide : bool
        Whether there is room for arithmetic.
    """

    number: int = 0
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Slot(Expr):
    """A placeholder for an operand in the body of an elementwise operation."""

    index: int


ITSELF = Slot(0)  # the body of an operation that only sums or moves its operand


@dataclass(frozen=True, slots=True)
class Dots(Expr):
    """Terms left out of a long line; such a line is marked."""


@dataclass(frozen=True, slots=True)
class Binary(Expr):
    """``+ - * / ^`` between numbers; ``@`` is the matrix product, ``.`` the elementwise product."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Call(Expr):
    """A call of a named function."""

    function: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Fold(Expr):
    """Many terms reduced by one operation: ``+`` or ``max``."""

    op: str
    terms: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Over(Expr):
    """In a formula: ``sum`` or ``max`` of the body along each row."""

    kind: str
    body: Expr


def lift(value: Expr | float) -> Expr:
    """Convert a plain number to a node."""
    return value if isinstance(value, Expr) else Num(float(value))


FUNCTIONS = (
    "exp", "ln", "sqrt", "abs", "tanh", "cos", "sin", "erfc", "max", "ratio", "over", "mask", "step", "allowed",
)  # fmt: skip
SELECTIONS = ("mask", "step", "allowed")  # these select, and do not count as operations


def call(function: str, *args: Expr | float) -> Call:
    """Build a call of one of ``FUNCTIONS``; plain numbers become nodes."""
    if function not in FUNCTIONS:
        raise ValueError(f"no function {function!r}; there are {', '.join(FUNCTIONS)}")
    return word(function, *args)


def word(name: str, *args: Expr | float) -> Call:
    """Build a call of a name that only formulas have, such as ``transpose``; it has no value."""
    return Call(name, tuple(lift(a) for a in args))


def sqrt(x: Expr | float) -> Expr:
    """Build a square root."""
    return call("sqrt", x)


def exp(x: Expr | float) -> Expr:
    """Build an exponential."""
    return call("exp", x)


def power_of_2(x: Expr | float) -> Expr:
    """Build a power of 2."""
    return Binary("^", Num(2.0), lift(x))


def ratio(a: Expr, b: Expr) -> Expr:
    """Build a quotient with 0/0 = 0."""
    return call("ratio", a, b)


def substitute(expr: Expr, leaf: Callable[[Expr], Expr]) -> Expr:
    """Replace every leaf by the result of ``leaf``."""
    match expr:
        case Binary(op=op, left=left, right=right):
            return Binary(op, substitute(left, leaf), substitute(right, leaf))
        case Call(function=function, args=args):
            return Call(function, tuple(substitute(a, leaf) for a in args))
        case Fold(op=op, terms=terms):
            return Fold(op, tuple(substitute(t, leaf) for t in terms))
        case Over(kind=kind, body=body):
            return Over(kind, substitute(body, leaf))
        case _:
            return leaf(expr)


def one_plus_exp(expr: Expr) -> Expr | None:
    """Return v if a tree has the form 1 + e^v, whose exponential may overflow; else None.

    Examples
    --------
    >>> one_plus_exp(1.0 + exp(Slot(0)))
    Slot(index=0)
    """
    match expr:
        case Binary("+", Num(1.0), Call("exp", (v,))):
            return v
    return None


def fill(body: Expr, operands: Sequence[Expr] | Mapping[int, Expr]) -> Expr:
    """Replace the slots of a body by operands: slot i by ``operands[i]``."""
    return substitute(body, lambda e: operands[e.index] if isinstance(e, Slot) else e)


def entrywise(formula: Expr) -> Expr:
    """Write elementwise products of two matrices as ⊙, not as matrix products."""
    match formula:
        case Binary(op="*", left=left, right=right) if not (
            isinstance(left, Num) or isinstance(right, Num)
        ):
            return Binary(".", entrywise(left), entrywise(right))
        case Binary(op=op, left=left, right=right):
            return Binary(op, entrywise(left), entrywise(right))
        case Call(function="over" | "ratio", args=args):
            return Call(formula.function, tuple(entrywise(arg) for arg in args))
        case _:
            return formula


def walk(expr: Expr) -> Iterator[Expr]:
    """Yield every node, parents first, left to right."""
    yield expr
    match expr:
        case Binary(left=left, right=right):
            yield from walk(left)
            yield from walk(right)
        case Call(args=children) | Fold(terms=children):
            for child in children:
                yield from walk(child)
        case Over(body=body):
            yield from walk(body)


def operations(expr: Expr) -> int:
    """Count the operations of evaluating a tree: each operator and each function is one.

    Operations between constants and selections are not counted.

    Examples
    --------
    >>> operations(Slot(0) / sqrt(Num(2.0)) + exp(Slot(1)))
    3
    """
    if not any(isinstance(e, Slot | Cell) for e in walk(expr)):
        return 0
    match expr:
        case Binary(left=left, right=right):
            return 1 + operations(left) + operations(right)
        case Call(function=function, args=args):
            counted = 0 if function in SELECTIONS else 1
            return counted + sum(operations(arg) for arg in args)
        case Fold(terms=terms):
            return len(terms) - 1 + sum(operations(term) for term in terms)
        case _:
            return 0
