"""Quantization against onnx's reference evaluator and exact sums of integers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import ttc
from tests.draws import rng_of_test
from tests.ttc.importers.onnx.cases import check, check_node, imported, model_of, node_model, normal, save
from ttc.dialects.core.errors import Error
from ttc.runtime.engines.native.execution.plan import NativePlan

X = 20 * normal(2, 3, 6)


def scale(*shape: int) -> np.ndarray:
    return (0.1 + rng_of_test().random(shape)).astype(np.float32)


def codes(dtype: type, *shape: int) -> np.ndarray:
    info = np.iinfo(dtype)
    return rng_of_test().integers(max(info.min, -300), min(info.max, 300) + 1, shape).astype(dtype)


@pytest.mark.parametrize(
    ("shape", "attrs"), [((), {}), ((3,), {"axis": 1}), ((6,), {"axis": -1}), ((2, 3, 3), {"axis": 2, "block_size": 2})]
)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_there_and_back(dtype: type, shape: tuple[int, ...], attrs: dict[str, int], tmp_path: Path) -> None:
    check_node(tmp_path, "QuantizeLinear", X, scale(*shape), codes(dtype, *shape) // 4, opset=21, **attrs)
    check_node(tmp_path, "DequantizeLinear", codes(dtype, *X.shape), scale(*shape), codes(dtype, *shape), opset=21, **attrs)


def test_zero_point_may_be_absent(tmp_path: Path) -> None:
    check_node(tmp_path, "QuantizeLinear", X, scale(), opset=19)
    check_node(tmp_path, "DequantizeLinear", codes(np.int32, 4, 5), scale(), opset=19)


@pytest.mark.parametrize(("dtype", "code"), [(np.int8, 3), (np.uint16, 4)])
def test_output_dtype(dtype: type, code: int, tmp_path: Path) -> None:
    model, feeds = node_model("QuantizeLinear", X, np.array(0.5, np.float32), opset=21, output_dtype=code)
    info = np.iinfo(dtype)
    check(model, feeds, tmp_path, wanted=[np.clip(np.rint(X / 0.5), info.min, info.max).astype(dtype)])


def test_blocks_that_do_not_divide_the_axis(tmp_path: Path) -> None:
    scales = scale(2, 3, 2)
    model, feeds = node_model("QuantizeLinear", X, scales, opset=21, axis=2, block_size=4)
    wide = np.repeat(scales, 4, axis=2)[..., :6]
    check(model, feeds, tmp_path, wanted=[np.clip(np.rint(X / wide), 0, 255).astype(np.uint8)])


@pytest.mark.parametrize(("shape", "attrs"), [((4,), {"axis": 1}), ((2, 3, 4), {"axis": 2, "block_size": 2}), ((2, 6), {"axis": 1})])
def test_scales_that_do_not_fit(shape: tuple[int, ...], attrs: dict[str, int], tmp_path: Path) -> None:
    model, feeds = node_model("QuantizeLinear", X, scale(*shape), opset=21, **attrs)
    with pytest.raises(Error) as caught:
        imported(model, feeds, tmp_path)
    assert caught.value.code == "E0401"


def test_dynamic_quantization_comes_from_its_definition(tmp_path: Path) -> None:
    check_node(tmp_path, "DynamicQuantizeLinear", X, outputs=3)


@pytest.mark.parametrize("zeros", [(), ((), ()), ((4,), (5,))])
def test_mat_mul_integer(zeros: tuple[tuple[int, ...], ...], tmp_path: Path) -> None:
    x, w = codes(np.uint8, 4, 7), codes(np.int8, 7, 5)
    points = [codes(d, *s) for d, s in zip((np.uint8, np.int8), zeros, strict=False)]
    model, feeds = node_model("MatMulInteger", x, w, *points)
    wide = [v.astype(np.int32) for v in (x, w)]
    if points:
        wide[0] -= points[0].reshape(-1, 1) if points[0].ndim else points[0]
        wide[1] -= points[1]
    check(model, feeds, tmp_path, wanted=[(wide[0] @ wide[1]).astype(np.int32)])


@pytest.mark.parametrize("attrs", [{}, {"pads": [1, 0, 1, 1], "strides": [2, 1]}, {"group": 2, "dilations": [1, 2]}])
def test_conv_integer(attrs: dict[str, Any], tmp_path: Path) -> None:
    group = attrs.get("group", 1)
    x, w = codes(np.uint8, 1, 4, 6, 7), codes(np.uint8, 2, 4 // group, 3, 2)
    points = np.array(17, np.uint8), np.array(3, np.uint8)
    model, feeds = node_model("Conv", x.astype(np.float64) - 17, w.astype(np.float64) - 3, **attrs)
    wanted = imported(model, feeds, tmp_path)[0].astype(np.int32)
    model, feeds = node_model("ConvInteger", x, w, *points, **attrs)
    check(model, feeds, tmp_path, wanted=[wanted])


@pytest.mark.parametrize("target", ["host", "n150"])
def test_conv_integer_is_native(target: str, tmp_path: Path) -> None:
    x, w, zero = codes(np.uint8, 1, 9, 8, 8), codes(np.uint8, 5, 9, 3, 3), codes(np.uint8, 1)[0]
    model, feeds = node_model("ConvInteger", x, w, np.asarray(zero), np.array(133, np.uint8), constant=(1, 3), pads=[1] * 4)
    program = ttc.compile(save(model, tmp_path), target=target)
    program.save(tmp_path / "m.tti")
    padded = np.pad(x.astype(np.int64) - int(zero), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    wanted = np.einsum("ncyxij,ocij->noyx", windows, w.astype(np.int64) - 133)
    with ttc.load(tmp_path / "m.tti") as executor:
        (y,) = executor.run(feeds).values()
        plans = [executor.program.plans[graph] for graph in executor.program.netlists.executed.graphs]
    assert np.array_equal(y, wanted)
    assert all(isinstance(plan, NativePlan) and all(part.step is None for part in plan.prepared.layout.segments) for plan in plans)


def quantized(y: np.ndarray, step: float, zero: int) -> np.ndarray:
    return np.clip(np.rint(y / step) + zero, 0, 255).astype(np.uint8)


def test_q_linear_mat_mul(tmp_path: Path) -> None:
    x, w = codes(np.uint8, 4, 7), codes(np.uint8, 7, 5)
    operands = (x, scale(4), codes(np.uint8, 4), w, scale(5), codes(np.uint8, 5), np.array(90.0, np.float32), np.array(100, np.uint8))
    model, feeds = node_model("QLinearMatMul", *operands)
    left = (x.astype(np.float64) - operands[2][:, None]) * operands[1][:, None]
    right = (w.astype(np.float64) - operands[5]) * operands[4]
    check(model, feeds, tmp_path, wanted=[quantized(left @ right, 90, 100)])


@pytest.mark.parametrize("by_filter", [False, True])
def test_q_linear_conv(by_filter: bool, tmp_path: Path) -> None:
    shape = (3,) if by_filter else ()
    x, w, bias = codes(np.uint8, 1, 2, 5, 6), codes(np.uint8, 3, 2, 3, 3), codes(np.int32, 3)
    steps = scale(*shape)
    zero = codes(np.uint8, *shape)
    y_step, y_zero = np.array(60.0, np.float32), np.array(90, np.uint8)
    operands = (x, np.array(0.5, np.float32), np.array(9, np.uint8), w, steps, zero, y_step, y_zero, bias)
    column = (v.reshape(-1, 1, 1, 1).astype(np.float64) for v in (steps, zero))
    wide, offset = column
    real = node_model(
        "Conv", (x.astype(np.float64) - 9) * 0.5, (w - offset) * wide, bias * 0.5 * steps.astype(np.float64) + np.zeros(3), pads=[1] * 4
    )
    y = imported(*real, tmp_path)[0]
    model, feeds = node_model("QLinearConv", *operands, pads=[1] * 4)
    check(model, feeds, tmp_path, wanted=[quantized(y, 60, 90)])


NARROW = {"INT4": (-8, 7), "UINT4": (0, 15), "INT2": (-2, 1), "UINT2": (0, 3)}


@pytest.mark.parametrize("name", NARROW)
def test_integers_of_less_than_a_byte(name: str, tmp_path: Path) -> None:
    """There and back: rounded to steps of the scale, within the range around the zero point."""
    (low, high), code = NARROW[name], TensorProto.DataType.Value(name)
    x, scale = np.array([-9.0, -0.6, 0.0, 0.7, 1.2, 40.0], np.float32), np.array(0.5, np.float32)
    zero = helper.make_tensor("z", code, (), [1])
    nodes = [
        helper.make_node("Constant", [], ["z"], value=zero),
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"]),
    ]
    steps = np.clip(np.rint(x / scale) + 1, low, high) - 1
    feeds = {"x": x, "s": scale}
    check(model_of(nodes, feeds, ["y"], opset=25), feeds, tmp_path, wanted=[(steps * scale).astype(np.float32)])


def test_narrow_floats(tmp_path: Path) -> None:
    x, scale = np.array([-9.0, 0.6, 1e6], np.float32), np.array(0.5, np.float32)
    zero = helper.make_tensor("z", TensorProto.FLOAT8E4M3FN, (), [0])
    nodes = [
        helper.make_node("Constant", [], ["z"], value=zero),
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s"], ["y"]),
    ]
    wanted = np.array([-9.0, 0.625, 224.0], np.float32)
    check(model_of(nodes, {"x": x, "s": scale}, ["y"], opset=23), {"x": x, "s": scale}, tmp_path, wanted=[wanted])
