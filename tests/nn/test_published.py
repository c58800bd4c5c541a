"""Published worked examples and unit values, digit by digit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.docs.samples import folder
from blockcalc.program.rounding import Rounding
from tests.blocks import norm_of
from tests.helpers import close, work

EYE3 = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
BASE: dict[str, Any] = {
    "x": [[1, 0, 2], [0, 1, 1]],
    "attn": {"w_q": EYE3, "w_k": EYE3, "w_v": EYE3, "w_o": EYE3},
    "ffn": {"w_1": [[1, 0, -1], [0, 1, 1], [1, -1, 0]], "w_2": EYE3},
}


def test_the_article_from_x() -> None:
    trace = blockcalc.run(blockcalc.load(folder() / "tiny.yaml"))
    close(trace["scores"], [[1, 0, 1], [1, 1, 2], [2, 1, 3]])
    close(
        trace["attn.out"],
        [[1.40111209, 0.59888791], [1.50348984, 0.75174492], [1.57597535, 0.71600459]],
        5e-9,
    )
    close(trace["norm1.mean"], [1.5, 1.62761738, 2.14598997], 5e-9)
    close(trace["norm1.var"], [0.81200300, 0.01540765, 0.18488742], 5e-9)
    close(trace["norm1.std"], [0.90111209, 0.12412754, 0.42998538], 5e-9)
    close(trace["norm2"], [[1, -1], [-1, 1], [1, -1]], 1e-9)


def test_the_article_with_eps() -> None:
    spec = blockcalc.load(folder() / "tiny.yaml").with_eps(1e-5)
    trace = blockcalc.run(spec)
    close(
        trace["norm1"],
        [[0.99999384, -0.99999384], [-0.99967564, 0.99967564], [0.99997296, -0.99997296]],
        5e-9,
    )
    close(
        trace["ffn.out"],
        [[2.99998153, 1.99998768], [0, 0.99967564], [2.99991887, 1.99994592]],
        5e-9,
    )
    close(
        trace["out"],
        [[0.99999778, -0.99999778], [-0.99999778, 0.99999778], [0.99999778, -0.99999778]],
        5e-9,
    )
    trace = blockcalc.run(spec.with_eps(1e-3))
    close(
        trace["norm1"],
        [[0.99938481, -0.99938481], [-0.96904737, 0.96904737], [0.99730657, -0.99730657]],
        5e-9,
    )


def test_the_article_in_pre_norm() -> None:
    spec = blockcalc.load(folder() / "tiny.yaml").with_order("pre").with_eps(1e-5)
    trace = blockcalc.run(spec)
    close(trace["norm1"], [[0.99998, -0.99998], [-0.99998, 0.99998], [0, 0]], 5e-9)
    third = [1 / 3] * 3
    close(
        trace["weights"],
        [[0.57596616, 0.14003493, 0.28399891], [0.14003493, 0.57596616, 0.28399891], third],
        5e-9,
    )
    close(trace["out"], [[3.99997090, 1.56405809], [0, 2.43591281], [1, 1]], 5e-9)


def test_the_article_digits_from_its_attention_output() -> None:
    spec = blockcalc.load(folder() / "tiny_from_attention.yaml")
    trace = blockcalc.run(spec)
    close(trace["residual1"], [[2.401, 0.599], [1.504, 1.752], [2.576, 1.716]])
    close(trace["norm1.mean"], [1.5, 1.628, 2.146])
    close(trace["norm1.std"], [0.901, 0.124, 0.43])
    close(trace["out"], [[1, -1], [-1, 1], [1, -1]])
    rounded = blockcalc.run(spec.with_rounding(Rounding("decimals", 3)))
    assert rounded["norm1.var"].tolist() == [0.812, 0.015, 0.185]
    assert rounded["norm1.std"].tolist() == [0.901, 0.122, 0.43]


def test_the_article_from_x_with_a_pencil() -> None:
    spec = blockcalc.load(folder() / "tiny.yaml").with_rounding(Rounding("decimals", 3))
    trace = blockcalc.run(spec)
    assert trace["attn.out"].tolist() == [[1.401, 0.599], [1.502, 0.751], [1.576, 0.716]]


def test_the_pencil_block() -> None:
    trace = blockcalc.run(blockcalc.load(folder() / "pencil_pre.yaml"))
    close(trace["weights"], [[0.268941, 0.731059], [0.5, 0.5]], 5e-7)
    close(
        trace["attn.out"], [[0, 1.033873, -0.380341, -0.653532], [0, 0.707107, -0.707107, 0]], 5e-7
    )
    close(
        trace["norm2"],
        [[0.899140, 0.929597, -0.341979, -1.486757], [-1.588209, 1.123033, 0.465176, 0]],
        5e-7,
    )
    close(
        trace["out"],
        [[3.144778, 3.862610, 1.207277, -0.653532], [0.465176, 1.707107, 2.881102, 1]],
        5e-7,
    )
    spec = blockcalc.load(folder() / "pencil_pre.yaml").with_eps(1e-5)
    want = [[3.144766, 3.862589, 1.207262, -0.653515], [0.465182, 1.707100, 2.881092, 1]]
    close(blockcalc.run(spec)["out"], want, 5e-7)
    want = [[0.830881, 1.118855, -0.694645, -1.255090], [-1.183212, 0.169030, 1.521272, -0.507091]]
    close(blockcalc.run(spec.with_order("post"))["out"], want, 5e-7)


def test_base_in_both_orders_and_with_a_final_norm() -> None:
    close(work(BASE)["out"], [[0.647284210268, -1.412566105990, 0.765281895722],
                              [-1.069042676812, -0.267260669203, 1.336303346015]])  # fmt: skip
    close(work({**BASE, "norm": "pre"})["out"], [[1.9436571416, -0.9343265846, 3.1469187801],
                                                 [-1.2015801625, 1.4166689494, 3.7541411377]])  # fmt: skip
    close(work({**BASE, "norm": "pre", "final_norm": {}})["out"],
          [[0.3260208789, -1.3547644719, 1.0287435930], [-1.2472064401, 0.0462355632, 1.2009708769]])  # fmt: skip


def test_base_in_float32_is_near() -> None:
    exact = work(BASE)
    single = blockcalc.run(blockcalc.load(BASE), dtype="float32")
    worst = max(np.abs(exact[name] - single[name]).max() for name in exact)
    assert 0 < worst < 2e-6


@pytest.mark.parametrize(
    ("row", "eps", "want"),
    [
        ([1, 0, 0, 0], 1e-5, [1.7320046214, -0.5773348738, -0.5773348738, -0.5773348738]),
        ([0.001, -0.001], 1e-5, [0.3015113446, -0.3015113446]),
        ([40000, 40001, 40002, 40003], 1e-5, [-1.34163542, -0.4472118067, 0.4472118067, 1.34163542]),
        ([0.001, -0.001, 0, 0], 1e-5, [0.3086066999, -0.3086066999, 0, 0]),
        ([0.001, -0.001, 0, 0], 1e-6, [0.8164965809, -0.8164965809, 0, 0]),
        ([0.001, -0.001, 0, 0], 1e-12, [1.4142121482, -1.4142121482, 0, 0]),
        ([2, 2, 3], 1e-5, [-0.70709087, -0.70709087, 1.41418174]),
        ([-5, 0, 1], 1e-5, [-1.39700038, 0.50800014, 0.88900024]),
        ([2, 4, 6, 8], 1e-5, [-1.34163944, -0.44721315, 0.44721315, 1.34163944]),
        ([91, 71], 0, [1, -1]),
        ([0.5, -1.2, 3.3, 0.8, -0.5], 1e-5, [-0.05210195320817495, -1.1592684588818931, 1.771466409077949, 0.14328037132248123, -0.7033763683103622]),
        ([2, -0.7, 1.2, -3.5, 0.6], 1e-5, [1.081105321539628, -0.3222525477666199, 0.6652955824859249, -1.7775866344545805, 0.3534382781956476]),
        ([1, 2, 3, 4], 1e-5, [-1.3416354199, -0.4472118067, 0.4472118067, 1.3416354199]),
    ],
)  # fmt: skip
def test_layer_norm(row: list[float], eps: float, want: list[float]) -> None:
    close(norm_of(row, eps=eps), want, 6e-9)


def test_layer_norm_with_gamma_and_beta() -> None:
    close(norm_of([1, 2], eps=0, gamma=[2, 1], beta=[0.5, -0.5]), [-1.5, 0.5])
    close(norm_of([3, 4], eps=0, gamma=[2, 1], beta=[0.5, -0.5]), [-1.5, 0.5])


@pytest.mark.parametrize("eps", [0, 1e-5])
@pytest.mark.parametrize("row", [[2, 2, 2], [0.1, 0.1, 0.1], [0, 0, 0], [1e300, 1e300, 1e300]])
def test_a_row_of_equal_numbers_gives_beta(row: list[float], eps: float) -> None:
    assert norm_of(row, eps=eps, beta=[5, 6, 7]).tolist() == [5, 6, 7]


def test_a_row_equal_but_for_round_off_gives_beta() -> None:
    data = {"x": [[0.1, 0.3]], "attn": {"out": [[0.2, 0]]}, "norm1": {"eps": 0, "beta": [1, 2]}}
    trace = work(data)
    assert trace["residual1"][0, 0] != trace["residual1"][0, 1]
    assert trace["norm1"].tolist() == [[1, 2]]


def test_add_and_norm_where_a_page_is_wrong() -> None:
    data = {"x": [[1, 2, 3, 4]], "attn": {"out": [[0.5, -0.3, 0.2, 0.1]]}, "norm1": {"eps": 1e-5}}
    trace = work(data)
    close(trace["norm1.mean"], [2.625])
    close(trace["norm1.var"], [1.156875])
    close(trace["norm1"], [[-1.04594158, -0.85999641, 0.53459236, 1.37134562]], 6e-9)


def test_ffn_where_a_page_is_wrong() -> None:
    row, w_1 = (
        [0.5, 1, -0.5, 0.3],
        [[0.2, 0.3, 0.1], [0.4, -0.1, 0.5], [0.1, 0.2, -0.3], [-0.2, 0.4, 0.2]],
    )
    w_2 = [[0.5, 0.2, -0.1, 0.3], [0.1, 0.4, 0.2, -0.2], [-0.3, 0.1, 0.5, 0.4]]
    # a norm that passes the row through: its own mean and deviation as beta and gamma
    mean, std = float(np.mean(row)), float(np.std(row))
    data = {"norm": "pre", "x": [row], "attn": {"out": [[0] * 4]},
            "norm2": {"eps": 0, "gamma": [std] * 4, "beta": [mean] * 4},
            "ffn": {"w_1": w_1, "b_1": [0.1, -0.1, 0.2], "w_2": w_2}}  # fmt: skip
    trace = work(data)
    close(trace["ffn.pre"], [[0.49, -0.03, 0.96]])
    close(trace["ffn.out"], [[-0.043, 0.194, 0.431, 0.531]])


def test_unscaled_attention_of_a_page() -> None:
    data = {
        "x": [[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]],
        "attn": {"w_q": [[1, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1]],
                 "w_k": [[0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 0]],
                 "w_v": [[0, 2, 0], [0, 3, 0], [1, 0, 3], [1, 1, 0]], "scale": "none"},
        "stop": "attn.z",
    }  # fmt: skip
    trace = work(data)
    close(trace["attn.scaled"], [[2, 4, 4], [4, 16, 12], [4, 12, 10]])
    close(trace["weights"], [[6.3379e-02, 4.6831e-01, 4.6831e-01], [6.0337e-06, 9.8201e-01, 1.7986e-02],
                             [2.9539e-04, 8.8054e-01, 1.1917e-01]], 5e-6)  # fmt: skip
    close(
        trace["z"], [[1.9366, 6.6831, 1.5951], [2, 7.9640, 0.0540], [1.9997, 7.7599, 0.3584]], 5e-5
    )
    scaled = work({**data, "attn": {**data["attn"], "scale": 3**-0.5}})  # type: ignore[dict-item]
    close(scaled["z"], [[1.86387420, 6.31937101, 1.70418870], [1.99910955, 7.81412350, 0.27347206],
                        [1.99255511, 7.47963559, 0.73587726]], 6e-9)  # fmt: skip


def test_weights_times_v_and_the_matrix_fed_onwards() -> None:
    data = {
        "x": [[1, 0], [0, 1]],
        "attn": {"w_q": [[1, 0], [0, 2]], "w_k": [[1, 1], [0, 1]], "w_v": [[1, 2], [3, 4]]},
        "stop": "attn.z",
    }
    trace = work(data)
    close(trace["weights"], [[0.6697615493, 0.3302384507], [0.5, 0.5]])
    close(trace["attn.out"], [[1.6604769013, 2.6604769013], [2, 3]])


def test_whole_numbers_do_not_wrap() -> None:
    data = {"x": [[3037000500, 1]], "stop": "attn.q",
            "attn": {"w_q": [[3037000500], [1]], "w_k": [[1], [1]], "w_v": [[1], [1]]}}  # fmt: skip
    assert work(data)["q"].tolist() == [[9.22337203700025e18 + 1]]


def test_softmax_of_large_scores() -> None:
    data = {"x": [[1, 0], [0, 1]], "stop": "attn.weights",
            "attn": {"w_q": [[1], [1]], "w_k": [[1000], [1001]], "w_v": [[1], [1]]}}  # fmt: skip
    close(work(data)["weights"], [[0.2689414214, 0.7310585786]] * 2)


def test_eps_by_order_of_precedence() -> None:
    data = {"x": [[1, 2]], "attn": {"out": [[0, 0]]}, "ffn": {"w_1": [[1], [1]], "w_2": [[1, 1]]},
            "norm": {"order": "post", "eps": 0.01}, "norm2": {"eps": 0.1}}  # fmt: skip
    spec = blockcalc.load(data)
    assert (spec.blocks[0].norms[0].eps, spec.blocks[0].norms[1].eps) == (0.01, 0.1)
    spec = spec.with_eps(0.001)
    assert (spec.blocks[0].norms[0].eps, spec.blocks[0].norms[1].eps) == (0.001, 0.001)
    assert blockcalc.load({"x": [[1]], "attn": {"out": [[1]]}}).blocks[0].norms[0].eps == 1e-5


def test_a_person_who_rounds_at_every_step() -> None:
    data = {
        "x": [[1, 0.5], [0.3, 1.2]],
        "attn": {"w_q": [[0.7, 0.2], [0.1, 0.9]], "w_k": [[0.4, 0.6], [0.8, 0.3]],
                 "w_v": [[0.5, 0.1], [0.2, 0.7]]},
    }  # fmt: skip
    close(work(data)["norm1"], [[0.999813, -0.999813], [-0.999982, 0.999982]], 5e-7)
    rounded = work({**data, "round": {"decimals": 2}})
    close(rounded["norm1"], [[0.94, -1.00], [-1.00, 0.98]], 0)


def test_scores_are_divided_by_the_root_of_the_head_width() -> None:
    eye = [[1 if i == j else 0 for j in range(4)] for i in range(4)]
    data = {"x": [[2, 0, 0, 0], [0, 0, 0, 0]], "stop": "attn.z",
            "attn": {"n_heads": 2, "w_q": eye, "w_k": eye, "w_v": eye}}  # fmt: skip
    trace = work(data)
    assert trace["scores"][0, 0].tolist() == [4, 0]
    close(trace["scaled"][0, 0], [2.8284271247, 0], 5e-11)
    close(trace["weights"][0, 0], [0.9441927808, 0.0558072192], 5e-11)


def test_a_norm_applied_twice() -> None:
    data = {"x": [[3, 1, 2]], "norm": {"eps": 0.1}, "attn": {"out": [[0, 0, 0]]}}
    once = work(data)
    close(once["norm1"], [[1.1420804814, -1.1420804814, 0]], 5e-11)
    assert once.program.find("out") == "norm1"
    twice = work({**data, "final_norm": {}})
    close(twice["final_norm"], [[1.1598670095, -1.1598670095, 0]], 5e-11)


def test_dropout_is_off_in_evaluation() -> None:
    for _ in range(2):
        assert np.array_equal(work({**BASE, "dropout": 0.5})["out"], work(BASE)["out"])


@pytest.mark.parametrize("wrong", [float("inf"), float("nan")])
def test_plus_infinity_in_a_mask_is_refused(wrong: float) -> None:
    mask = {"add": [[0, wrong], [0, 0]]}
    with pytest.raises(blockcalc.BlockcalcError, match="a finite number is expected"):
        work({**BASE, "attn": {**BASE["attn"], "mask": mask}})
