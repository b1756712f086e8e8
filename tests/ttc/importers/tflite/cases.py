"""Models of one operator or a few, imported and run by the reference semantics, against TensorFlow's own interpreter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.draws import rng_of_test
from tests.ttc.importers.onnx.cases import run_module
from tests.ttc.importers.tflite.writer import Graph, Op, Tensor, model
from ttc.importers.tflite import import_tflite
from ttc.importers.tflite.schema import dtypes


def normal(*shape: int) -> NDArray:
    """Seeded normal float32 values."""
    return rng_of_test().standard_normal(shape).astype(np.float32)


def ints(*values: Any, dtype: Any = np.int32) -> NDArray:
    return np.array(values, dtype)


@dataclass(frozen=True)
class Given:
    """An operand: its value as stored; whether it is a constant of the model, and what its integers stand for."""

    value: NDArray
    constant: bool = False
    scale: Sequence[float] = ()
    zero: Sequence[int] = ()
    axis: int = 0
    kind: str = ""


def const(value: NDArray) -> Given:
    return Given(value, constant=True)


def quantized(*shape: int, scale: float = 0.05, zero: int = 3, dtype: Any = np.int8) -> Given:
    """Seeded integers over most of the type's range."""
    info = np.iinfo(dtype)
    return Given(rng_of_test().integers(info.min // 2, info.max // 2, shape).astype(dtype), scale=(scale,), zero=(zero,))


def weights(*shape: int, axis: int, dtype: Any = np.int8) -> Given:
    """Constant integers with a scale a slice along the axis."""
    rng = rng_of_test()
    scales = tuple(float(s) for s in np.float32(0.01) * rng.uniform(0.5, 2, shape[axis]).astype(np.float32))
    return Given(rng.integers(-127, 128, shape).astype(dtype), constant=True, scale=scales, axis=axis)


@dataclass(frozen=True)
class Result:
    """What an output is declared as; few kernels look at the shape."""

    kind: str = "FLOAT32"
    scale: Sequence[float] = ()
    zero: Sequence[int] = ()
    shape: tuple[int, ...] = (1,)


FLOAT = Result()
INT32 = Result("INT32")
INT64 = Result("INT64")
BOOL = Result("BOOL")
Operand: TypeAlias = "NDArray | Given | None"


def kind_of(dtype: np.dtype) -> str:
    return next(kind for kind, found in dtypes().items() if found == dtype)


def op_model(
    op: str, operands: Sequence[Operand], results: Sequence[Result], options: Mapping[str, Any]
) -> tuple[bytes, dict[str, NDArray]]:
    """The model of one operator, a custom one as `CUSTOM:Name`, and values of its inputs."""
    given = {f"x{i}": x if isinstance(x, Given) else Given(x) for i, x in enumerate(operands) if x is not None}
    tensors = [
        Tensor(n, g.value.shape, g.kind or kind_of(g.value.dtype), g.value if g.constant else None, g.scale, g.zero, g.axis)
        for n, g in given.items()
    ]
    names = [f"y{i}" for i in range(len(results))]
    tensors += [Tensor(n, r.shape, r.kind, None, r.scale, r.zero) for n, r in zip(names, results, strict=True)]
    feeds = {n: g.value for n, g in given.items() if not g.constant}
    kind, _, custom = op.partition(":")
    node = Op(kind, [f"x{i}" if x is not None else None for i, x in enumerate(operands)], names, options, custom)
    return model(Graph(tensors, list(feeds), names, [node])), feeds


def interpreted(data: bytes, feeds: Mapping[str, NDArray], *, delegates: bool = False, runs: int = 1) -> list[NDArray]:
    """Results of TensorFlow's interpreter, of the last run; with its default delegate, which is what users get, or its own kernels."""
    pytest.importorskip("tensorflow", reason="results are compared with TensorFlow's own")
    from tensorflow.lite.python.interpreter import Interpreter, OpResolverType

    kind = OpResolverType.AUTO if delegates else OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = Interpreter(model_content=data, experimental_op_resolver_type=kind)
    details = {d["name"]: d["index"] for d in interpreter.get_input_details()}
    for name, value in feeds.items():
        interpreter.resize_tensor_input(details[name], value.shape)
    interpreter.allocate_tensors()
    for _ in range(runs):
        for name, value in feeds.items():
            interpreter.set_tensor(details[name], value)
        interpreter.invoke()
    return [interpreter.get_tensor(d["index"]).copy() for d in interpreter.get_output_details()]


def imported(data: bytes, feeds: Mapping[str, NDArray], folder: Path, **options: Any) -> list[NDArray]:
    """Save, import, run."""
    path = folder / "model.tflite"
    path.write_bytes(data)
    module, store = import_tflite(path, **options)
    return run_module(module, store, feeds)


def check_op(
    folder: Path, op: str, *operands: Operand, results: Sequence[Result] = (FLOAT,), steps: int = 1, atol: float = 1e-5, **options: Any
) -> None:
    """One operator gives what TensorFlow's interpreter gives: shapes, dtypes, and values, quantized ones within so many steps."""
    data, feeds = op_model(op, operands, results, options)
    check(data, feeds, folder, results, steps=steps, atol=atol)


def check(
    data: bytes, feeds: Mapping[str, NDArray], folder: Path, results: Sequence[Result], *, steps: int = 1, atol: float = 1e-5
) -> None:
    wanted = interpreted(data, feeds)
    found = imported(data, feeds, folder)
    assert len(found) == len(wanted)
    for y, z, r in zip(found, wanted, results, strict=True):
        assert y.shape == z.shape
        assert y.dtype == z.dtype
        if r.scale:
            assert np.abs(y.astype(np.int64) - z.astype(np.int64)).max(initial=0) <= steps
        else:
            np.testing.assert_allclose(y, z, rtol=1e-5, atol=atol)


def with_options(**options: Any) -> dict[str, Any]:
    """Options of a window over an image, and others."""
    return {"padding": "SAME", "stride_h": 1, "stride_w": 1, "fused_activation_function": "NONE", **options}
