"""Write expressions and numbers in each alphabet: text, plain text, LaTeX, Typst.

Symbols are stored in ASCII, ``W_Q``, ``R^(1)``, ``mu^(1)``; an alphabet decides how they are
printed.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from blockcalc.notation.digits import constant
from blockcalc.notation.signs import GREEK
from blockcalc.ops.expr import Binary, Blank, Call, Dots, Expr, Figure, Fold, Name, Num, Over, walk
from blockcalc.records import dataclass

# operator precedence: an operand with a lower one is put in brackets
SUM, PRODUCT, MATRIX, POWER, ATOM = 1, 2, 3, 4, 5
_LEVELS = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "@": MATRIX, ".": PRODUCT, "^": POWER}

GRADIENT = "grad:"  # prefix of the symbol of a gradient
_SYMBOL = re.compile(r"(?P<base>[^_^]+)(?:_(?P<sub>[^^]+))?(?:\^(?P<sup>.+))?")
_TEXT_OPERATORS = {"+": " + ", "-": " - ", "*": "×", "/": " / ", "@": " ", ".": " ⊙ "}
_PLAIN_OPERATORS = {**_TEXT_OPERATORS, "*": "x", ".": " (*) "}
_RAISED = str.maketrans("0123456789()+-f", "⁰¹²³⁴⁵⁶⁷⁸⁹⁽⁾⁺⁻ᶠ")


class Alphabet(ABC):
    """Writes expression trees; subclasses define the signs."""

    dots = "…"

    def render(self, expr: Expr) -> str:
        """Write an expression on one line."""
        return self._at(expr, 0)

    @abstractmethod
    def symbol(self, symbol: str) -> str:
        """Write a symbol."""

    @abstractmethod
    def figure(self, f: Figure) -> str:
        """Write a number."""

    def _at(self, expr: Expr, level: int, first: bool = True) -> str:
        text, own = self._form(expr)
        if isinstance(expr, Figure) and expr.negative and not (first and level <= SUM):
            return f"({text})"
        return f"({text})" if own < level else text

    def _form(self, expr: Expr) -> tuple[str, int]:
        match expr:
            case Figure():
                return self.figure(expr), PRODUCT if expr.exponent is not None else ATOM
            case Num(value=value, symbol=symbol):
                return (
                    (self.symbol(symbol), ATOM) if symbol else (self.figure(constant(value)), ATOM)
                )
            case Name(symbol=symbol):
                return self.symbol(symbol), POWER if "^" in symbol else ATOM
            case Dots():
                return self.dots, ATOM
            case Fold(op="+", terms=terms):
                parts = [self._at(t, SUM, i == 0) for i, t in enumerate(terms)]
                return " + ".join(parts), SUM if len(parts) > 1 else _level(terms[0])
            case Fold(op=op, terms=terms):
                return self._call(op, terms)
            case Over(kind=kind, body=body):
                return self._over(kind, body)
            case Call(function="ratio" | "over", args=args):
                return self._binary(Binary("/", *args))
            case Call(function=function, args=args):
                return self._call(function, args)
            case Binary(op="*", left=Num(value=-1.0, symbol=None), right=right):
                return f"-{self._at(right, PRODUCT, False)}", SUM
            case Binary():
                return self._binary(expr)
        raise TypeError(type(expr).__name__)

    @abstractmethod
    def _over(self, kind: str, body: Expr) -> tuple[str, int]: ...

    @abstractmethod
    def _call(self, function: str, args: Sequence[Expr]) -> tuple[str, int]: ...

    @abstractmethod
    def _binary(self, expr: Binary) -> tuple[str, int]: ...

    def _exponent(self, power: Expr, level: int = 0) -> str:
        """Write an exponent; a constant is shown by its value."""
        return (
            self.figure(constant(power.value)) if isinstance(power, Num) else self._at(power, level)
        )

    def _infix(self, expr: Binary, signs: Mapping[str, str]) -> tuple[str, int]:
        """Write two operands with a sign between them."""
        level = _LEVELS[expr.op]
        right = self._at(expr.right, level + 1 if expr.op in "-/" else level, False)
        return self._at(expr.left, level) + signs[expr.op] + right, level


@dataclass(frozen=True)
class Text(Alphabet):
    """The alphabet of a terminal; ``plain`` uses only ASCII.

    Examples
    --------
    >>> Text().render(Binary("*", Figure("0.5"), Figure("-0.3")))
    '0.5×(-0.3)'
    """

    plain: bool = False

    def symbol(self, symbol: str) -> str:
        """Write a symbol: ``R⁽¹⁾``, ``W_Q``, ``μ⁽¹⁾``, ``dW_Q``."""
        if symbol.startswith(GRADIENT):
            return "d" + self.symbol(symbol.removeprefix(GRADIENT))
        found = _SYMBOL.fullmatch(symbol)
        if found is None:
            return symbol
        base, sub, sup = found["base"], found["sub"], found["sup"]
        if not self.plain:
            base = GREEK.get(base, base)
        out = base + (f"_{sub}" if sub else "")
        if sup:
            out += f"^{sup}" if self.plain else sup.translate(_RAISED)
        return out

    def figure(self, f: Figure) -> str:
        """Write a number: ``-0.5``, ``1.2×10⁻⁵``, ``-∞``."""
        digits = f.digits if self.plain else f.digits.replace("inf", "∞")
        if f.exponent is None:
            return digits
        if self.plain:
            return f"{digits}e{f.exponent}"
        return f"{digits}×10{str(f.exponent).translate(_RAISED)}"

    @property
    def dots(self) -> str:  # type: ignore[override]
        """Give the mark for omitted terms."""
        return "..." if self.plain else "…"

    def _over(self, kind: str, body: Expr) -> tuple[str, int]:
        if kind == "sum":
            return ("sum " if self.plain else "Σ ") + self._at(body, PRODUCT), PRODUCT
        return f"{kind}({self._at(body, 0)})", ATOM

    def _call(self, function: str, args: Sequence[Expr]) -> tuple[str, int]:
        match function:
            case "at":
                where = ",".join(self._at(a, 0) for a in args[1:])
                return f"{self._at(args[0], 0)}[{where}]", ATOM
            case "transpose":
                return self._at(args[0], ATOM) + ("^T" if self.plain else "ᵀ"), ATOM
            case "abs":
                return f"|{self._at(args[0], 0)}|", ATOM
            case "sqrt":
                inside = self._at(args[0], 0)
                if self.plain:
                    return f"sqrt({inside})", ATOM
                alone = isinstance(args[0], Figure | Num | Name) and inside[0] != "-"
                return f"√{inside}" if alone and "×" not in inside else f"√({inside})", ATOM
        return f"{function}({', '.join(self._at(a, 0) for a in args)})", ATOM

    def _binary(self, expr: Binary) -> tuple[str, int]:
        if expr.op == "^":
            power = self._exponent(expr.right, ATOM)
            high = not self.plain and all(ord(c) in _RAISED for c in power)
            raised = power.translate(_RAISED) if high else f"^{power}"
            return self._at(expr.left, ATOM, False) + raised, POWER
        return self._infix(expr, _PLAIN_OPERATORS if self.plain else _TEXT_OPERATORS)


def _level(expr: Expr) -> int:
    return _LEVELS.get(expr.op, ATOM) if isinstance(expr, Binary) else ATOM


_TEX_GREEK = {k: f"\\{k}" for k in GREEK} | {"eps": r"\varepsilon"}
_WIDE = 14  # nodes above a fraction line; a longer numerator is put in brackets
_BROAD = 48  # digits above a fraction line that fit on a page
_LONG = 7  # terms above a fraction line; a longer sum must be able to break


def _fits_fraction(above: Expr) -> bool:
    """Tell whether a numerator is short enough for a fraction line."""
    many = isinstance(above, Fold) and len(above.terms) > _LONG
    digits = sum(len(e.digits) for e in walk(above) if isinstance(e, Figure))
    return not (many or len(list(walk(above))) > _WIDE or digits > _BROAD)


class Typeset(Alphabet):
    """An alphabet that has fraction lines and exponents of any height."""

    fraction: ClassVar[str]
    quotient: ClassVar[str]  # on one line, where the numerator is too long for a fraction line
    power: ClassVar[str]
    operators: ClassVar[Mapping[str, str]]

    def _binary(self, expr: Binary) -> tuple[str, int]:
        op, left, right = expr.op, expr.left, expr.right
        if op == "/" and not _fits_fraction(left):
            return self.quotient.format(self._at(left, 0), self._at(right, ATOM, False)), PRODUCT
        if op == "/":
            return self.fraction.format(self._at(left, 0), self._at(right, 0)), ATOM
        if op == "^":
            return self.power.format(self._at(left, ATOM, False), self._exponent(right)), POWER
        return self._infix(expr, self.operators)


class Latex(Typeset):
    r"""The alphabet of LaTeX math.

    Examples
    --------
    >>> Latex().render(Binary("/", Name("S"), Call("sqrt", (Num(2.0, "d_head"),))))
    '\\frac{S}{\\sqrt{d_{\\mathrm{head}}}}'
    """

    dots = r"\cdots"
    fraction, quotient, power = r"\frac{{{}}}{{{}}}", "({}) / {}", "{}^{{{}}}"
    operators: ClassVar = {"*": r" \times ", "@": r"\, ", ".": r" \odot ", "+": " + ", "-": " - "}

    def symbol(self, symbol: str) -> str:
        r"""Write a symbol: ``W_{Q}``, ``\mu^{(1)}``, ``d_{\mathrm{head}}``, ``\mathrm{d}W_{Q}``."""
        if symbol.startswith(GRADIENT):
            return r"\mathrm{d}" + self.symbol(symbol.removeprefix(GRADIENT))
        found = _SYMBOL.fullmatch(symbol)
        if found is None:
            return symbol
        base, sub, sup = found["base"], found["sub"], found["sup"]
        base = _TEX_GREEK.get(base) or (rf"\mathrm{{{base}}}" if len(base) > 2 else base)
        if sub:
            base += rf"_{{\mathrm{{{sub}}}}}" if len(sub) > 1 else f"_{{{sub}}}"
        return base + (f"^{{{sup}}}" if sup else "")

    def figure(self, f: Figure) -> str:
        r"""Write a number: ``1.2 \times 10^{-5}``; a blank is a line to write on."""
        if isinstance(f, Blank):
            number = rf"({f.number})\hspace{{2pt}}" if f.number else ""
            return rf"{number}\underline{{\hspace{{{12 if f.wide else 4}em}}}}"
        digits = f.digits.replace("inf", r"\infty")
        return digits if f.exponent is None else rf"{digits} \times 10^{{{f.exponent}}}"

    def _over(self, kind: str, body: Expr) -> tuple[str, int]:
        return rf"\{kind}_{{j}} " + self._at(body, PRODUCT), PRODUCT

    def _call(self, function: str, args: Sequence[Expr]) -> tuple[str, int]:
        inside = ", ".join(self._at(a, 0) for a in args)
        match function:
            case "at":
                where = ",".join(self._at(a, 0) for a in args[1:])
                name = self._at(args[0], 0)
                return (f"{name}[{where}]" if "_" in name else f"{name}_{{{where}}}"), ATOM
            case "transpose":
                return self._at(args[0], ATOM) + r"^{\top}", POWER
            case "sqrt":
                return rf"\sqrt{{{inside}}}", ATOM
            case "exp":
                return rf"e^{{{inside}}}", POWER
            case "abs":
                return rf"\lvert {inside}\rvert", ATOM
            case "ln" if r"\frac" in inside:
                return rf"\ln\left({inside}\right)", ATOM
            case "max" | "tanh" | "ln":
                return rf"\{function}({inside})", ATOM
        name = function.replace("_", r"\_")
        if r"\frac" in inside:
            return rf"\mathrm{{{name}}}\left({inside}\right)", ATOM
        return rf"\mathrm{{{name}}}({inside})", ATOM


class Typst(Typeset):
    r"""The alphabet of Typst math; a comma that is shown is written ``\,``.

    Examples
    --------
    >>> print(Typst().render(Binary("/", Name("S"), Call("sqrt", (Num(2.0, "d_head"),)))))
    frac(S, sqrt(d_"head"))
    """

    dots = "⋯"
    fraction, quotient, power = "frac({}, {})", r"({}) \/ {}", "{}^({})"
    operators: ClassVar = {"*": " × ", "@": " thin ", ".": " ⊙ ", "+": " + ", "-": " - "}

    def symbol(self, symbol: str) -> str:
        r"""Write a symbol: ``W_Q``, ``μ^(\(1\))``, ``d_"head"``, ``upright(d) W_Q``."""
        if symbol.startswith(GRADIENT):
            return "upright(d) " + self.symbol(symbol.removeprefix(GRADIENT))
        found = _SYMBOL.fullmatch(symbol)
        if found is None:
            return _upright(symbol)
        base, sub, sup = found["base"], found["sub"], found["sup"]
        if not re.fullmatch("[0-9]+", base):
            letters = re.fullmatch("[A-Za-z]{1,2}", base)
            base = GREEK.get(base) or (" ".join(base) if letters else _upright(base))
        if sub:
            base += "_" + (sub if len(sub) == 1 and sub.isalnum() else _upright(sub))
        return base + (f"^({''.join(map(_raised, sup))})" if sup else "")

    def figure(self, f: Figure) -> str:
        """Write a number: ``1.2 × 10^(-5)``; a blank is a line to write on."""
        if isinstance(f, Blank):
            number = rf"\({f.number}\) " if f.number else ""
            return f"{number}#block-room({17 if f.wide else 5}em)"
        digits = f.digits.replace("inf", "∞")
        return digits if f.exponent is None else f"{digits} × 10^({f.exponent})"

    def _over(self, kind: str, body: Expr) -> tuple[str, int]:
        sign = "sum" if kind == "sum" else f'op("{kind}")'
        return f"{sign}_j " + self._at(body, PRODUCT), PRODUCT

    def _call(self, function: str, args: Sequence[Expr]) -> tuple[str, int]:
        inside = r"\, ".join(self._at(a, 0) for a in args)
        match function:
            case "at":
                where = r"\, ".join(self._at(a, 0) for a in args[1:])
                name = self._at(args[0], 0)
                return (rf"{name} \[{where}\]" if "_" in name else f"{name}_({where})"), ATOM
            case "transpose":
                return self._at(args[0], ATOM) + "^⊤", POWER
            case "sqrt" | "abs":
                return f"{function}({inside})", ATOM
            case "exp":
                return f"e^({inside})", POWER
        # brackets that are escaped do not grow, but their inside may break at its commas
        tall = "frac(" in inside
        return f"op({_upright(function)}) " + (f"({inside})" if tall else rf"\({inside}\)"), ATOM


def _upright(text: str) -> str:
    """Write a word of Typst math as a string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _raised(c: str) -> str:
    """Write one character of an exponent."""
    return c if c.isascii() and c.isalnum() else f"\\{c}" if c in "()" else _upright(c)
