"""Bounds of integers: no op computes a number outside them, and a device holds what keeps them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.passes.tiles import apply
from ttc.dialects.core.ir.spec import Spec, tensor_type
from ttc.dialects.core.plain.interpret import kernel
from ttc.dialects.nn.base import ops
from ttc.passes.nn_to_tile.lower_to_tile import LowerToTile
from ttc.passes.nn_to_tile.ranges import REACHES, limits, within

I64 = np.dtype(np.int64)
INDICES = np.array([[0, 1, 1]])
REDUCED = {"axes": (1,), "keepdims": True}
ARG = {"axis": 1, "keepdims": True, "select_last": False}
SUMS = {"axis": 1, "exclusive": False, "reverse": False}
CASES: dict[str, tuple[int, dict[str, Any], list[np.ndarray]]] = {
    **dict.fromkeys(("identity", "abs", "neg", "sign", "relu", "non_zero", "shape"), (1, {}, [])),
    **dict.fromkeys(("add", "sub", "mul", "minimum", "maximum", "bitwise_and", "bitwise_or", "bitwise_xor", "concat"), (2, {}, [])),
    **dict.fromkeys(("reduce_max", "reduce_min", "reduce_mean", "reduce_sum"), (1, REDUCED, [])),
    **dict.fromkeys(("argmax", "argmin"), (1, ARG, [])),
    **dict.fromkeys(("dynamic_reshape", "dynamic_expand"), (1, {"sizes": (-1, -1)}, [np.array([3, 4])])),
    **dict.fromkeys(("gather", "gather_elements"), (1, {"axis": 0}, [INDICES])),
    "dynamic_slice": (1, {"axes": (1,)}, [np.array([1]), np.array([3]), np.array([1])]),
    "reshape": (1, {"shape": (4, 3)}, []),
    "transpose": (1, {"perm": (1, 0)}, []),
    "expand": (1, {"shape": (2, 3, 4)}, []),
    "repeat": (1, {"repeats": (1, 2)}, []),
    "slice": (1, {"starts": (0, 1), "sizes": (3, 2), "steps": (1, 1)}, []),
    "split": (1, {"axis": 1, "sizes": (1, 3)}, []),
    "compress": (1, {"axis": 0}, [np.array([True, False, True])]),
    "reverse_sequence": (1, {"time_axis": 0, "batch_axis": 1}, [np.array([1, 2, 3, 1])]),
    "gather_nd": (1, {"batch_dims": 0}, [INDICES[:, :2]]),
    "cast": (1, {"dtype": I64}, []),
    "pad": (1, {"before": (1, 0), "after": (0, 0), "value": 77.0, "mode": "constant"}, []),
    "scatter_elements": (1, {"axis": 0, "reduction": "max"}, [INDICES, 50 * INDICES]),
    "scatter_nd": (1, {"reduction": "none"}, [INDICES[:, :1], np.array([[9, 9, 9, -9]])]),
    "div": (2, {}, []),
    "mod": (2, {"fmod": True}, []),
    "clip": (1, {"min": -3.0, "max": 5.0}, []),
    "shift_right": (1, {}, [np.arange(12).reshape(3, 4) % 5]),
    "topk": (1, {"k": 2, "axis": 1, "largest": True}, []),
    "unique": (1, {"sorted": True}, []),
    "cumsum": (1, SUMS, []),
    "max_pool2d": (1, {}, []),
    "matmul": (1, {"transpose_a": False, "transpose_b": False}, [np.arange(-10, 10).reshape(4, 5)]),
}
OTHER_OPERANDS = {"where", "one_hot", "quantize"}
"""Rules whose operands are of several kinds: cases of their own below."""


def reach(name: str, arrays: list[np.ndarray], attrs: dict[str, Any]) -> tuple[int, int]:
    """What the rule says of an op on these arrays, whose bounds are those of their numbers."""
    operands = [SimpleNamespace(type=tensor_type(Spec(x.shape, x.dtype))) for x in arrays]
    results = [SimpleNamespace(type=tensor_type(Spec((), I64)))]
    op = SimpleNamespace(operands=operands, results=results, plain_attrs=lambda: attrs)
    return REACHES[name](op, *[(int(x.min()), int(x.max())) for x in arrays])


def test_every_rule_is_of_an_op_and_has_a_case() -> None:
    found = set(REACHES.rules())
    assert found <= set(ops())
    assert found == set(CASES) | OTHER_OPERANDS


@pytest.mark.parametrize("name", sorted(set(CASES) - {"max_pool2d"}))
def test_no_number_lies_outside(name: str) -> None:
    rng = np.random.default_rng(sum(map(ord, name)))
    count, attrs, others = CASES[name]
    for low, high in ((-9, 12), (3, 12), (-12, -3), (-1, 0), (0, 0), (-(2**31), 2**31 - 1)):
        arrays = [rng.integers(low, high, (3, 4), endpoint=True) for _ in range(count)]
        if name in ("div", "mod"):
            arrays[1][arrays[1] == 0] = 1
        given = {"axis": 0} if name == "concat" else attrs
        found = kernel(f"nn.{name}")(*arrays, *others, **given)
        bounds = reach(name, [*arrays, *others], given)
        for result in found if isinstance(found, tuple) else (found,):
            values = np.asarray(result)
            assert within((int(values.min(initial=bounds[1])), int(values.max(initial=bounds[0]))), bounds), (low, high)


def test_choices() -> None:
    condition, a, b = np.array([True, False]), np.array([3, 4]), np.array([-7, 9])
    assert reach("where", [condition, a, b], {}) == (-7, 9)
    assert reach("one_hot", [np.array([5]), np.array([9]), np.array([-1, 2])], {}) == (-1, 2)
    assert reach("cast", [np.array([1.5])], {}) == limits(I64)
    assert reach("quantize", [np.array([1.5])], {}) == limits(I64)
    assert reach("scatter_nd", [a, a, a], {"reduction": "add"}) == limits(I64)
    assert reach("pad", [a], {"value": float("inf")}) == limits(I64)


SUM = """(%x: {0}[2, 40], %z: {0}[40])
    %0 = nn.add(%x, %z) : ({0}[2, 40], {0}[40]) -> {0}[2, 40]
    %1 = nn.transpose(%0) {{perm = [1, 0]}} : ({0}[2, 40]) -> {0}[40, 2]
    return %1 : {0}[40, 2]"""


@pytest.mark.parametrize("dtype", ["i64", "i16"])
def test_what_may_leave_its_range_is_computed_on_the_host(dtype: str) -> None:
    outcome = apply(LowerToTile(), SUM.format(dtype), "n150")
    assert "nn.add" in outcome.names()
    assert outcome.missed()[0].startswith("nn.add runs on the host: numbers may exceed ")


@pytest.mark.parametrize("dtype", ["i64", "i16"])
def test_what_no_rule_knows_is_computed_on_the_host(dtype: str) -> None:
    power = SUM.format(dtype).replace("nn.add", "nn.pow")
    assert apply(LowerToTile(), power, "n150").missed()[0].startswith("nn.pow runs on the host: numbers may exceed ")


@pytest.mark.parametrize("dtype", ["i32", "ui8", "i8"])
def test_what_the_device_holds_in_its_own_width_comes_round_there(dtype: str) -> None:
    assert apply(LowerToTile(), SUM.format(dtype), "n150").names() == ["tile.map", "tile.transpose"]


def test_positions_of_tokens_stay_on_the_device() -> None:
    fragment = """(%x: f32[2, 40], %i: i64[2, 40])
    %o = ttc.constant() {value = #ttc.literal<[1], i64[1]>} : () -> i64[1]
    %p = ttc.constant() {value = #ttc.literal<[1], i64[1]>} : () -> i64[1]
    %0 = nn.not_equal(%i, %p) : (i64[2, 40], i64[1]) -> i1[2, 40]
    %1 = nn.cast(%0) {dtype = i64} : (i1[2, 40]) -> i64[2, 40]
    %2 = nn.mul(%1, %1) : (i64[2, 40], i64[2, 40]) -> i64[2, 40]
    %3 = nn.reduce_sum(%2) {axes = [1], keepdims = true} : (i64[2, 40]) -> i64[2, 1]
    %4 = nn.add(%3, %o) : (i64[2, 1], i64[1]) -> i64[2, 1]
    return %4 : i64[2, 1]"""
    outcome = apply(LowerToTile(), fragment, "n150")
    assert outcome.missed() == []
    assert not [name for name in outcome.names() if name.startswith("nn.")]
