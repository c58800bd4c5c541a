"""Formulas in MathML Core, which browsers show without help."""

from __future__ import annotations

from collections.abc import Sequence

from blockcalc.notation.alphabets import (
    ATOM,
    GRADIENT,
    MATRIX,
    POWER,
    PRODUCT,
    SUM,
    Alphabet,
    Text,
)
from blockcalc.notation.digits import constant
from blockcalc.ops.expr import Binary, Expr, Figure, Fold, Num
from blockcalc.views.html.text import safe

_SIGNS = {"*": "×", ".": "⊙", "+": "+", "-": "−"}
_BETWEEN = '<mspace width="0.17em"></mspace>'  # a matrix product has no sign
_LEVELS = {"+": SUM, "-": SUM, "*": PRODUCT, "@": MATRIX, ".": PRODUCT}
_TEXT = Text()


def _row(*parts: str) -> str:
    return f"<mrow>{''.join(parts)}</mrow>"


def _sign(sign: str) -> str:
    return f"<mo>{safe(sign)}</mo>"


def _name(name: str) -> str:
    """Write an identifier: upright if it has several letters."""
    return f"<mi>{safe(name)}</mi>"


class MathMl(Alphabet):
    """The alphabet of MathML.

    Examples
    --------
    >>> from blockcalc.ops.expr import Name
    >>> MathMl().render(Binary("/", Name("S"), Num(2.0)))
    '<mfrac><mi>S</mi><mn>2</mn></mfrac>'
    >>> MathMl().symbol("W_Q")
    '<msub><mi>W</mi><mi>Q</mi></msub>'
    """

    dots = "<mo>…</mo>"

    def equation(self, left: Expr, right: Expr) -> str:
        """Write an equation as a whole, with its plain text for those who see no MathML."""
        plain = f"{_TEXT.render(left)} = {_TEXT.render(right)}"
        inside = _row(self.render(left), _sign("="), self.render(right))
        return f'<math displaystyle="true" aria-label="{safe(plain)}">{inside}</math>'

    def alone(self, expr: Expr) -> str:
        """Write an expression that is no equation, with its plain text."""
        return f'<math aria-label="{safe(_TEXT.render(expr))}">{self.render(expr)}</math>'

    def symbol(self, symbol: str) -> str:
        """Write a symbol with its subscript and superscript."""
        if symbol.startswith(GRADIENT):
            return _row(_name("d"), self.symbol(symbol.removeprefix(GRADIENT)))
        base, _, raised = symbol.partition("^")
        base, _, lowered = base.partition("_")
        if not base:
            return _name(symbol)
        own = _name(_TEXT.symbol(base))
        if lowered and raised:
            return f"<msubsup>{own}{_name(lowered)}{_name(raised)}</msubsup>"
        if lowered:
            return f"<msub>{own}{_name(lowered)}</msub>"
        return f"<msup>{own}{_name(raised)}</msup>" if raised else own

    def figure(self, f: Figure) -> str:
        """Write a number, with its power of ten."""
        sign = _sign("−") if f.negative else ""
        digits = f"<mn>{safe(f.digits.lstrip('-').replace('inf', '∞'))}</mn>"
        if f.exponent is not None:
            power = f"<msup><mn>10</mn><mn>{f.exponent}</mn></msup>"
            digits = _row(digits, _sign("×"), power)
        return _row(sign, digits) if sign else digits

    def _at(self, expr: Expr, level: int, first: bool = True) -> str:
        text, own = self._form(expr)
        negative = isinstance(expr, Figure) and expr.negative and not (first and level <= SUM)
        return _row(_sign("("), text, _sign(")")) if own < level or negative else text

    def _form(self, expr: Expr) -> tuple[str, int]:
        if isinstance(expr, Fold) and expr.op == "+":
            parts = [self._at(term, SUM, i == 0) for i, term in enumerate(expr.terms)]
            return _row(_sign("+").join(parts)), SUM if len(parts) > 1 else ATOM
        return super()._form(expr)

    def _over(self, kind: str, body: Expr) -> tuple[str, int]:
        if kind == "sum":
            return _row(_sign("∑"), self._at(body, PRODUCT)), PRODUCT
        return self._call(kind, (body,))

    def _call(self, function: str, args: Sequence[Expr]) -> tuple[str, int]:
        inside = _sign(",").join(self._at(a, 0) for a in args)
        match function:
            case "at":
                where = _sign(",").join(self._at(a, 0) for a in args[1:])
                return _row(self._at(args[0], 0), _sign("["), where, _sign("]")), ATOM
            case "transpose":
                return f"<msup>{self._at(args[0], ATOM)}{_sign('⊤')}</msup>", POWER
            case "sqrt":
                return f"<msqrt>{inside}</msqrt>", ATOM
            case "exp":
                return f"<msup><mi>e</mi>{_row(inside)}</msup>", POWER
            case "abs":
                return _row(_sign("|"), inside, _sign("|")), ATOM
        return _row(_name(function), _sign("("), inside, _sign(")")), ATOM

    def _binary(self, expr: Binary) -> tuple[str, int]:
        op, left, right = expr.op, expr.left, expr.right
        if op == "/":
            return f"<mfrac>{self._at(left, 0)}{self._at(right, 0)}</mfrac>", ATOM
        if op == "*" and left == Num(-1.0):
            return _row(_sign("−"), self._at(right, PRODUCT, False)), SUM
        if op == "^":
            number = isinstance(right, Num)
            power = self.figure(constant(right.value)) if number else self._at(right, 0)  # type: ignore[attr-defined]
            return f"<msup>{self._at(left, ATOM, False)}{power}</msup>", POWER
        level = _LEVELS[op]
        b = self._at(right, level + 1 if op == "-" else level, False)
        sign = _BETWEEN if op == "@" else _sign(_SIGNS[op])
        return _row(self._at(left, level), sign, b), level
