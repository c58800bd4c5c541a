"""What a block is to be like: the sizes, the softmax, and what is given."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from fractions import Fraction
from typing import Any

from blockcalc.errors import Fault, Place, UsageError
from blockcalc.messages import say
from blockcalc.messages.words import listed, require_word
from blockcalc.nn.orders import NORM_KEYS, ORDERS
from blockcalc.records import dataclass

SOFTMAX = ("exact", "base2", "e")
WIDTHS = (4, 5, 6, 8)  # of rows whose σ can be a fraction, and not only ±1 after the norm
MOST_TOKENS, LEAST_TOKENS, MOST_WIDTH = 6, 2, 8
SCALES = {1: "none", 2: "1/2", 3: "1/2", 5: "1/2", 6: "1/2", 7: "1/2", 8: "1/2"}
KEPT = {
    "": ("title", "notes", "tokens", "norm", "x", "attn", "ffn", *NORM_KEYS[:2], "round"),
    "attn": ("w_q", "w_k", "w_v", "w_o", "b_q", "b_k", "b_v", "b_o", "n_heads", "scale", "softmax",
             "causal", "mask"),
    "ffn": ("activation", "w_1", "b_1", "w_2", "b_2"),
}  # fmt: skip


@dataclass(frozen=True)
class Wanted:
    """The sizes and the kind of a block to be designed.

    Attributes
    ----------
    tokens, d_model, heads, d_ff : int
    order : str
        A key of ``ORDERS``.
    softmax : str
        ``exact`` (equal scores under a mask), ``base2`` or ``e``.
    most : int
        The largest denominator allowed.
    seed : int
    given : mapping
        What a file has already: its matrices and settings are kept.

    Raises
    ------
    UsageError
        There is no such block.
    """

    tokens: int = 3
    d_model: int = 4
    heads: int = 1
    order: str = "post"
    softmax: str = "exact"
    most: int = 12
    seed: int = 0
    d_ff: int = 0
    given: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_word("--softmax", self.softmax, SOFTMAX)
        require_word("--norm", self.order, ORDERS)
        if not LEAST_TOKENS <= self.tokens <= MOST_TOKENS:
            text = say("design.tokens", n=self.tokens, least=LEAST_TOKENS, most=MOST_TOKENS)
            raise UsageError(Fault(text, Place("--tokens")))
        if self.d_model not in WIDTHS and self.exact:
            key = f"design.width.{self.d_model}" if self.d_model in (2, 3) else "design.width"
            text = say(key, d_model=self.d_model)
            hint = say("design.width.hint", names=listed([str(n) for n in WIDTHS]))
            raise UsageError(Fault(text, Place("--d-model"), hint))
        if not 2 <= self.d_model <= MOST_WIDTH:
            text = say("design.width", d_model=self.d_model)
            raise UsageError(Fault(text, Place("--d-model")))
        if self.d_model % self.heads:
            divisors = [str(n) for n in range(1, self.d_model + 1) if self.d_model % n == 0]
            text = say("new.heads", d_model=self.d_model, heads=self.heads)
            hint = say("new.heads.hint", names=listed(divisors))
            raise UsageError(Fault(text, Place("--heads"), hint))

    @property
    def exact(self) -> bool:
        """Whether every number is to be a fraction."""
        return self.softmax != "e"

    @property
    def d_head(self) -> int:
        """The number of columns of each head."""
        return self.d_model // self.heads

    @property
    def width(self) -> int:
        """The width of the FFN."""
        return self.d_ff or self.d_model

    def part(self, name: str) -> dict[str, Any]:
        """Give a copy of a mapping that is given, such as ``attn``."""
        return dict(self.given.get(name) or {})

    @property
    def scale(self) -> Any:
        """The scale as the file writes it; None for 1/√d_head, where that is a fraction."""
        own = self.part("attn")
        if "scale" in own or not self.exact:
            return own.get("scale")
        return SCALES.get(self.d_head)

    @property
    def factor(self) -> Fraction:
        """The number that scores are multiplied by."""
        if self.scale == "none":
            return Fraction(1)
        if self.scale is not None:
            return Fraction(str(self.scale))
        root = math.isqrt(self.d_head)
        return Fraction(1, root) if root * root == self.d_head else Fraction(self.d_head**-0.5)


def require_kept(given: Mapping[str, Any], name: str) -> None:
    """Raise an error for a key that a designed block cannot have."""
    parts = [
        ("", given),
        *((key, given[key]) for key in ("attn", "ffn") if isinstance(given.get(key), dict)),
    ]
    for part, own in parts:
        for key in own:
            if key not in KEPT[part]:
                path = f"{part}.{key}" if part else key
                hint = say("design.like.hint", names=listed(list(KEPT[part])))
                raise UsageError(Fault(say("design.like", key=path), Place(name), hint))
    activation = (given.get("ffn") or {}).get("activation", "relu")
    if activation not in ("relu", "identity", "linear", "none"):
        hint = say("design.activation.hint")
        raise UsageError(Fault(say("design.activation", name=activation), Place(name), hint))
