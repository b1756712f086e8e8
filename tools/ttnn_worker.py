"""Executes calls of TT-NN on a mock device, for a process that has no TT-NN: requests and answers are lines of JSON.

    python ttnn_worker.py

This file runs in the Python that TT-NN's wheel is for, with nothing but that installed.  TT_METAL_MOCK_CLUSTER_DESC_PATH names the
machine.  TT-NN checks every call, chooses its kernels and places its tensors; on a mock device it computes no numbers, so that tensors
are given by their shapes alone.

Requests have a key `do`:

- `open`: a mesh of devices; rows, columns.  Answers the device, and the bytes of L1 that each core gives tensors and kernels.
- `call`: a function or method by its name; arguments, keywords.
- `make`: a tensor; shape, dtype, layout, memory (null: on the host).
- `begin`, `end`: a capture; with `place` tensors get addresses, without kernels' buffers are counted.  `end` answers the peak a core.

Any request may name objects that are not needed any more under `free`.  An answer is {"value": ...}, or {"refused": message}.
"""

from __future__ import annotations

import json
import os
import sys
import types
from typing import Any

import ttnn  # pyright: ignore[reportMissingImports]

SMALL_BYTES = 65536
"""The bytes of each core's L1 that TT-NN keeps for tables of convolutions and pools."""
OBJECTS: dict[int, Any] = {}


def stand_for_torch() -> None:
    """Let TT-NN ask whether a tensor is torch's: it does so while calls are captured, and torch is not there."""
    module = types.ModuleType("torch")
    vars(module)["Tensor"] = type("Tensor", (), {})
    sys.modules["torch"] = module


def decoded(value: Any) -> Any:
    """Return the object that a value of a request stands for."""
    if not isinstance(value, dict):
        return value
    ((kind, inner),) = value.items()
    if kind == "name":
        return named(inner)
    if kind == "object":
        return OBJECTS[inner]
    if kind == "float":
        return float(inner)
    return {"list": list, "tuple": tuple}[kind](decoded(item) for item in inner)


def named(path: str) -> Any:
    """Return what TT-NN has under a dotted name."""
    found: Any = ttnn
    for part in path.split(".")[1:]:
        found = getattr(found, part)
    return found


def encoded(value: Any) -> Any:
    """Return a value for an answer; objects stay here and are known by their numbers."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return {"list" if isinstance(value, list) else "tuple": [encoded(item) for item in value]}
    number = id(value)
    OBJECTS[number] = value
    return {"object": number, **(described(value) if isinstance(value, ttnn.Tensor) else {})}


def described(tensor: ttnn.Tensor) -> dict[str, Any]:
    """Return what is known of a tensor without its numbers."""
    return {
        "shape": list(tensor.shape),
        "dtype": str(tensor.dtype).rpartition(".")[2].lower(),
        "layout": str(tensor.layout).rpartition(".")[2],
    }


def answer(request: dict[str, Any]) -> Any:
    """Do what a request asks for."""
    for number in request.get("free", ()):
        OBJECTS.pop(number, None)
    match request["do"]:
        case "open":
            if request["rows"] * request["columns"] > 1:
                ttnn.set_fabric_config(ttnn.FabricConfig.FABRIC_1D)  # what collectives go by
            device = ttnn.open_mesh_device(ttnn.MeshShape(request["rows"], request["columns"]), l1_small_size=SMALL_BYTES)
            return [encoded(device), ttnn.get_memory_view(device, ttnn.BufferType.L1).total_bytes_per_bank]
        case "call":
            owner = request.get("of")
            function = named(request["name"]) if owner is None else getattr(OBJECTS[owner], request["name"])
            arguments = [decoded(value) for value in request["arguments"]]
            return encoded(function(*arguments, **{key: decoded(value) for key, value in request["keywords"].items()}))
        case "make":
            return encoded(made(request))
        case "begin":
            modes = ttnn.graph.RunMode
            ttnn.graph.begin_graph_capture(modes.NORMAL if request["place"] else modes.NO_DISPATCH)
            return None
        case "end":
            return ttnn.graph.extract_resource_usage_per_core(ttnn.graph.end_graph_capture()).peak_total
        case other:
            raise ValueError(other)


def made(request: dict[str, Any]) -> ttnn.Tensor:
    """Make a tensor, on the host or on the device."""
    shape, dtype, layout = ttnn.Shape(request["shape"]), named(request["dtype"]), named(request["layout"])
    device = OBJECTS[request["device"]]
    if request["memory"] is None:
        return ttnn.allocate_tensor_on_host(shape, dtype, layout, device, ttnn.DRAM_MEMORY_CONFIG)
    return ttnn.allocate_tensor_on_device(shape, dtype, layout, device, decoded(request["memory"]))


def main() -> None:
    """Answer requests until there are no more; what TT-NN prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    stand_for_torch()
    for line in sys.stdin:
        try:
            reply = {"value": answer(json.loads(line))}
        except Exception as error:  # TT-NN's refusals are RuntimeErrors and TypeErrors of its bindings
            reply = {"refused": str(error)}
        answers.write(json.dumps(reply) + "\n")
    answers.flush()
    os._exit(0)  # nothing on a mock device is worth the seconds that closing it takes


if __name__ == "__main__":
    main()
