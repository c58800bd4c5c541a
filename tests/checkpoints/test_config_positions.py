"""Masks, windows, rotary positions and activations in configs of several versions.

``checkpoints/not_causal.npz`` has what layer 0 of each decoder gives in Hugging Face transformers
5.24 with ``is_causal: false``, in float64. What is accepted here gives there what the checkpoint
gives.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.checkpoints.layer_file import Written, as_yaml
from tests.small_models import CHECKPOINTS, changed, outcome, refusal, saved, written

pytest.importorskip("safetensors", reason="safetensors is an extra")
DECODERS = ("gemma", "gpt2", "llama", "mistral", "opt", "qwen2")
REFUSED = "config.json has settings that import cannot write: "
Fields = dict[str, Any]


def worked(tmp_path: Path, kind: str, found: Written) -> Any:
    """Work what was written with the x that was recorded."""
    path = tmp_path / kind / "a.yaml"
    path.write_text(as_yaml(found))
    x = np.load(CHECKPOINTS / kind / "recorded.npz")["in.0"]
    return blockcalc.run(blockcalc.load(path, [("x", json.dumps(x.tolist()))]))["out"]


# which keys a query sees -----------------------------------------------------------------


@pytest.mark.parametrize("kind", DECODERS)
def test_a_decoder_without_its_mask(kind: str, tmp_path: Path) -> None:
    want = np.load(CHECKPOINTS / "not_causal.npz")[kind]
    found = written(tmp_path, kind, changed(kind, is_causal=False))
    assert found.data["notes"].startswith(
        "is_causal is false in config.json: there is no causal mask"
    )
    assert np.abs(worked(tmp_path, kind, found) - want).max() <= 2e-6 * np.abs(want).max()
    assert outcome(tmp_path, kind, changed(kind, is_causal=True)) == outcome(
        tmp_path, kind, saved(kind)
    )


def test_gemma_that_looks_both_ways(tmp_path: Path) -> None:
    want = np.load(CHECKPOINTS / "not_causal.npz")["gemma"]
    found = written(tmp_path, "gemma", changed("gemma", use_bidirectional_attention=True))
    assert found.data["notes"].startswith("use_bidirectional_attention is true in config.json")
    assert np.abs(worked(tmp_path, "gemma", found) - want).max() <= 2e-6 * np.abs(want).max()
    both = changed("gemma", use_bidirectional_attention=True, is_causal=False)
    assert written(tmp_path, "gemma", both).data["attn"]["causal"] is False
    off = changed("gemma", use_bidirectional_attention=False)
    assert outcome(tmp_path, "gemma", off) == outcome(tmp_path, "gemma", saved("gemma"))


USES = {"use_sliding_window": True, "layer_types": ...}
SLIDING = {"layer_types": ["sliding_attention", "full_attention"]}
UNSEEN = "sliding_window {} masks no key for 4 tokens; for more than {} tokens"
UNUSED = "Layers of full attention do not use sliding_window {}."


@pytest.mark.parametrize(
    ("kind", "fields", "note"),
    [
        ("mistral", {"sliding_window": 4096}, UNSEEN.format(4096, 4096)),
        ("mistral", {"sliding_window": 4}, UNSEEN.format(4, 4)),
        ("mistral", {"sliding_window": 4, "use_sliding_window": False}, UNSEEN.format(4, 4)),
        ("mistral", {"sliding_window": ...}, UNSEEN.format(4096, 4096)),
        ("mistral", {"sliding_window": None}, None),
        ("qwen2", {"sliding_window": 2}, UNUSED.format(2)),
        ("qwen2", {"sliding_window": 2, "use_sliding_window": ...}, UNUSED.format(2)),
        ("qwen2", {"sliding_window": 2, "use_sliding_window": True}, UNUSED.format(2)),
        ("qwen2", {"sliding_window": 2, **USES}, UNUSED.format(2)),
        ("qwen2", {"sliding_window": 4, **USES, "max_window_layers": 0}, UNSEEN.format(4, 4)),
        ("qwen2", {"sliding_window": 4, **SLIDING}, UNSEEN.format(4, 4)),
        ("qwen2", {"sliding_window": None, **USES, "max_window_layers": 0}, None),
        ("llama", {"sliding_window": 2}, UNUSED.format(2)),
        ("llama", {"sliding_window": 2, "use_sliding_window": False}, UNUSED.format(2)),
        ("llama", {"sliding_window": 4, "use_sliding_window": True}, UNSEEN.format(4, 4)),
        ("llama", {"layer_types": ["attention", "full_attention"]}, None),
        ("gemma", {"sliding_window": 2}, UNUSED.format(2)),
    ],
)  # fmt: skip
def test_a_window_that_hides_nothing_is_noted(
    kind: str, fields: Fields, note: str | None, tmp_path: Path
) -> None:
    found = written(tmp_path, kind, changed(kind, **fields))
    assert found.data.pop("notes", "").startswith(note or "")
    assert found.data == written(tmp_path, kind, saved(kind)).data


@pytest.mark.parametrize(
    ("kind", "fields", "said"),
    [
        ("mistral", {"sliding_window": 3}, "sliding_window 3"),
        ("mistral", {"sliding_window": 3, "use_sliding_window": False}, "sliding_window 3"),
        ("qwen2", {"sliding_window": 3, **USES, "max_window_layers": 0}, "sliding_window 3"),
        ("qwen2", {"sliding_window": 3, **SLIDING}, "sliding_window 3"),
        ("qwen2", {"sliding_window": None, **SLIDING}, "layer_types sliding_attention"),
        ("qwen2", {"layer_types": ["chunked_attention"] * 2}, "layer_types chunked_attention"),
        ("llama", {"sliding_window": 3, "use_sliding_window": True}, "sliding_window 3"),
        ("llama", {"sliding_window": 3, **SLIDING}, "sliding_window 3"),
    ],
)
def test_a_window_that_hides_a_key_of_x_is_refused(
    kind: str, fields: Fields, said: str, tmp_path: Path
) -> None:
    assert refusal(tmp_path, kind, **fields) == REFUSED + said


def test_windows_of_single_layers(tmp_path: Path) -> None:
    from_1 = changed("qwen2", sliding_window=2, **USES, max_window_layers=1)
    assert written(tmp_path, "qwen2", from_1, 0).data["attn"]
    with pytest.raises(blockcalc.BlockcalcError, match="sliding_window 2"):
        written(tmp_path, "qwen2", from_1, 1)
    with pytest.raises(blockcalc.BlockcalcError, match="sliding_window 2"):
        written(tmp_path, "qwen2", from_1, None)
    found = written(tmp_path, "qwen2", {**from_1, "sliding_window": 4}, None)
    assert found.data["notes"].splitlines() == [
        UNUSED.format(4), UNSEEN.format(4, 4) + " these numbers differ from those of the model.",
    ]  # fmt: skip


# rotary positions ------------------------------------------------------------------------

OLD = {"rope_parameters": None, "rope_theta": 10000.0}
DYNAMIC = "dynamic RoPE scaling has no effect for 4 tokens; for more than 16 tokens"


@pytest.mark.parametrize(
    ("fields", "note"),
    [
        (OLD, None),
        ({"rope_parameters": {}, "rope_theta": 10000}, None),
        ({"rope_parameters": {"rope_type": "default"}, "rope_theta": 10000.0}, None),
        ({**OLD, "rope_scaling": {}}, None),
        ({**OLD, "rope_scaling": {"type": None, "rope_type": None}}, None),
        ({**OLD, "rope_scaling": {"type": "default"}}, None),
        ({**OLD, "partial_rotary_factor": 1.0}, None),
        ({**OLD, "rope_scaling": {"type": "linear", "factor": 1.0}}, "rope_scaling.factor"),
        ({"rope_scaling": {"rope_type": "linear", "factor": 1}}, "rope_scaling.factor"),
        ({**OLD, "rope_scaling": {"type": "yarn", "factor": 1.0, "mscale": 2.0, "mscale_all_dim": 1.0}},
         "rope_scaling.factor, rope_scaling.mscale, rope_scaling.mscale_all_dim"),
        ({**OLD, "rope_scaling": {"rope_type": "llama3", "type": "linear", "factor": 1.0}}, "rope_scaling.factor"),
        ({"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "factor": 4.0, "attention_factor": 2.0}},
         "rope_parameters.factor, rope_parameters.attention_factor"),
        ({"rope_parameters": {"rope_theta": 1e4, "mrope_section": [1, 1]}}, "rope_parameters.mrope_section"),
    ],
)  # fmt: skip
def test_a_rope_rule_that_changes_nothing_is_no_reason_to_refuse(
    fields: Fields, note: str | None, tmp_path: Path
) -> None:
    found = written(tmp_path, "mistral", changed("mistral", **fields))
    said = found.data.pop("notes", None)
    assert said == (note and f"These change no angle: {note}.")
    assert found.data == written(tmp_path, "mistral", saved("mistral")).data


def test_the_base_of_the_angles_in_every_form(tmp_path: Path) -> None:
    for fields in (
        {"rope_parameters": {"rope_theta": 500000.0}},
        {"rope_parameters": ..., "rope_theta": 500000.0},
        {"rope_parameters": {"rope_type": "default"}, "rope_theta": 500000.0},
        {"rope_parameters": {"rope_theta": 500000.0}, "rope_theta": 500000.0},
        {"rope_parameters": ..., "rope_scaling": {"rope_theta": 500000.0}},
    ):
        found = written(tmp_path, "llama", changed("llama", **fields)).data["attn"]["rope"]
        assert found == {"theta": 500000.0, "style": "half"}


def test_a_dynamic_base_matters_beyond_the_positions_known(tmp_path: Path) -> None:
    scaling = {"rope_scaling": {"type": "dynamic", "factor": 4.0}}
    found = written(tmp_path, "mistral", changed("mistral", **OLD, **scaling))
    assert found.data.pop("notes").startswith(DYNAMIC)
    assert found.data == written(tmp_path, "mistral", saved("mistral")).data
    said = refusal(tmp_path, "mistral", **OLD, **scaling, max_position_embeddings=3)
    assert said == REFUSED + "rope scaling dynamic (rope_scaling.type)"
    said = refusal(tmp_path, "mistral", **OLD, **scaling, max_position_embeddings=...)
    assert said.endswith("max_position_embeddings is missing")


BOTH = "rope scaling linear (rope_scaling.rope_type)"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"rope_scaling": {"rope_type": "linear", "factor": 4.0}}, BOTH),
        ({**OLD, "rope_scaling": {"rope_type": "linear", "factor": 4.0}}, BOTH),
        ({"rope_parameters": {"rope_type": "linear", "factor": 4.0}}, "rope scaling linear (rope_parameters.rope_type)"),
        ({**OLD, "rope_scaling": {"type": "linear"}}, "rope scaling linear (rope_scaling.type)"),
        ({**OLD, "rope_scaling": {"type": "linear", "rope_type": "default", "factor": 4.0}},
         "rope scaling linear (rope_scaling.type)"),
        ({**OLD, "rope_scaling": {"rope_type": "yarn", "factor": 1.0, "attention_factor": 2.0}},
         "rope scaling yarn (rope_scaling.rope_type)"),
        ({**OLD, "rope_scaling": {"rope_type": "longrope", "factor": 1.0, "short_factor": [1, 2]}},
         "rope scaling longrope (rope_scaling.rope_type)"),
        ({**OLD, "rope_scaling": {"rope_type": ["linear"]}}, 'rope scaling ["linear"] (rope_scaling.rope_type)'),
        ({**OLD, "rope_scaling": {"factor": 4.0}}, "rope_scaling.factor 4.0"),
        ({"rope_parameters": {"full_attention": {"rope_theta": 1e4}}},
         'rope_parameters.full_attention {"rope_theta": 10000.0}'),
        ({"rope_theta": 5e5}, "rope_theta 500000.0 together with rope_parameters.rope_theta 10000.0"),
        ({"rope_parameters": {"rope_theta": 5e5}, "rope_scaling": {"type": "linear", "factor": 1.0}},
         "rope_parameters.rope_theta 500000.0 together with rope_scaling.rope_theta 10000.0"),
    ],
)  # fmt: skip
def test_a_rope_rule_that_changes_angles_is_refused(
    fields: Fields, said: str, tmp_path: Path
) -> None:
    assert refusal(tmp_path, "mistral", **fields) == REFUSED + said


def test_a_part_of_the_columns_is_refused_and_both_readings_are_said(tmp_path: Path) -> None:
    part = (
        "{} 0.5 (transformers rotates every column in this family, other programs only this part)"
    )
    said = refusal(tmp_path, "llama", partial_rotary_factor=0.5)
    assert said == REFUSED + part.format("partial_rotary_factor")
    rule = {"rope_type": "default", "partial_rotary_factor": 0.5}
    said = refusal(tmp_path, "qwen2", rope_parameters={**rule, "rope_theta": 1e6})
    assert said == REFUSED + part.format("rope_parameters.partial_rotary_factor")


# activations -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "want", "note"),
    [
        ("gelu_pytorch_tanh", None, "gelu_tanh", None),
        ("gelu_new", None, "gelu_tanh", None),
        (
            "gelu",
            None,
            "gelu_tanh",
            "hidden_act gelu is read as gelu_pytorch_tanh, as in transformers 5;",
        ),
        ("gelu", "gelu_pytorch_tanh", "gelu_tanh", None),
        ("silu", None, "silu", "hidden_act silu is used, as in transformers 5;"),
        ("silu", "swish", "silu", None),
        (None, None, "gelu_tanh", None),
        (None, "gelu_new", "gelu_tanh", None),
        (..., ..., "gelu_tanh", None),
    ],
)
def test_the_two_fields_of_gemma(
    old: Any, new: Any, want: str, note: str | None, tmp_path: Path
) -> None:
    found = written(tmp_path, "gemma", changed("gemma", hidden_act=old, hidden_activation=new))
    assert found.data["ffn"]["activation"] == want
    assert found.data.get("notes", "").startswith(note or "")
    assert ("notes" in found.data) == (note is not None)


@pytest.mark.parametrize("name", ["hidden_act", "hidden_activation"])
def test_an_activation_that_is_not_known_is_refused(name: str, tmp_path: Path) -> None:
    assert refusal(tmp_path, "gemma", **{name: "xielu"}) == REFUSED + f"activation xielu ({name})"
    assert refusal(tmp_path, "llama", hidden_act=None) == REFUSED + "activation null (hidden_act)"
