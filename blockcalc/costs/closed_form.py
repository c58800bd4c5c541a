"""Closed forms of counts: sums of products of the letters of a block, such as 4 C².

B is the batch, T the tokens, C the width d_model, H and G the heads of queries and of keys, D the
width of a head (d_head), K that of all heads of keys, V that of a head of values if it differs
(d_v), F that of the FFN (d_ff).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from blockcalc.nn.settings import AttentionSettings
from blockcalc.notation.alphabets import Text
from blockcalc.ops.expr import Binary, Expr, Name, Num
from blockcalc.program.program import Program

Letters = tuple[str, ...]
Form = dict[Letters, int]  # products of letters with their coefficients
MOST_TIMES = 8  # d_ff is written as 4 C, but not as 100 C
LETTERS = "BTCHGKDVF"  # in the order of writing
ONE: Form = {(): 1}
# the products of letters that an axis may be; the first that fits is used
AXES = {
    "batch": "B", "token": "T", "query": "T", "key": "T", "d_model": "C", "d_ff": "F",
    "head": "H", "kv_head": "G", "d_head": "D", "d_v_head": "V D",
    "d_q": "HD D", "d_k": "GD HD D", "d_v": "V GV GD HD D", "d_concat": "HV HD D",
}  # fmt: skip


def plus(*forms: Form) -> Form:
    """Add forms.

    Examples
    --------
    >>> plus({("C", "C"): 1}, {("C", "C"): 3})
    {('C', 'C'): 4}
    """
    found: Form = {}
    for form in forms:
        for letters, n in form.items():
            found[letters] = found.get(letters, 0) + n
    return found


def times(*forms: Form) -> Form:
    """Multiply forms.

    Examples
    --------
    >>> times({("C",): 2}, {("F",): 1, ("C",): 1})
    {('C', 'F'): 2, ('C', 'C'): 2}
    """
    found = ONE
    for form in forms:
        pairs = [(a + b, m * n) for a, m in found.items() for b, n in form.items()]
        found = plus(*({_sorted(letters): n} for letters, n in pairs))
    return found


def _sorted(letters: Letters) -> Letters:
    return tuple(sorted(letters, key=LETTERS.index))


class Forms:
    """Converts axes to letters, by the sizes of a program."""

    def __init__(self, program: Program) -> None:
        x = program.inputs[0]
        self.sizes: dict[str, int] = {"T": x.shape[-2], "C": x.shape[-1]}
        if len(x.shape) == 3:
            self.sizes["B"] = x.shape[0]
        settings = (s.settings for s in program.sections)
        known = next((s for s in settings if isinstance(s, AttentionSettings)), None)
        heads, few = (known.n_heads, known.n_kv_heads) if known else (1, 1)
        if heads > 1:
            self.sizes["H"] = heads
        if few < heads:
            self.sizes["G"] = few
        for ref in program.refs().values():
            for axis, n in zip(ref.axes, ref.shape, strict=True):
                parted = heads == 1 or {"head", "kv_head"} & set(ref.axes)
                if axis in ("d_head", "d_ff") or (axis == "d_v" and parted):
                    self.sizes.setdefault({"d_head": "D", "d_v": "V", "d_ff": "F"}[axis], n)
        if known and known.d_head:
            self.sizes["D"] = known.d_head
        if "G" in self.sizes and "D" in self.sizes:
            self.sizes["K"] = self.sizes["G"] * self.sizes["D"]
        if self.sizes.get("V") == self.sizes.get("D"):
            self.sizes.pop("V", None)

    def of(self, axes: Sequence[str], shape: Sequence[int]) -> Form:
        """Give the form of a shape."""
        return self.reduced(times(*self._axes(axes, shape)))

    def each(self, axes: Sequence[str], shape: Sequence[int]) -> list[Form]:
        """Give the form of each axis of a shape, in its shortest notation."""
        found = self._axes(axes, shape)
        return [
            self.reduced(f) if all(len(letters) != 1 or letters == ("F",) for letters in f) else f
            for f in found
        ]

    def _axes(self, axes: Sequence[str], shape: Sequence[int]) -> list[Form]:
        """Give the form of each axis of a shape; with a head axis ``d_v`` is that of one head."""
        parted = {"head", "kv_head"} & set(axes)
        names = ("d_v_head" if axis == "d_v" and parted else axis for axis in axes)
        return [self.axis(axis, n) for axis, n in zip(names, shape, strict=True)]

    def axis(self, axis: str, n: int) -> Form:
        """Give the form of one axis; the number alone if no letters stand for it."""
        sizes = self.sizes
        if axis == "d_qkv":
            queries = ("H", "D") if "H" in sizes else ("D",)
            keys = ("G", "D") if "G" in sizes else queries
            form = plus({queries: 1}, {keys: 2})
            if "D" in sizes and self.value(form) == n:
                return form
        for word in AXES.get(axis, "").split():
            letters = tuple(word)
            if all(letter in sizes for letter in letters) and self.value({letters: 1}) == n:
                return {letters: 1}
        return {(): n}

    def value(self, form: Form) -> int:
        """Evaluate a form."""
        return sum(n * prod(self.sizes[x] for x in letters) for letters, n in form.items())

    def reduced(self, form: Form) -> Form:
        """Replace H D by C if they are equal, and F by a multiple of C if it is one."""
        sizes = self.sizes
        found = []
        for product, n in form.items():
            letters = product
            for group in (("H", "D"), ("D",), ("H", "V"), ("V",)):
                if all(x in letters for x in group) and self.value({group: 1}) == sizes["C"]:
                    if len(group) == 1 and ("H" in letters or "G" in letters):
                        continue
                    letters = (*_without(letters, group), "C")
            if {"G", "D"} <= set(letters):
                letters = (*_without(letters, ("G", "D")), "K")
            if "F" in letters and sizes["F"] in range(0, MOST_TIMES * sizes["C"] + 1, sizes["C"]):
                letters, n = (*_without(letters, ("F",)), "C"), n * sizes["F"] // sizes["C"]
            found.append({_sorted(letters): n})
        return plus(*found)


def _without(letters: Letters, group: Letters) -> Letters:
    """Remove each letter of a group once."""
    left = list(letters)
    for letter in group:
        left.remove(letter)
    return tuple(left)


def form_text(form: Mapping[Letters, int]) -> str:
    """Write a form as text.

    Examples
    --------
    >>> form_text({("C", "C"): 4, ("C",): 1})
    '4 C² + C'
    """
    return Text().render(written(form))


def written(form: Mapping[Letters, int]) -> Expr:
    """Write a form as an expression: the highest powers first."""
    terms = [
        _product(letters, n)
        for letters, n in sorted(form.items(), key=lambda term: (-len(term[0]), term[0]))
        if n
    ]
    total: Expr = terms[0] if terms else Num(0.0)
    for term in terms[1:]:
        total = total + term
    return total


def _product(letters: Letters, n: int) -> Expr:
    parts: list[Expr] = [Num(float(n))] if n != 1 or not letters else []
    for letter in dict.fromkeys(letters):
        power = letters.count(letter)
        parts.append(Name(letter if power == 1 else f"{letter}^{power}"))
    product = parts[0]
    for part in parts[1:]:
        product = Binary("@", product, part)
    return product
