"""A traced model between two processes: a GraphDef, raw bytes of its weights, and a description of both.  Never a pickle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.importers.common.beneath import map_beneath
from ttc.importers.common.open_input import OpenInput
from ttc.importers.tf.messages import Span, graph_of
from ttc.importers.tf.structure import check_graph
from ttc.importers.tf.tensors import DTYPES, dtype_of, raw_weight, static_shape
from ttc.importers.tf.values import Model, Stored

GRAPH, WEIGHTS, DESCRIPTION, FAILURE = "graph.pb", "weights.bin", "model.json", "failure.json"
MAX_DESCRIPTION_BYTES = 1 << 28
_CODES = {dtype: code for code, dtype in DTYPES.items()}


def write_traced(model: Model, graph: bytes, folder: Path) -> None:
    """Write a model; graph: the serialized form of its graph."""
    (folder / GRAPH).write_bytes(graph)
    rows: list[list[Any]] = []
    with (folder / WEIGHTS).open("wb") as file:
        for node, stored in model.stored.items():
            weight = stored.weight
            rows.append([node, stored.name, stored.is_handle, _CODES[weight.dtype], list(weight.shape), file.tell(), weight.size_bytes])
            file.write(np.ascontiguousarray(weight.value()).tobytes())
    inputs = [[item.name, model.places[item.name], _CODES[item.dtype], list(item.dims)] for item in model.inputs]
    description = {"inputs": inputs, "outputs": [list(item) for item in model.outputs], "stored": rows}
    (folder / DESCRIPTION).write_text(json.dumps(description))


def read_traced(folder: Path) -> Model:
    """Read a model back: mapped, so that the folder may be deleted.  Raises E0201, E0203."""
    try:
        data, weights, description = (map_beneath(folder, (name,), name) for name in (GRAPH, WEIGHTS, DESCRIPTION))
        if len(description) > MAX_DESCRIPTION_BYTES:
            raise ValueError("too long")
        found = json.loads(description[:])
        graph = graph_of(Span(data, 0, len(data)))
        check_graph(graph)
        inputs = tuple(OpenInput(str(name), _dims(dims), dtype_of(code, f"input '{name}'")) for name, _, code, dims in found["inputs"])
        places = {str(name): str(place) for name, place, _, _ in found["inputs"]}
        outputs = tuple((str(name), str(reference)) for name, reference in found["outputs"])
        stored = {str(row[0]): _stored(weights, *row[1:]) for row in found["stored"]}
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise Error("E0201", f"what TensorFlow gave back is damaged: {error}") from error
    return Model(graph, inputs, places, outputs, stored)


def _dims(dims: list[Any]) -> tuple[int | str, ...]:
    return tuple(d if isinstance(d, int) and d >= 0 else "" for d in dims)


def _stored(data: Any, name: str, is_handle: bool, code: int, shape: list[int], offset: int, size: int) -> Stored:
    what = f"weight '{name}'"
    if not 0 <= offset <= offset + size <= len(data):
        raise Error("E0203", f"{what} lies outside of its file")
    return Stored(name, raw_weight(data, offset, size, dtype_of(code, what), static_shape(tuple(shape), what), what), is_handle)
