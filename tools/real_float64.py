"""The results of an ONNX model in float64, by ONNX's own reference evaluator: they decide where two engines of float32 differ."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator

_WIDER: dict[int, int] = {TensorProto.FLOAT: TensorProto.DOUBLE}


def in_float64(path: Path, inputs: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """Evaluate a model with all its float32 tensors in float64.  Raises what the evaluator raises."""
    model = onnx.load(path)
    _widen(model.graph)
    given = {tensor.name for tensor in model.graph.initializer}
    names = [port.name for port in model.graph.input if port.name not in given]
    wide = [array.astype(np.float64) if array.dtype == np.float32 else array for array in inputs]
    return [np.asarray(array) for array in ReferenceEvaluator(model).run(None, dict(zip(names, wide, strict=True)))]


def _widen(graph: onnx.GraphProto) -> None:
    """Make a graph, and the graphs in its nodes, one of float64."""
    for tensor in graph.initializer:
        _widen_tensor(tensor)
    for port in (*graph.input, *graph.output, *graph.value_info):
        kind = port.type.tensor_type
        kind.elem_type = _WIDER.get(kind.elem_type, kind.elem_type)
    for attribute in (attribute for node in graph.node for attribute in node.attribute):
        if attribute.type == onnx.AttributeProto.TENSOR:
            _widen_tensor(attribute.t)
        elif attribute.type == onnx.AttributeProto.GRAPH:
            _widen(attribute.g)
        elif attribute.name in ("to", "dtype") and attribute.type == onnx.AttributeProto.INT:
            attribute.i = _WIDER.get(attribute.i, attribute.i)


def _widen_tensor(tensor: onnx.TensorProto) -> None:
    if tensor.data_type == TensorProto.FLOAT:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))
