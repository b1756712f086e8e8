"""The model file: mapped, its skeleton parsed, its weights found."""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.weights import Weight
from ttc.dialects.core.records import record
from ttc.importers.common.mapped import map_file
from ttc.importers.onnx.external import ExternalFiles
from ttc.importers.onnx.tensors import Raw, weight_of
from ttc.importers.onnx.text import check_text
from ttc.importers.onnx.wire import Payload, skeleton


@record
class OnnxSource:
    """A parsed model.  model: without its large weights; weights: the graph's initializers by name, not read yet."""

    model: ModelProto
    weights: Mapping[str, Weight]


def read(path: Path) -> OnnxSource:
    """Map and parse a model file.  Raises E0102, E0201, E0202, E0203, E0204."""
    data = map_file(path, "an ONNX model")
    found = skeleton(data)
    try:
        model = ModelProto.FromString(found.data)
    except DecodeError as error:
        raise Error("E0201", "not an ONNX model, or a damaged one: it does not parse") from error
    if model.ir_version < 1 or not model.HasField("graph"):
        raise Error("E0201", "not an ONNX model: it has no graph or no IR version")
    check_text(model)
    if len(model.graph.initializer) != len(found.payloads):
        raise Error("E0201", "not an ONNX model, or a damaged one: its weights cannot be told apart")
    files = ExternalFiles(path.absolute().parent)
    weights: dict[str, Weight] = {}
    for tensor, payload in zip(model.graph.initializer, found.payloads, strict=True):
        what = f"initializer '{tensor.name}'"
        if not tensor.name or tensor.name in weights:
            raise Error("E0203", f"{what} is defined twice" if tensor.name else "an initializer has no name")
        weights[tensor.name] = weight_of(tensor, _raw(data, tensor, payload, files, what), what)
    return OnnxSource(model, weights)


def _raw(data: mmap.mmap, tensor: TensorProto, payload: Payload | None, files: ExternalFiles, what: str) -> Raw | None:
    if tensor.data_location == TensorProto.EXTERNAL or len(tensor.external_data):
        if payload is not None:
            raise Error("E0203", f"{what} has its data twice, as raw_data and as external data")
        return files.raw(tensor, what)
    if payload is None:
        return None

    def view(dtype: np.dtype) -> NDArray:
        return np.frombuffer(data, dtype, payload.size // dtype.itemsize, payload.offset)

    return Raw(payload.size, view)
