"""Regions as data: composed, taken from works, put behind the op that makes their operand."""

from __future__ import annotations

import numpy as np
import pytest

from tests import sums
from tests.runtime.engines.native.graphs import Given, normal, ran
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.runtime.engines.native.graph.region import Region, RegionStep, identity, region_of, unary

X = TensorType((5, 7), "Float32")
ROW = TensorType((7,), "Float32")


def evaluated(region: Region, *values: float) -> float:
    """A region of additions, multiplications, subtractions and negations, of numbers."""
    known = list(values)
    for step in region.steps:
        a = [known[i] for i in step.operands]
        known.append({"add": sum, "mul": np.prod, "neg": lambda v: -v[0], "sub": lambda v: v[0] - v[1]}[step.fn](a))
    return float(known[region.output])


def test_one_region_after_another_is_their_composition():
    first = Region(("f32", "f32"), (RegionStep("mul", (0, 1), "f32"), RegionStep("neg", (2,), "f32")), 3)
    second = Region(("f32", "f32", "f32"), (RegionStep("sub", (1, 0), "f32"), RegionStep("add", (3, 2), "f32")), 4)
    whole = second.after(first)
    assert len(whole.inputs) == 4
    assert evaluated(whole, 2, 3, 10, 100) == (10 - -(2 * 3)) + 100
    assert second.after(identity("f32")) == second
    assert unary("neg", "f32").after(first).output == 4


def test_a_region_of_a_work_keeps_functions_attributes_and_types():
    scalar = TensorType((), "Float32")
    body = Function(
        (X, ROW),
        (
            Work("ttc.constant", (), {"values": (2.0,)}, (scalar,)),
            Work("tile.map", (0, 1), {"fn": "add"}, (X,)),
            Work("tile.map", (3, 2), {"fn": "mul"}, (X,)),
            Work("tile.map", (4,), {"fn": "leaky_relu", "names": ("alpha",), "values": (0.1,)}, (X,)),
        ),
        (5,),
    )
    region = region_of(Work("tile.eltwise", (0, 1), {}, (X,), body), ("f32", "f32"))
    assert region is not None
    assert [step.fn for step in region.steps] == ["constant", "add", "mul", "leaky_relu"]
    assert region.steps[3].attrs == (("alpha", 0.1),)
    assert (region.output, region.storage) == (5, "f32")


def test_what_has_no_storage_has_no_region():
    assert region_of(Work("tile.map", (0,), {"fn": "relu"}, (TensorType((1,), "String"),)), ("f32",)) is None
    assert region_of(Work("tile.softmax", (0,), {"axis": -1}, (X,)), ("f32",)) is None


@pytest.mark.parametrize("order", [(2, 3), (3, 2)])
def test_a_residual_and_an_activation_follow_a_product_in_its_kernel(order: tuple[int, int]):
    """relu((x @ w) - r) and relu(r - (x @ w)): one kernel beside the packing."""
    y = TensorType((5, 7), "Float32")
    works = [
        Work("tile.matmul", (0, 1), {"transpose_a": False, "transpose_b": False}, (y,)),
        Work("tile.map", order, {"fn": "sub"}, (y,)),
        Work("tile.map", (4,), {"fn": "relu"}, (y,)),
    ]
    a, b, residual = normal(5, 3), normal(3, 7), normal(5, 7)
    found = ran(works, [Given(a), Given(b, constant=True), Given(residual)])
    assert not found.refusals
    assert found.kernels.count("Gemm") == 1
    assert "Eltwise" not in found.kernels
    sums.close(found.native, found.reference, np.abs(a) @ np.abs(b) + np.abs(residual), 1e-6)


def test_a_value_that_others_read_stays_in_memory():
    """(x @ w) + relu(x @ w): the sum joins its last operand, the product is kept."""
    y = TensorType((5, 7), "Float32")
    works = [
        Work("tile.matmul", (0, 1), {"transpose_a": False, "transpose_b": False}, (y,)),
        Work("tile.map", (2,), {"fn": "relu"}, (y,)),
        Work("tile.map", (2, 3), {"fn": "add"}, (y,)),
    ]
    found = ran(works, [Given(normal(5, 3)), Given(normal(3, 7), constant=True)])
    found.close(1e-6)
