"""The catalogue, listed: every name that programs may rely on, each with its sentence."""

from __future__ import annotations

import json

from tests.helpers import cli, text

PROMISED = """
    scale_missing scale_not_rooted scale_d_model scale_twice scale_inverted
    scale_head_dim_derived
    scores_k_not_transposed qk_exchanged attention_from_unnormed
    softmax_columns softmax_heads softmax_all softmax_no_exp softmax_base2 softmax_plus_one
    softmax_wrong_max softmax_sum_16bit
    mask_missing mask_inverted mask_after_softmax mask_off_by_one mask_finite
    mask_padding_counts window_wider window_narrower window_both_sides
    rope_missing rope_other_pairing rope_mixed_pairing rope_off_by_one rope_position_zero
    rope_heads_as_positions rope_sign rope_theta rope_q_only rope_wrong_slice
    heads_by_stride heads_joined_untransposed heads_view fused_order kv_groups_interleaved
    weight_transposed bias_missing bias_twice w_o_missing
    residual_missing residual_from_normed residual_twice residual_from_block_input
    residual_after_norm
    order_pre_for_post order_post_for_pre norms_exchanged norm_shared final_norm_missing
    final_norm_twice
    variance_sample variance_not_rooted eps_missing eps_outside eps_other norm_over_tokens
    norm_mean_kept norm_rms_for_layer norm_layer_for_rms gamma_missing beta_missing
    gamma_plus_one gamma_plus_one_twice qk_norm_missing
    activation_missing activation_late gelu_other_form activation_other gate_up_exchanged
    gate_up_interleaved
    dropout_on dropout_not_rescaled
    rounded_each_step arithmetic_float32 arithmetic_tf32 arithmetic_bfloat16
    arithmetic_float16 softmax_rounded_row copied_step
    grad_relu_mask_missing grad_norm_mean_missing grad_norm_product_missing
    grad_norm_mean_twice grad_gamma_missing grad_gamma_twice grad_rms_fixed
    grad_softmax_diagonal grad_tokens_not_summed grad_residual_missing grad_scale_twice
    grad_kv_not_summed
    slip_term_missing slip_term_twice slip_neighbour_factor slip_sign slip_plus_for_times
    slip_exp_zero slip_root_missing slip_digits_exchanged slip_point_moved slip_carry
    slip_divisor slip_truncated slip_half_even
"""
NAMES = PROMISED.split()


def test_the_list_has_every_name() -> None:
    shown = text(cli("mistakes")).split()
    missing = [name for name in NAMES if name not in shown]
    assert not missing


def test_the_data_have_every_name_once_with_its_sentence() -> None:
    data = json.loads(text(cli("mistakes", "--json")))
    assert (data["format"], data["version"]) == ("blockcalc-mistakes", 1)
    found = {entry["name"]: entry for entry in data["mistakes"]}
    assert len(found) == len(data["mistakes"])
    assert not [name for name in NAMES if name not in found]
    for entry in found.values():
        assert entry["steps"]
        assert entry["text"]
        assert "{" not in entry["text"]
    assert "…" in found["eps_other"]["text"]
