"""Reads worked lines back from their printed text, exactly where fractions allow."""

from __future__ import annotations

import ast
import math
import re
from fractions import Fraction
from typing import Any

from blockcalc.explain.document import Line

_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_RELATIONS = re.compile(r" (=|≈|~=|\\approx) ")


def from_text(side: str) -> str:
    """Turn the arithmetic of the text alphabets into Python's."""
    side = re.sub(
        r"([0-9.]+)×10([⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)", lambda m: f"({m[1]}*10**{m[2].translate(_RAISED)})", side
    )
    side = re.sub(r"√([0-9.]+|π)", r"sqrt(\1)", side).replace("√", "sqrt")
    side = re.sub(r"([⁰¹²³⁴⁵⁶⁷⁸⁹]+)", lambda m: "**" + m[1].translate(_RAISED), side)
    side = side.replace("×", "*").replace("π", "pi").replace("∞", "inf").replace("^", "**")
    return _sizes(side)


def plain_text(side: str) -> str:
    """Turn the arithmetic of the plain alphabet into Python's."""
    side = re.sub(r"([0-9.]+)e([-+]?[0-9]+)", lambda m: f"({m[1]}*10**{int(m[2])})", side)
    return _sizes(re.sub(r"(?<=[0-9)i|])x(?=[0-9a-z(|-])", "*", side).replace("^", "**"))


def _sizes(side: str) -> str:
    """Turn |x| into a call: a bar closes after an operand, and opens elsewhere."""
    out = ""
    for sign in side:
        closes = out.rstrip()[-1:].isalnum() or out.rstrip()[-1:] == ")"
        out += (")" if closes else "abs(") if sign == "|" else sign
    return out


def from_latex(side: str) -> str:
    """Turn the arithmetic of LaTeX into Python's."""
    side = (
        side.replace(r"\left", "")
        .replace(r"\right", "")
        .replace(r"\allowbreak", "")
        .replace(r"\infty", "inf")
        .replace(r"\pi", "pi")
        .replace(r"\lvert", "abs(")
        .replace(r"\rvert", ")")
    )
    for name in (r"\sqrt", "e^"):
        side = _braced(side, name, "sqrt" if name == r"\sqrt" else "exp")
    while r"\frac" in side:
        at = side.rindex(r"\frac")
        top, after = _group(side, at + 5)
        bottom, end = _group(side, after)
        side = f"{side[:at]}(({top})/({bottom})){side[end:]}"
    side = (
        re.sub(r"\\mathrm\{([a-z]+)\}", r"\1", side)
        .replace(r"\max", "max")
        .replace(r"\tanh", "tanh")
        .replace(r"\ln", "ln")
    )
    side = re.sub(r"\^\{(-?[0-9]+)\}", r"**\1", side)
    return re.sub(r"([0-9.]+) \\times 10\*\*(-?[0-9]+)", r"(\1*10**\2)", side).replace(
        r"\times", "*"
    )


def from_typst(side: str) -> str:
    """Turn the arithmetic of Typst into Python's."""
    side = re.sub(r'op\("(\w+)"\) ', r"\1", side).replace("∞", "inf").replace("π", "pi")
    side = side.replace(r"\(", "(").replace(r"\)", ")").replace(r"\/", "/")
    while "frac(" in side:
        at = side.rindex("frac(")
        inside, end = _group(side, at + 4, "()")
        above, below = _two(inside)
        side = f"{side[:at]}(({above})/({below})){side[end:]}"
    side = re.sub(r"([0-9.]+) × 10\^\((-?[0-9]+)\)", r"(\1*10**\2)", side)
    side = side.replace(r"\,", ",").replace("e^(", "exp(")
    return side.replace("×", "*").replace("^", "**")


def _two(inside: str) -> tuple[str, str]:
    """Cut two arguments at the comma that is not shown, outside of all brackets."""
    depth = 0
    for i, c in enumerate(inside):
        depth += {"(": 1, ")": -1}.get(c, 0)
        if c == "," and depth == 0 and inside[i - 1] != "\\":
            return inside[:i], inside[i + 1 :]
    raise AssertionError(inside)


def _braced(side: str, name: str, function: str) -> str:
    while (at := side.rfind(name + "{")) >= 0:
        inside, end = _group(side, at + len(name))
        side = f"{side[:at]}{function}({inside}){side[end:]}"
    return side


def _group(side: str, at: int, signs: str = "{}") -> tuple[str, int]:
    depth, start = 0, at + 1
    for i in range(at, len(side)):
        depth += {signs[0]: 1, signs[1]: -1}.get(side[i], 0)
        if depth == 0:
            return side[start:i], i + 1
    raise AssertionError(side)


def value(text: str) -> Any:
    """Work an expression: a fraction where every part is one."""
    tree = ast.parse(text.strip(), mode="eval").body
    return _value(tree, text.strip())


def _value(node: Any, text: str) -> Any:
    if isinstance(node, ast.Constant):
        return Fraction(ast.get_source_segment(text, node) or "")
    if isinstance(node, ast.Name):
        return {"pi": math.pi, "inf": math.inf}[node.id]
    if isinstance(node, ast.UnaryOp):
        return -_value(node.operand, text)
    if isinstance(node, ast.Call):
        args = [_value(a, text) for a in node.args]
        assert isinstance(node.func, ast.Name)
        if node.func.id == "max":
            return max(args)
        if node.func.id == "abs":
            return abs(args[0])
        if node.func.id == "mask":
            return args[0] if args[1] else -math.inf
        if node.func.id in ("step", "allowed"):
            return Fraction(int(args[0] > 0 if node.func.id == "step" else args[0] != 0))
        return _exactly(node.func.id, args[0])
    assert isinstance(node, ast.BinOp), ast.dump(node)
    a, b = _value(node.left, text), _value(node.right, text)
    match node.op:
        case ast.Add():
            return a + b
        case ast.Sub():
            return a - b
        case ast.Mult():
            return Fraction(0) if 0 in (a, b) else a * b
        case ast.Div():
            return Fraction(0) if a == 0 else a / b
        case _:
            return a ** int(b)


def _exactly(function: str, x: Any) -> Any:
    if function == "sqrt" and isinstance(x, Fraction):
        root = Fraction(math.isqrt(x.numerator), math.isqrt(x.denominator))
        return root if root * root == x else math.sqrt(x)
    if function == "exp":
        return Fraction(1) if x == 0 else math.exp(min(x, 709.0))
    if function == "tanh" and x == 0:
        return Fraction(0)
    if function == "ln" and x == 1:
        return Fraction(0)
    if function == "cos" and x == 0:
        return Fraction(1)
    if function == "sin" and x == 0:
        return Fraction(0)
    return {
        "cos": math.cos,
        "sin": math.sin,
        "erfc": math.erfc,
        "ln": math.log,
        "tanh": math.tanh,
        "sqrt": math.sqrt,
    }[function](x)


def check(line: str, translate: Any) -> None:
    """Require that a printed line is true: exactly for ``=``, to half a last digit for ``≈``."""
    parts = _RELATIONS.split(line)
    assert len(parts) == 5, line
    sign, printed = parts[3], translate(parts[4])
    middle, result = value(translate(parts[2])), value(printed)
    if result in (math.inf, -math.inf):
        assert middle == result, line
        return
    if sign == "=":
        exact = isinstance(middle, Fraction)
        assert middle == result if exact else abs(middle - result) < 1e-15, line
        return
    mantissa = re.match(r"[(-]*[0-9]+(\.([0-9]+))?", printed)
    assert mantissa is not None
    power = re.search(r"\*10\*\*(-?[0-9]+)", printed)
    unit = Fraction(10) ** ((int(power[1]) if power else 0) - len(mantissa[2] or ""))
    gap = abs(Fraction(middle) - result)
    assert gap < unit / 2 or (gap == unit / 2 and abs(result) > abs(middle)), line


def printed(line: Line, alphabet: Any) -> str:
    """Give a worked line as an alphabet prints it."""
    assert line.middle is not None
    sides = [alphabet.render(e) for e in (line.left, line.middle, line.result)]
    return f"{sides[0]} {line.relation} {sides[1]} {line.equals} {sides[2]}"
