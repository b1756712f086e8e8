"""All of ONNX's element types through all kinds of ops that take them, beside native kernels, on both engines of both targets."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper

import ttc
from tests.element_types import FLOATS, INTEGERS, NARROW_FLOATS, constant_of, numpy_type
from ttc.runtime.executor import Executor
from ttc.runtime.program import build_program

TYPES = (*FLOATS, *NARROW_FLOATS, *INTEGERS, "BOOL")
QUANTIZED = ("INT8", "UINT8", "INT16", "UINT16", "INT4", "UINT4", "INT2", "UINT2", *(n for n in NARROW_FLOATS if n != "FLOAT8E8M0"))
SCALE = np.float32(0.5)
Built = tuple[NodeProto, NDArray]
"""The node that makes the result of a name, and what it is."""


def ints(*values: object) -> NDArray:
    return np.array(values, np.int64)


CONSTANTS = {
    **{"zero": ints(0), "one": ints(1), "last": ints(99), "back": ints(-1), "before": ints(-99), "places": ints(2, 0), "tall": ints(8, 4)},
    **{"rows": ints([1], [0]), "twice": ints(2, 1), "three": ints(3, 1, 1), "margins": ints(1, 0, 1, 0), "scale": np.array(SCALE)},
}


def values_of(name: str) -> NDArray:
    """Small numbers of a type, [4, 8]."""
    rng = np.random.default_rng(sum(map(ord, name)))
    if name == "BOOL":
        return rng.integers(0, 2, (4, 8)).astype(np.bool_)
    if name == "FLOAT8E8M0":
        return (2.0 ** rng.integers(-3, 4, (4, 8))).astype(numpy_type(name))
    least = {"INT4": -8, "INT2": -2}.get(name, 0 if name.startswith("U") else -6)
    most = {"INT4": 8, "UINT4": 16, "INT2": 2, "UINT2": 4}.get(name, 7)
    return rng.integers(least, most, (4, 8)).astype(numpy_type(name))


def numbers_for(name: str) -> NDArray:
    """Numbers of float32, [4, 8], that a type holds near enough to be cast to it."""
    whole = np.abs(np.linspace(0, 3, 32, dtype=np.float32).reshape(4, 8).round())
    least, most = (1, 3) if name == "FLOAT8E8M0" else (0, 1 if "INT2" in name or name == "BOOL" else 3)
    return np.clip(whole, least, most)


def moving(v: NDArray) -> dict[str, Built]:
    """Ops that only move elements of v."""
    node = helper.make_node
    return {
        "identity": (node("Identity", ["v"], ["identity"]), v),
        "transposed": (node("Transpose", ["v"], ["transposed"]), v.T),
        "reshaped": (node("Reshape", ["v", "tall"], ["reshaped"]), v.reshape(8, 4)),
        "gathered": (node("Gather", ["v", "places"], ["gathered"], axis=0), v[[2, 0]]),
        "columns": (node("Gather", ["v", "places"], ["columns"], axis=1), v[:, [2, 0]]),
        "picked": (node("GatherND", ["v", "rows"], ["picked"]), v[[1, 0]]),
        "sliced": (node("Slice", ["v", "one", "last", "zero", "one"], ["sliced"]), v[1:]),
        "reversed": (node("Slice", ["v", "back", "before", "zero", "back"], ["reversed"]), v[::-1]),
        "joined": (node("Concat", ["v", "v"], ["joined"], axis=0), np.concatenate([v, v])),
        "beside": (node("Concat", ["v", "v"], ["beside"], axis=1), np.concatenate([v, v], 1)),
        "half": (node("Split", ["v"], ["half", "rest"], axis=0, num_outputs=2), v[:2]),
        "chosen": (node("Where", ["c", "v", "v"], ["chosen"]), v),
        "lifted": (node("Unsqueeze", ["v", "zero"], ["lifted"]), v[None]),
        "spread": (node("Expand", ["v", "three"], ["spread"]), np.broadcast_to(v, (3, 4, 8))),
        "tiled": (node("Tile", ["v", "twice"], ["tiled"]), np.tile(v, (2, 1))),
        "padded": (node("Pad", ["v", "margins"], ["padded"], mode="edge"), v[[0, 0, 1, 2, 3, 3]]),
        "written": (node("ScatterND", ["v", "rows", "half"], ["written"]), np.concatenate([v[[1, 0]], v[2:]])),
    }


def computing(name: str, v: NDArray, x: NDArray) -> dict[str, Built]:
    """Casts from and to the type, comparisons, kernels that read what was cast, and steps of quantization."""
    node, type_ = helper.make_node, getattr(TensorProto, name)
    wide, through = v.astype(np.float32), x.astype(v.dtype)
    found: dict[str, Built] = {
        "same": (node("Equal", ["v", "v"], ["same"]), np.ones(v.shape, np.bool_)),
        "wide": (node("Cast", ["v"], ["wide"], to=TensorProto.FLOAT), wide),
        "wider": (node("Cast", ["v"], ["wider"], to=TensorProto.DOUBLE), v.astype(np.float64)),
        "sum": (node("Add", ["wide", "x"], ["sum"]), wide + x),
        "narrow": (node("Cast", ["x"], ["narrow"], to=type_), through),
        "like": (node("CastLike", ["x", "v"], ["like"]), through),
        "back_again": (node("Cast", ["narrow"], ["back_again"], to=TensorProto.FLOAT), through.astype(np.float32)),
        "beside_kernel": (node("Relu", ["x"], ["beside_kernel"]), np.maximum(x, 0)),
    }
    if name in QUANTIZED:
        codes = _codes(name, x)
        found["real"] = node("DequantizeLinear", ["v", "scale"], ["real"]), wide * SCALE
        found["codes"] = node("QuantizeLinear", ["x", "scale"], ["codes"], output_dtype=type_), codes
        found["near"] = node("DequantizeLinear", ["codes", "scale"], ["near"]), codes.astype(np.float32) * SCALE
    return found


def _codes(name: str, x: NDArray) -> NDArray:
    """x in steps of the scale, within the type's range."""
    limits = ml_dtypes.iinfo(numpy_type(name)) if name in INTEGERS else ml_dtypes.finfo(numpy_type(name))
    return np.clip(x / SCALE, float(limits.min), float(limits.max)).astype(numpy_type(name))


def model_of(name: str, built: dict[str, Built], v: NDArray, constant: bool) -> onnx.ModelProto:
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8]), helper.make_tensor_value_info("c", TensorProto.BOOL, [1])]
    inputs += [] if constant else [helper.make_tensor_value_info("v", getattr(TensorProto, name), v.shape)]
    constants = [numpy_helper.from_array(value, key) for key, value in CONSTANTS.items()]
    constants += [constant_of("v", name, v)] if constant else []
    nodes = [node for node, _ in built.values()]
    graph = helper.make_graph(nodes, "types", inputs, [onnx.ValueInfoProto(name=key) for key in built], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13)


@pytest.mark.parametrize("target", ["host", "n150"])
@pytest.mark.parametrize("constant", [True, False], ids=["constant", "input"])
@pytest.mark.parametrize("name", TYPES)
def test_every_kind_of_op(name: str, constant: bool, target: str, tmp_path: Path) -> None:
    v, x = values_of(name), numbers_for(name)
    built = {**moving(v), **computing(name, v, x)}
    onnx.save(model_of(name, built, v, constant), tmp_path / "types.onnx")
    program = ttc.compile(tmp_path / "types.onnx", target=target)
    feeds = {"x": x, "c": np.array([True]), **({} if constant else {"v": v})}
    for engine in ("reference", "native"):
        found = Executor(build_program(program.netlist, program.description, program.constants.sources, engine=engine, threads=1)).run(
            feeds
        )
        for key, (_, wanted) in built.items():
            assert (found[key].shape, found[key].dtype) == (wanted.shape, wanted.dtype), key
            np.testing.assert_array_equal(found[key].astype(np.float64), wanted.astype(np.float64), err_msg=key)
