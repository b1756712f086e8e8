"""Models as plain data, and files that are none."""

from __future__ import annotations

import random
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.ttc.importers.tflite.samples import all_samples, quantized_network, real_network
from tests.ttc.importers.tflite.writer import Graph, Op, Signature, Tensor, model
from ttc.dialects.core.errors import Error
from ttc.importers.base import import_model
from ttc.importers.tflite.model import parse
from ttc.importers.tflite.schema import OPERATORS, UNION, options_of

MUTATIONS = 600
X, Y = Tensor("x", (2, 3)), Tensor("y", (2, 3))
EXP = Op("EXP", ["x"], ["y"])


def code_of(data: bytes, folder: Path, **options: Any) -> str:
    path = folder / "model.tflite"
    path.write_bytes(data)
    with pytest.raises(Error) as caught:
        import_model(path, **options)
    assert "model.tflite" in str(caught.value.where)
    return caught.value.code


def test_a_model_is_read() -> None:
    found = parse(quantized_network())
    (graph,) = found.graphs
    assert [op.op for op in graph.operators] == ["DEPTHWISE_CONV_2D", "CONV_2D", "ADD", "MEAN", "DEQUANTIZE", "ARG_MAX"]
    first = graph.operators[0]
    assert first.options["padding"] == "SAME"
    assert first.options["stride_h"] == 2
    assert first.options["dilation_w_factor"] == 1
    weights = graph.tensors[first.inputs[1]]
    assert (weights.kind, weights.shape, weights.data is not None) == ("INT8", (1, 3, 3, 4), True)
    assert weights.quantization is not None
    assert (weights.quantization.axis, len(weights.quantization.scales)) == (3, 4)
    assert graph.tensors[graph.inputs[0]].data is None


def test_names_and_open_dimensions() -> None:
    found = parse(real_network())
    assert found.graphs[0].tensors[0].shape == (-1, 8, 6, 3)
    assert found.signatures[0].inputs == {0: ["image"]}
    twice = model(Graph([X, Tensor("x"), Tensor("x")], ["x"], ["x"], []))
    assert [t.name for t in parse(twice).graphs[0].tensors] == ["x", "x.1", "x.2"]


def test_the_schema_has_the_ops_at_their_codes() -> None:
    assert {OPERATORS.index(op): op for op in ("CONV_2D", "CUSTOM", "WHILE", "GELU", "STABLEHLO_CASE")} == {
        3: "CONV_2D",
        32: "CUSTOM",
        119: "WHILE",
        150: "GELU",
        209: "STABLEHLO_CASE",
    }
    assert (UNION.index("Conv2DOptions"), UNION.index("RightShiftOptions")) == (1, 126)
    assert options_of("ABS") is None


@pytest.mark.parametrize(
    "data", [b"", b"TFL3", b"\x08\0\0\0ONNX" + bytes(40), b"\x1c\0\0\0TFL3", real_network()[:100], real_network()[:-50]]
)
def test_files_that_are_no_models(data: bytes, tmp_path: Path) -> None:
    assert code_of(data, tmp_path) == "E0201"


@pytest.mark.parametrize(
    "graph",
    [
        Graph([X, Y], ["x"], ["y"], [Op("EXP", [2], ["y"])]),
        Graph([X, Y], ["x"], ["y"], [Op("EXP", [-2], ["y"])]),
        Graph([X, Y], ["x"], ["y"], [Op("EXP", [-1], ["y"])]),
        Graph([X, Y], ["x"], ["y"], [Op("EXP", ["x"], [-1])]),
        Graph([X, Y], ["x"], ["y"], [Op("EXP", ["x"], [7])]),
        Graph([X, Y], ["x"], [5], [EXP]),
        Graph([X, Y], [-1], ["y"], [EXP]),
        Graph([X, Y], ["x", "x"], ["y"], [EXP]),
        Graph([X, Y], ["x"], ["y"], [EXP, EXP]),
        Graph([X, Y], ["x"], ["y"], [Op("EXP", ["y"], ["y"])]),
        Graph([X, Y], [], ["y"], [EXP]),
        Graph([X, Y], ["x"], ["y"], [Op("EXP", ["x", "x"], ["y"])]),
        Graph([X, Y], ["x"], ["y"], [Op("EXP", ["x"], [])]),
        Graph([X, replace(Y, shape=(1 << 30, 1 << 30))], ["x"], ["y"], [EXP]),
        Graph([X, replace(Y, shape=(2, -3))], ["x"], ["y"], [EXP]),
        Graph([X, replace(Y, kind="INT8", scale=(0.0,))], ["x"], ["y"], [EXP]),
        Graph([X, replace(Y, kind="INT8", scale=(float("nan"),))], ["x"], ["y"], [EXP]),
        Graph([X, replace(Y, kind="INT8", scale=(0.1,), zero=(200,))], ["x"], ["y"], [EXP]),
        Graph([X, replace(Y, kind="INT8", scale=(0.1, 0.2), axis=1)], ["x"], ["y"], [EXP]),
        Graph([X, replace(Y, kind="INT8", scale=(0.1, 0.2), axis=9)], ["x"], ["y"], [EXP]),
        Graph([replace(X, data=np.zeros(5, np.float32)), Y], [], ["y"], [EXP]),
    ],
)
def test_graphs_that_cannot_be(graph: Graph, tmp_path: Path) -> None:
    assert code_of(model(graph), tmp_path) == "E0203"


def test_options_of_another_op(tmp_path: Path) -> None:
    data = bytearray(model(Graph([X, Y], ["x"], ["y"], [Op("SOFTMAX", ["x"], ["y"], {"beta": 1.0})])))
    at = data.index(struct.pack("<f", 1.0))
    kind = bytes([UNION.index("SoftmaxOptions")])
    places = [i for i in range(at) if data[i : i + 1] == kind]
    codes = set()
    for place in places:
        damaged = bytearray(data)
        damaged[place] = UNION.index("Conv2DOptions")
        (tmp_path / "model.tflite").write_bytes(damaged)
        try:
            import_model(tmp_path / "model.tflite")
        except Error as error:
            codes.add(error.code + " " + error.message.split(" has ")[-1])
    assert "E0203 the options of another op" in codes


def test_a_buffer_past_the_end(tmp_path: Path) -> None:
    assert code_of(real_network()[:-1], tmp_path) == "E0201"


def test_no_graph_or_another_version(tmp_path: Path) -> None:
    assert code_of(model(), tmp_path) == "E0203"
    data = bytearray(model(Graph([X, Y], ["x"], ["y"], [EXP])))
    root = struct.unpack_from("<I", data)[0]
    data[data.index(struct.pack("<I", 3), root)] = 4
    assert code_of(bytes(data), tmp_path) == "E0201"


def test_a_signature_of_no_graph(tmp_path: Path) -> None:
    data = model(Graph([X, Y], ["x"], ["y"], [EXP]), signatures=[Signature({"x": "a"}, {"y": "b"})])
    assert parse(data).signatures[0].key == "serving_default"


@pytest.mark.parametrize("sample", range(3))
def test_damaged_models(sample: int, tmp_path: Path) -> None:
    """Bytes changed to their neighbours, by a bit or to an extreme, and files cut short: imported or refused, nothing else."""
    whole, rng, path = all_samples()[sample], random.Random(sample), tmp_path / "model.tflite"
    refused = 0
    for _ in range(MUTATIONS // 3):
        data = bytearray(whole if rng.random() > 0.05 else whole[: rng.randrange(len(whole))])
        for _ in range(rng.choice([1, 1, 2])):
            at = rng.randrange(len(data)) if data else 0
            data[at : at + 1] = (
                bytes([rng.choice([data[at] + 1, data[at] - 1, data[at] ^ 1 << rng.randrange(8), 0, 255]) & 255]) if data else b""
            )
        path.write_bytes(data)
        try:
            module, weights = import_model(path, batch=1)
            for key in weights:
                weights[key].value()
            module.verify()
        except Error:
            refused += 1
    assert 0 < refused < MUTATIONS // 3
