"""The pattern of an operation gives the tree of each of its cells."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from blockcalc.gradients.run import work_gradients
from blockcalc.nn.spec import Spec
from blockcalc.ops.elementwise import Elementwise
from blockcalc.ops.expr import At, Cell, Expr, Slot
from blockcalc.ops.matmul import MatMul
from blockcalc.ops.movement import Movement
from blockcalc.ops.op import Axes, Ref, Shape
from blockcalc.program.program import Equation
from blockcalc.views.page.patterns import NoPattern, _gives, patterns, tree_data
from tests.helpers import sample_specs

pytestmark = pytest.mark.slow

SPECS = sample_specs()


def _whole(eq: Equation) -> bool:
    found = patterns(eq.op, eq.inputs)
    for at in product(*map(range, eq.out.shape)):
        form = found["forms"][0 if found["axis"] is None else at[found["axis"]]]
        if not _gives(form, eq.op.cell(at, eq.inputs), at, eq.inputs):
            return False
    return True


@pytest.mark.parametrize("spec", SPECS)
def test_every_cell_of_every_step_is_given_by_its_pattern(spec: Spec) -> None:
    program = work_gradients(spec).program
    assert all(_whole(eq) for eq in program.equations if eq.inputs)


def _ref(*shape: int) -> Ref:
    return Ref("a", "A", tuple(f"axis{i}" for i in range(len(shape))), shape, "data")


def test_a_large_product_has_a_small_pattern() -> None:
    a, b = _ref(512, 512), _ref(512, 512)
    found = patterns(MatMul(), (a, b))
    assert found == {
        "axis": None,
        "forms": [["s", "+", [[512], ["b", "*", ["c", 0, 0, [512, 0], [1]], ["c", 1, 0, [0, 1], [512]]]]]],
    }  # fmt: skip


class _Scattered(Movement):
    """Moves entries in an order that has no form."""

    def result(self, refs: list[Ref]) -> tuple[Axes, Shape]:  # type: ignore[override]
        return refs[0].axes, refs[0].shape

    def cell(self, at: At, refs: list[Ref]) -> Expr:  # type: ignore[override]
        flat = int(np.ravel_multi_index(at, refs[0].shape))
        moved = (flat * flat * 7) % int(np.prod(refs[0].shape))
        return Cell(0, tuple(map(int, np.unravel_index(moved, refs[0].shape))))


def test_an_operation_without_a_form_is_refused() -> None:
    with pytest.raises(NoPattern):
        patterns(_Scattered(), [_ref(5, 7)])


def test_the_body_of_a_function_is_a_tree_of_its_operand() -> None:
    body = Elementwise(Slot(0) * 2.0 + 1.0).body
    assert tree_data(body) == ["b", "+", ["b", "*", ["x"], ["n", 2.0]], ["n", 1.0]]
