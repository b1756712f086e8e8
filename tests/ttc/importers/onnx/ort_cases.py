"""Models of ops that onnx's own reference evaluator does not know, against onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import helper

from tests.ttc.importers.onnx.cases import Arrays, imported, model_of

MICROSOFT = "com.microsoft"


def ms_model(
    op: str,
    operands: Sequence[NDArray | None],
    *,
    constant: Sequence[int] = (),
    outputs: Sequence[bool] = (True,),
    domain: str = MICROSOFT,
    **attrs: Any,
) -> tuple[onnx.ModelProto, dict[str, NDArray]]:
    """A model of one node of onnxruntime and its feeds: operands whose index is in `constant` are initializers, None is an absent one."""
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(operands)]
    arrays = {name: x for name, x in zip(names, operands, strict=True) if x is not None}
    constants = {f"x{i}": arrays[f"x{i}"] for i in constant}
    feeds = {k: v for k, v in arrays.items() if k not in constants}
    results = [f"y{i}" if wanted else "" for i, wanted in enumerate(outputs)]
    node = helper.make_node(op, names, results, name="node", domain=domain, **attrs)
    return model_of([node], feeds, [y for y in results if y], constants, 17, domains={MICROSOFT: 1}), feeds


def ort_results(model: onnx.ModelProto, feeds: Mapping[str, NDArray]) -> list[NDArray]:
    """What onnxruntime gives, as the model stands."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return [np.asarray(y) for y in session.run(None, dict(feeds))]


def compare(found: Sequence[NDArray], wanted: Sequence[NDArray], *, atol: float = 2e-5, steps: int = 1) -> None:
    """Equal shapes and dtypes; numbers within atol, integers of quantization within so many steps."""
    assert len(found) == len(wanted)
    for y, z in zip(found, wanted, strict=True):
        assert y.shape == z.shape
        assert y.dtype == z.dtype
        if y.dtype.kind in "iu":
            assert np.abs(y.astype(np.int64) - z.astype(np.int64)).max(initial=0) <= (steps if y.dtype.itemsize == 1 else 0)
        else:
            np.testing.assert_allclose(y.astype(np.float64), z.astype(np.float64), rtol=2e-5, atol=atol)


def check_ort(model: onnx.ModelProto, feeds: Arrays, folder: Path, **bounds: Any) -> None:
    """The imported model gives what onnxruntime gives."""
    compare(imported(model, feeds, folder), ort_results(model, feeds), **bounds)


class Case(NamedTuple):
    """One node: operands as functions of a generator, which of them are initializers, which outputs it has, and its attributes."""

    op: str
    operands: Sequence[Any]
    attrs: dict[str, Any]


def case(op: str, *operands: Any, **attrs: Any) -> Case:
    return Case(op, operands, attrs)


class Draw(NamedTuple):
    """An operand that is drawn when the test runs: of that shape and kind, `f`: normal numbers, else integers of a dtype.

    Signed bytes stay within 64: on CPUs without VNNI, onnxruntime's sums of two products of bytes saturate at 16 bits.
    """

    kind: str
    shape: tuple[int, ...]
    factor: float = 1.0

    def array(self, rng: np.random.Generator) -> NDArray:
        if self.kind == "f":
            return (self.factor * rng.standard_normal(self.shape)).astype(np.float32)
        if self.kind == "scale":
            return (0.01 + self.factor * rng.random(self.shape)).astype(np.float32)
        low, high = {"u8": (0, 256), "i8": (-64, 65), "i16": (-300, 300), "bit": (0, 2), "ids": (0, 6)}[self.kind]
        dtype = {"u8": np.uint8, "i8": np.int8, "i16": np.int16, "bit": np.int32, "ids": np.int64}[self.kind]
        return rng.integers(low, high, self.shape).astype(dtype)


def f(*shape: int, factor: float = 1.0) -> Draw:
    return Draw("f", shape, factor)


def positive(*shape: int, factor: float = 1.0) -> Draw:
    return Draw("scale", shape, factor)


def u8(*shape: int) -> Draw:
    return Draw("u8", shape)


def i8(*shape: int) -> Draw:
    return Draw("i8", shape)


def real(*values: Any) -> NDArray:
    """One number, or a row of them."""
    return np.array(values[0] if len(values) == 1 else values, np.float32)


def byte(*values: int) -> NDArray:
    return np.array(values[0] if len(values) == 1 else values, np.uint8)


def signed(*values: int) -> NDArray:
    return np.array(values[0] if len(values) == 1 else values, np.int8)


def i32(*values: int) -> NDArray:
    return np.array(values, np.int32)


def i64(*values: int) -> NDArray:
    return np.array(values, np.int64)


def whole(value: int) -> NDArray:
    return np.array(value, np.int32)


def check_case(found: Case, name: str, folder: Path, **bounds: Any) -> None:
    """Onnxruntime's results of a case whose operands are drawn by its name."""
    rng = np.random.default_rng(list(name.encode()))
    operands = [x.array(rng) if isinstance(x, Draw) else x for x in found.operands]
    model, feeds = ms_model(found.op, operands, **found.attrs)
    check_ort(model, feeds, folder, **bounds)


def named(cases: Sequence[Case]) -> list[tuple[str, Case]]:
    """Cases with names of their own."""
    return [(f"{found.op}-{index}", found) for index, found in enumerate(cases)]
