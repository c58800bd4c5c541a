"""A file to fill in: commented, with small whole numbers, so that it runs as it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from blockcalc.errors import Fault, Place, UsageError
from blockcalc.messages import say
from blockcalc.messages.words import listed, require_word
from blockcalc.nn.orders import NORM_KEYS, ORDERS, SUBLAYERS
from blockcalc.records import dataclass


@dataclass(frozen=True)
class Style:
    """The conventions of a block.

    ``biases`` adds a bias to every projection; ``affine`` adds gamma to every norm, and beta to
    LayerNorm.
    """

    order: str
    activation: str = "relu"
    eps: str = "1.0e-5"
    kind: str = "layer"
    gated: bool = False
    causal: bool = False
    padding: bool = False
    rope: bool = False
    biases: bool = False
    affine: bool = False


STYLES = {
    "post": Style("post"),
    "pre": Style("pre"),
    "gpt2": Style("pre", "gelu_tanh", causal=True, biases=True, affine=True),
    "bert": Style("post", "gelu", "1.0e-12", padding=True, biases=True, affine=True),
    "llama": Style("pre", "silu", "1.0e-6", "rms", gated=True, causal=True, rope=True, affine=True),
}
# the usual ones, for a comment; ``nn.activations`` has all
ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu", "tanh", "identity")


@dataclass(frozen=True)
class Wanted:
    """The sizes and the style of a file to fill in.

    Attributes
    ----------
    tokens, d_model, heads : int
    style : str
        A key of ``STYLES``.
    d_ff : int or None
        Twice d_model if None.

    Raises
    ------
    UsageError
        d_model is not a multiple of the heads, the style is unknown, or RoPE has no pairs.
    """

    tokens: int = 3
    d_model: int = 4
    heads: int = 1
    style: str = "post"
    d_ff: int | None = None

    def __post_init__(self) -> None:
        require_word(say("new.style"), self.style, STYLES)
        if self.d_model % self.heads:
            divisors = [str(n) for n in range(1, self.d_model + 1) if self.d_model % n == 0]
            text = say("new.heads", d_model=self.d_model, heads=self.heads)
            hint = say("new.heads.hint", names=listed(divisors))
            raise UsageError(Fault(text, Place("--heads"), hint))
        if STYLES[self.style].rope and self.d_head % 2:
            text = say("new.rope", style=self.style, d_head=self.d_head)
            raise UsageError(Fault(text, Place("--heads")))

    @property
    def d_head(self) -> int:
        """The number of columns of each head."""
        return self.d_model // self.heads

    @property
    def kv_heads(self) -> int:
        """The number of heads of keys and values: with RoPE half of the query heads, if even."""
        halves = STYLES[self.style].rope and self.heads % 2 == 0
        return self.heads // 2 if halves else self.heads


def template(wanted: Wanted, file: str = "FILE") -> str:
    """Write the text of a file to fill in.

    Parameters
    ----------
    wanted : Wanted
    file : str
        Its name, for the command in its first comment.

    Examples
    --------
    >>> print(template(Wanted(tokens=2, d_model=2)).splitlines()[2])
    title: "My block (post; T = 2, d_model = 2)"
    """
    return "\n".join(_lines(wanted, STYLES[wanted.style], file)) + "\n"


def _lines(w: Wanted, style: Style, file: str) -> Iterator[str]:
    title = say("new.title", style=w.style, tokens=w.tokens, d_model=w.d_model)
    yield f"# {say('new.first', file=file)}"
    yield f"# {say('new.second')}"
    yield f'title: "{title}"'
    yield f"# {say('new.tokens')}"
    yield f"tokens: [{', '.join(f't{i + 1}' for i in range(w.tokens))}]"
    yield f"# {say('new.norm')}"
    yield f"norm: {{order: {style.order}, kind: {style.kind}, eps: {style.eps}}}"
    yield f"# {say('new.x', tokens=w.tokens, d_model=w.d_model)}"
    yield "x:"
    yield from _rows([_input(i, w.d_model) for i in range(w.tokens)], "  ")
    yield "attn:"
    yield from _attention(w, style)
    yield "ffn:"
    yield from _ffn(w, style)
    yield from _norms(w, style)
    yield f"# {say('new.expect')}"
    yield "# expect:"
    yield f"#   attn.scores: {_open(w)}"


def _attention(w: Wanted, style: Style) -> Iterator[str]:
    if w.heads > 1:
        yield f"  n_heads: {w.heads}  # {say('new.heads.comment', d_head=w.d_head)}"
    if w.kv_heads != w.heads:
        yield f"  n_kv_heads: {w.kv_heads}  # {say('new.n_kv_heads')}"
    if style.causal:
        yield f"  causal: true  # {say('new.causal')}"
    if style.padding:
        yield f"  padding: [{', '.join(['keep'] * w.tokens)}]  # {say('new.padding')}"
    if style.rope:
        yield f"  rope: {{theta: 10000, style: half}}  # {say('new.rope.comment')}"
    for i, name in enumerate("qkv"):
        columns = w.d_head * (w.heads if name == "q" else w.kv_heads)
        formula = f"{name.upper()} = X W_{name.upper()}"
        text = say("new.product", rows=w.d_model, columns=columns, formula=formula)
        yield from _weight(f"w_{name}", text, w.d_model, columns, i)
        yield from _bias(style, f"b_{name}", columns)
    if w.heads > 1 or style.biases or style.rope:
        text = say("new.out", rows=w.d_model, columns=w.d_model)
        yield from _weight("w_o", text, w.d_model, w.d_model, 3)
        yield from _bias(style, "b_o", w.d_model)


def _ffn(w: Wanted, style: Style) -> Iterator[str]:
    d_ff = w.d_ff or 2 * w.d_model
    yield f"  activation: {style.activation}  # {say('new.activation', names=', '.join(ACTIVATIONS))}"
    pairs = [("w_gate", "X W_gate"), ("w_up", "X W_up")] if style.gated else [("w_1", "X W_1")]
    for i, (name, formula) in enumerate(pairs):
        text = say("new.product", rows=w.d_model, columns=d_ff, formula=formula)
        yield from _weight(name, text, w.d_model, d_ff, i)
        yield from _bias(style, name.replace("w", "b", 1), d_ff)
    name, formula = ("w_down", "H W_down") if style.gated else ("w_2", "H W_2")
    text = say("new.product", rows=d_ff, columns=w.d_model, formula=formula)
    yield from _weight(name, text, d_ff, w.d_model, 1)
    yield from _bias(style, name.replace("w", "b", 1), w.d_model)


def _norms(w: Wanted, style: Style) -> Iterator[str]:
    if not style.affine:
        return
    beta = style.kind == "layer"
    yield f"# {say('new.affine.beta' if beta else 'new.affine')}"
    for name in NORM_KEYS[: len(SUBLAYERS) * ORDERS[style.order].norms]:
        shift = f", beta: {_row([0] * w.d_model)}" if beta else ""
        yield f"{name}: {{gamma: {_row([1] * w.d_model)}{shift}}}"


def _weight(name: str, text: str, rows: int, columns: int, shift: int) -> Iterator[str]:
    """Write a matrix row by row, under a comment."""
    yield f"  # {text}"
    yield f"  {name}:"
    yield from _rows([_sparse(i, columns, shift) for i in range(rows)], "    ")


def _bias(style: Style, name: str, n: int) -> Iterator[str]:
    if style.biases:
        yield f"  {name}: {_row([0] * n)}  # {say('new.bias')}"


def _open(w: Wanted) -> str:
    """Write scores with every entry open."""
    rows = ", ".join(_row(["?"] * w.tokens) for _ in range(w.tokens))
    return f"[{rows}]" if w.heads == 1 else f"[{', '.join([f'[{rows}]'] * w.heads)}]"


def _rows(rows: Sequence[Sequence[int]], indent: str) -> Iterator[str]:
    yield from (f"{indent}- {_row(row)}" for row in rows)


def _row(entries: Sequence[int | str]) -> str:
    return f"[{', '.join(map(str, entries))}]"


def _input(i: int, columns: int) -> list[int]:
    """Give row i of x, entries from -1 to 3: the first seven rows differ, and none is constant."""
    row = [(1, 0, 2, -1, 0, 1, 0)[(2 * i + 3 * j + i * j * j) % 7] for j in range(columns)]
    if columns > 1 and len(set(row)) == 1:
        row[-1] += 1
    return row


def _sparse(i: int, columns: int, shift: int) -> list[int]:
    """Give row i of a matrix whose rows have one or two nonzero entries: 1, and 1 or -1."""
    row = [0] * columns
    row[(2 * i + i // columns + shift + 1) % columns] = -1 if i % 2 else 1
    row[(i + shift) % columns] = 1
    return row
