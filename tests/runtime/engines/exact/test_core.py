"""Single ops under the device's arithmetic: which operands lose what, where partial sums are rounded, what leaves the core."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.core.plain.interpret import kernel
from ttc.dialects.netlist.model import Blocking, Grid, Op
from ttc.dialects.tile.facts import facts
from ttc.runtime.engines.exact import RULES
from ttc.runtime.engines.exact.core import Core, noise_of
from ttc.runtime.engines.exact.registers import narrow, truncate, unpack

OP = Op("o", "op", (), Grid(0, 0, 1, 1), Blocking(1, (1, 1), (1, 1)), Function((), (), ()))
PRODUCT = {"transpose_a": False, "transpose_b": False}
WINDOW = {"strides": (1, 1), "pads": (1, 1, 1, 1), "dilations": (1, 1), "groups": 1}


def random(*shape: int, seed: int = 0) -> NDArray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def execute(name: str, *operands: NDArray, format: str = "Float32", op: Op = OP, seed: int | None = None, **attrs: Any) -> NDArray:
    work = Work(name, tuple(range(len(operands))), attrs, (TensorType((), format),), None, ("node",))
    return Core(op, RULES.rules(), noise_of(seed, op, operands)).execute(work, operands, None)[0]


def relative(found: NDArray, expected: NDArray) -> float:
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


def test_a_matmul_has_its_right_operand_in_src_a() -> None:
    coarse, fine = np.array([[1 + 2**-4]], np.float32), np.array([[1 + 2**-5]], np.float32)
    low = replace(OP, fidelity="LoFi")
    assert execute("tile.matmul", fine, coarse, op=low, **PRODUCT).item() == (1 + 2**-5) * (1 + 2**-4)
    assert execute("tile.matmul", coarse, fine, op=low, **PRODUCT).item() == 1 + 2**-4


def test_operands_are_truncated_and_the_sum_is_float32() -> None:
    a, b = random(8, 64), random(64, 8, seed=1)
    found = execute("tile.matmul", a, b, np.float32(1) + random(8, seed=2), **PRODUCT, activation="relu", activation_args=())
    bias = truncate(np.float32(1) + random(8, seed=2), 10)
    expected = np.maximum(truncate(a, 10).astype(np.float64) @ truncate(b, 9) + bias, 0)
    assert np.allclose(found, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("setting", [{"accumulate": "Float16_b"}, {"intermediate": "Float16_b"}, {"accumulate": "Float16"}])
def test_partial_sums_are_rounded_a_block_at_a_time(setting: dict[str, str]) -> None:
    op = replace(OP, inner=(3, 1), **setting)
    a, b = unpack(random(4, 96), op.accumulate), unpack(random(96, 5, seed=1), op.accumulate)
    total = np.zeros((4, 5), np.float32)
    for first in range(0, 96, 32):
        part = a[:, first : first + 32] @ truncate(b, 9)[first : first + 32]
        total = narrow(narrow(total, op.intermediate, None) + part, op.accumulate, None)
    assert np.array_equal(execute("tile.matmul", a, b, op=op, **PRODUCT), total)


def test_the_number_of_blocks_matters_only_when_sums_are_rounded() -> None:
    a, b = random(4, 96), random(96, 5, seed=1)
    exact = execute("tile.matmul", a, b, **PRODUCT)
    assert np.array_equal(execute("tile.matmul", a, b, op=replace(OP, inner=(3, 1)), **PRODUCT), exact)
    rounded = replace(OP, accumulate="Float16_b")
    blocks = [execute("tile.matmul", a, b, op=replace(rounded, inner=inner), **PRODUCT) for inner in ((3, 1), (1, 3))]
    assert not np.array_equal(*blocks)
    assert all(relative(found, exact) < 1e-2 for found in blocks)


def test_leading_dimensions_broadcast() -> None:
    a, b = random(2, 3, 4, 64), random(3, 64, 5, seed=1)
    expected = truncate(a, 10) @ truncate(b, 9)
    assert np.allclose(execute("tile.matmul", a, b, **PRODUCT), expected, atol=1e-5)
    turned = execute("tile.matmul", a.swapaxes(-1, -2), b.swapaxes(-1, -2), transpose_a=True, transpose_b=True)
    assert np.allclose(turned, expected, atol=1e-5)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("name", ["tile.conv2d", "tile.conv_transpose2d"])
def test_convolutions(name: str, groups: int) -> None:
    x, w = random(2, 5, 6, 64), random(3, 3, 64 // groups, 64, seed=1)
    attrs = WINDOW | {"groups": groups} | ({"output_padding": (0, 0)} if name.endswith("transpose2d") else {})
    plain = {"op": replace(OP, inner=(18, 1))}
    found = execute(name, x, w, **plain, **attrs)
    kernel = execute(name, truncate(x, 10), truncate(w, 9), op=replace(OP, fidelity="HiFi4"), **attrs)
    assert np.array_equal(found, kernel)
    rounded = execute(name, x, w, op=replace(OP, inner=(18, 1), intermediate="Float16_b"), **attrs)
    assert 1e-4 < relative(rounded, found) < 1e-2


def test_only_products_have_phases() -> None:
    x, y = random(100), random(100, seed=1)
    low = replace(OP, fidelity="LoFi")
    assert np.array_equal(execute("tile.map", x, y, op=low, fn="mul"), truncate(x, 4) * truncate(y, 6))
    assert np.array_equal(execute("tile.map", x, y, op=low, fn="add"), truncate(x, 10) + truncate(y, 10))
    assert np.array_equal(execute("tile.map", x, op=low, fn="exp"), np.exp(truncate(x, 10)))


def test_sums_are_products_with_ones() -> None:
    x = random(4, 50)
    attrs: dict[str, Any] = {"axes": (1,), "keepdims": False}
    found = execute("tile.reduce", x, op=replace(OP, fidelity="LoFi"), fn="sum", **attrs)
    assert np.allclose(found, truncate(x, 4).sum(1), atol=1e-5)
    assert np.array_equal(execute("tile.reduce", x, op=replace(OP, fidelity="LoFi"), fn="max", **attrs), truncate(x, 10).max(1))


def test_average_pools_are_products_with_ones() -> None:
    x = random(1, 4, 4, 3)
    window = {
        "kernel": (4, 4),
        "strides": (1, 1),
        "pads": (0, 0, 0, 0),
        "dilations": (1, 1),
        "ceil_mode": False,
        "count_include_pad": False,
    }
    found = execute("tile.avg_pool2d", x, op=replace(OP, fidelity="LoFi"), **window)
    assert np.allclose(found, truncate(x, 4).mean((1, 2), keepdims=True), atol=1e-6)


def test_values_of_a_region_stay_in_the_destination_register() -> None:
    types = (TensorType((100,), "Float32"),)
    body = Function(
        types,
        (
            Work("tile.map", (0,), {"fn": "exp"}, types),
            Work("tile.map", (1,), {"fn": "neg"}, types),
            Work("tile.map", (2, 0), {"fn": "add"}, types),
        ),
        (3,),
    )
    x = random(100)
    work = Work("tile.eltwise", (0,), {}, (TensorType((100,), "Float16_b"),), body)
    (found,) = Core(OP, RULES.rules()).execute(work, [x], None)
    held = truncate(x, 10)
    assert np.array_equal(found, narrow(truncate(-np.exp(held), 10) + held, "Float16_b", None))


def test_products_summed_over_a_dimension() -> None:
    a, b = random(2, 3, 4, 40), random(3, 40, 5, seed=1)
    wide, tall = np.moveaxis(a, 1, 2).reshape(2, 4, 120), b.reshape(120, 5)
    found = execute("tile.matmul", a, b, accumulate=True, **PRODUCT)
    assert np.allclose(found, execute("tile.matmul", wide, tall, **PRODUCT), atol=1e-5)
    rounded = execute("tile.matmul", a, b, op=replace(OP, accumulate="Float16_b", inner=(6, 1)), accumulate=True, **PRODUCT)
    assert 1e-4 < relative(rounded, found) < 1e-2


def test_depthwise_products() -> None:
    a, b, bias = random(9, 20, 6), random(9, 6, seed=1), random(6, seed=2)
    found = execute("tile.depthwise", a, b, bias, op=replace(OP, fidelity="LoFi"), activation="relu", activation_args=())
    expected = (truncate(a, 6) * truncate(b, 4)[:, None]).sum(0) + truncate(bias, 10)
    assert np.allclose(found, np.maximum(expected, 0), atol=1e-5)
    rounded = execute("tile.depthwise", a, b, op=replace(OP, accumulate="Float16_b", inner=(9, 1)))
    assert 1e-4 < relative(rounded, execute("tile.depthwise", a, b)) < 1e-2


def test_selected_rows_go_through_the_multiplier() -> None:
    x = random(5, 8)
    grid = {"source": (5,), "sizes": (2, 4), "steps": (1, 1), "offsets": (0,), "divisors": (1,), "terms": 1, "nearest": False}
    found = execute("tile.sparse_matmul", x, op=replace(OP, fidelity="LoFi"), shape=(4, 8), **grid)
    coarse = truncate(x, 4)
    assert np.array_equal(found, coarse[:4] + coarse[1:])


def test_both_products_of_an_attention_have_phases() -> None:
    q, k, v = (random(2, 6, 8, seed=seed) for seed in range(3))
    errors = [
        relative(execute("tile.attention", q, k, v, op=replace(OP, fidelity=f), scale=0.25, zero_masked=False), attention(q, k, v))
        for f in ("LoFi", "HiFi2", "HiFi3", "HiFi4")
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 1e-2
    assert errors[3] < 2e-3


def attention(q: NDArray, k: NDArray, v: NDArray) -> NDArray:
    scores = np.exp(q.astype(np.float64) @ k.swapaxes(-1, -2) * 0.25)
    return scores / scores.sum(-1, keepdims=True) @ v


ODD = np.array([0, 2])
MOVED: dict[str, tuple[list[NDArray], dict[str, Any]]] = {
    "reshape": ([random(4, 6)], {"shape": (24,)}),
    "transpose": ([random(4, 6)], {"perm": (1, 0)}),
    "hslice": ([random(4, 6)], {"n": 2}),
    "hstack": ([random(2, 4, 6)], {"n": 2}),
    "broadcast": ([random(1, 6)], {"shape": (4, 6)}),
    "slice": ([random(4, 6)], {"starts": (3, 0), "sizes": (2, 6), "steps": (-2, 1)}),
    "relayout": ([random(4, 6)], {}),
    "pad": ([random(4, 6)], {"before": (1, 0), "after": (0, 2), "value": 0.1}),
    "concat": ([random(4, 6), random(2, 6, seed=1)], {"axis": 0}),
    "retile": ([random(32, 32)], {"kept": (16, 32), "source": (32, 32), "target": (32, 32)}),
    "repeat": ([random(4, 6)], {"axis": 1, "n": 3}),
    "tile_broadcast": ([random(32, 32)], {"dim": "r", "tile": (32, 32)}),
    "splice": ([random(2, 4, 6), random(2, 4, 6, seed=1)], {"pieces": (0, 1, 1, 0, 1, 1), "units": 4, "granularity": "t"}),
    "to_host": ([random(4, 6)], {}),
    "from_host": ([random(4, 6)], {}),
    "embedding": ([random(4, 6), ODD], {}),
    "gather": ([random(4, 6), ODD], {"axis": 0}),
    "gather_elements": ([random(4, 6), ODD.reshape(1, 2)], {"axis": 0}),
    "gather_nd": ([random(4, 6), ODD.reshape(1, 2)], {"batch_dims": 0}),
    "lookup": ([random(4, 6), np.arange(1024, dtype=np.uint32).reshape(1, 32, 32) % 4], {"rows": 4, "cores": 1, "count": 4, "t": 1}),
    "scatter_elements": ([random(4, 6), ODD.reshape(1, 2), random(1, 2, seed=1)], {"axis": 0, "reduction": "none"}),
    "scatter_nd": ([random(4, 6), ODD.reshape(1, 2), random(1, seed=1)], {"reduction": "none"}),
    "reverse_sequence": ([random(4, 6), np.array([1, 2, 3, 4, 2, 1])], {"batch_axis": 1, "time_axis": 0}),
}


@pytest.mark.parametrize("name", sorted(name for name, fact in facts().items() if fact.moves))
def test_what_only_moves_bypasses_the_registers(name: str) -> None:
    operands, attrs = MOVED[name]
    found = execute(f"tile.{name}", *operands, **attrs)
    assert np.array_equal(found, kernel(f"tile.{name}")(*operands, **attrs))
    moved = {x.item() for operand in operands if operand.dtype == np.float32 for x in operand.flat}
    assert {x.item() for x in found.flat} <= moved | {np.float32(attrs.get("value", 0)).item()}


def test_a_copy_in_float32_keeps_every_bit() -> None:
    x = random(4, 6)
    assert not np.array_equal(truncate(x, 10), x)
    assert np.array_equal(execute("tile.map", x, fn="identity"), x)
    assert np.array_equal(execute("tile.map", x, op=replace(OP, accumulate="Float16_b"), fn="identity"), x)


@pytest.mark.parametrize("reduction", ["add", "mul", "max"])
def test_a_scatter_that_combines_computes(reduction: str) -> None:
    x, indices, updates = random(4, 6), ODD.reshape(1, 2), random(1, 2, seed=1)
    attrs = {"axis": 0, "reduction": reduction}
    expected = kernel("tile.scatter_elements")(truncate(x, 10), indices, truncate(updates, 10), **attrs)
    assert np.array_equal(execute("tile.scatter_elements", x, indices, updates, **attrs), expected)


def test_results_are_packed() -> None:
    x = random(1000)
    assert np.array_equal(execute("tile.map", x, format="Float16_b", fn="identity"), narrow(truncate(x, 10), "Float16_b", None))
    accumulated = replace(OP, accumulate="Float16_b")
    assert np.array_equal(execute("tile.map", x, op=accumulated, fn="exp"), narrow(np.exp(truncate(x, 7)), "Float16_b", None))


def test_stochastic_rounding_has_its_own_noise_for_every_op() -> None:
    x = random(1000)
    first, again = (execute("tile.map", x, format="Float16_b", seed=3, fn="identity") for _ in range(2))
    assert np.array_equal(first, again)
    others = [
        execute("tile.map", x, format="Float16_b", fn="identity", op=op, seed=seed) for op, seed in ((OP, 4), (replace(OP, name="p"), 3))
    ]
    assert not any(np.array_equal(first, other) for other in others)


def test_stochastic_rounding_has_other_noise_for_other_operands() -> None:
    x = np.full(1000, 1 + 2**-9, np.float32)
    y = np.append(x, np.float32(2))
    first, other = (execute("tile.map", values, format="Float16_b", seed=3, fn="identity")[:1000] for values in (x, y))
    assert set(first.tolist()) == set(other.tolist()) == {1.0, 1 + 2**-7}
    assert not np.array_equal(first, other)


def test_errors_name_the_source() -> None:
    with pytest.raises(Error) as failure:
        execute("tile.matmul", random(2, 2), random(2, 2), op=replace(OP, fidelity="none"), **PRODUCT)
    assert (failure.value.code, failure.value.where) == ("E0607", "node")
