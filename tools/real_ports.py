"""Prints the inputs of one model, as its own framework reads them, as JSON rows of name, dtype and sizes (null where open).

    python real_ports.py MODEL.onnx|MODEL.tflite|MODEL.pt2|FOLDER

A process of its own for each model: TensorFlow and PyTorch keep memory and threads.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from bench_engines import saved_signature

Row = tuple[str, str, list[int | None]]


def onnx_ports(path: Path) -> Iterator[Row]:
    """Yield inputs of the graph but those that only give an initializer a name."""
    import onnx

    graph = onnx.load(path, load_external_data=False).graph
    given = {tensor.name for tensor in graph.initializer}
    for port in graph.input:
        if port.name not in given:
            kind = port.type.tensor_type
            sizes = [d.dim_value if d.HasField("dim_value") and d.dim_value > 0 else None for d in kind.shape.dim]
            dtype = "U" if kind.elem_type == onnx.TensorProto.STRING else str(onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type))
            yield port.name, dtype, sizes


def tflite_ports(path: Path) -> Iterator[Row]:
    """Yield inputs of the first subgraph, by the names of its signature if it has one."""
    import numpy as np
    import tensorflow as tf

    interpreter = tf.lite.Interpreter(str(path))
    signed = interpreter.get_signature_runner().get_input_details() if interpreter.get_signature_list() else {}
    names = {details["index"]: name for name, details in signed.items()}
    for port in interpreter.get_input_details():
        sizes = port["shape_signature"] if len(port["shape_signature"]) else port["shape"]
        yield names.get(port["index"], port["name"]), str(np.dtype(port["dtype"])), [int(d) if d > 0 else None for d in sizes]


def tensorflow_ports(path: Path) -> Iterator[Row]:
    """Yield inputs of the signature `serving_default`."""
    import tensorflow

    old = tensorflow.compat.v1
    for name, port in sorted(saved_signature(old, old.Session(graph=old.Graph()), path).inputs.items()):
        dtype = tensorflow.as_dtype(port.dtype)
        sizes: list[int | None] = (
            [None] if port.tensor_shape.unknown_rank else [d.size if d.size >= 0 else None for d in port.tensor_shape.dim]
        )
        yield name, "U" if dtype == tensorflow.string else dtype.name, sizes


def torch_ports(path: Path) -> Iterator[Row]:
    """Yield user inputs of an exported program."""
    import torch

    program = torch.export.load(path)
    values = {node.name: node.meta["val"] for node in program.graph.nodes if node.op == "placeholder"}
    for name in program.graph_signature.user_inputs:
        value = values[str(name)]
        yield str(name), str(value.dtype).removeprefix("torch."), [d if isinstance(d, int) else None for d in value.shape]


READERS: Mapping[str, Callable[[Path], Iterator[Row]]] = {
    ".onnx": onnx_ports,
    ".tflite": tflite_ports,
    ".pt2": torch_ports,
    "": tensorflow_ports,
}


def main() -> None:
    """Run the tool."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    path = Path(sys.argv[1])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # frameworks print what they like
    answers.write(json.dumps(list(READERS[path.suffix](path))))
    answers.flush()


if __name__ == "__main__":
    main()
