"""The conventions of sections: one small type for each kind of section."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from blockcalc.nn.spec import RopeSpec
from blockcalc.records import dataclass


@dataclass(frozen=True)
class Settings:
    """The conventions of a section."""

    def facts(self) -> dict[str, Any]:
        """Give the settings as they appear in the JSON export."""
        return asdict(self)


@dataclass(frozen=True)
class AttentionSettings(Settings):
    """The conventions of an attention.

    ``fused`` is the layout of a fused projection, or None; ``scale`` a factor, ``"none"``, or None
    for 1/√d_head; ``d_head`` is None if ``stop`` ends before the heads are known. ``causal``,
    ``masked`` and ``added`` tell which masks the scores have; they are None if ``stop`` ends before
    the scores.
    """

    out_in: bool
    fused: str | None
    scale: float | str | None
    softmax: str
    n_heads: int
    n_kv_heads: int
    rope: RopeSpec | None
    d_head: int | None = None
    causal: bool | None = None
    masked: bool | None = None
    added: bool | None = None

    def facts(self) -> dict[str, Any]:
        """Give the known settings as they appear in the JSON export."""
        found: dict[str, Any] = {
            "out_in": self.out_in, "fused": self.fused, "default_scale": self.scale is None,
            "softmax": self.softmax, "n_heads": self.n_heads, "n_kv_heads": self.n_kv_heads,
        }  # fmt: skip
        if self.rope:
            found |= {"rope_dims": self.rope.dims, "rope_half": self.rope.half,
                      "rope_start": self.rope.start, "rope_theta": self.rope.theta}  # fmt: skip
        if self.d_head:
            scale = self.d_head**-0.5 if self.scale is None else self.scale
            found |= {"d_head": self.d_head, "scale": scale}
        if self.causal is not None:
            found |= {"causal": self.causal, "masked": self.masked, "added": self.added}
        return found


@dataclass(frozen=True)
class SoftmaxSettings(Settings):
    """``form`` is ``plain``, or ``shifted`` by the maximum of each row.

    ``base2`` takes powers of 2 in place of e.
    """

    form: str
    base2: bool = False

    def facts(self) -> dict[str, Any]:
        """Give the settings as they appear in the JSON export; the base only if it is 2."""
        return {"form": self.form} | ({"base": 2} if self.base2 else {})


@dataclass(frozen=True)
class NormSettings(Settings):
    """The conventions of a norm.

    ``kind`` is a key of ``NORMS``, ``width`` the length of a row; ``sample`` divides by n - 1 (None
    for a norm without a variance), ``outside`` adds eps after the root, ``unit_offset`` multiplies
    by 1 + gamma.
    """

    kind: str
    eps: float
    width: int
    sample: bool | None
    outside: bool
    unit_offset: bool

    def facts(self) -> dict[str, Any]:
        """Give the settings as they appear in the JSON export, without the kind of the section."""
        found = asdict(self)
        return {k: v for k, v in found.items() if k != "kind" and v is not None}


@dataclass(frozen=True)
class FfnSettings(Settings):
    """The activation of an FFN, a key of ``ACTIVATIONS``, and whether the FFN is gated."""

    activation: str
    gated: bool


@dataclass(frozen=True)
class DropoutSettings(Settings):
    """The step that dropout is applied to, and the probability that an entry is dropped.

    ``seed`` is None if the pattern is given.
    """

    place: str
    p: float
    seed: int | None

    def facts(self) -> dict[str, Any]:
        """Give the settings as they appear in the JSON export; the section names the place."""
        return {"p": self.p, "seed": self.seed}
