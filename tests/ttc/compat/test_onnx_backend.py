"""ttc behind the interface of ONNX's backend tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.ttc.importers.onnx.cases import ints, model_of, normal
from ttc.compat import onnx_backend as backend
from ttc.compat.onnx_backend import Backend
from ttc.dialects.core.errors import Error

X = normal(2, 3)


def reshaping() -> onnx.ModelProto:
    return model_of([helper.make_node("Reshape", ["x", "s"], ["y"])], {"x": X, "s": ints(3, 2)}, ["y"])


def test_values_that_an_op_needs_are_those_of_the_run() -> None:
    prepared = Backend.prepare(reshaping())
    assert prepared.executor is None
    (first,) = prepared.run([X, ints(3, 2)])
    compiled = prepared.executor
    prepared.run([X + 1, ints(3, 2)])
    assert prepared.executor is compiled
    (second,) = prepared.run([X, ints(6, -1)])
    assert prepared.executor is not compiled
    np.testing.assert_array_equal(first, X.reshape(3, 2))
    np.testing.assert_array_equal(second, X.reshape(6, 1))


def test_open_dimensions_are_those_of_the_run() -> None:
    model = model_of([helper.make_node("Relu", ["x"], ["y"])], {"x": X}, ["y"])
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"
    prepared = Backend.prepare(model)
    for x in (X, normal(5, 3)):
        (y,) = prepared.run({"x": x})
        np.testing.assert_array_equal(y, np.maximum(x, 0))


def test_what_needs_no_values_is_compiled_at_once() -> None:
    prepared = Backend.prepare(model_of([helper.make_node("Neg", ["x"], ["y"])], {"x": X}, ["y"]))
    assert prepared.executor is not None
    (y,) = prepared.run([X])
    np.testing.assert_array_equal(y, -X)


def test_what_cannot_be_imported_says_so() -> None:
    prepared = Backend.prepare(model_of([helper.make_node("ImageDecoder", ["x"], ["y"])], {"x": X}, ["y"]))
    with pytest.raises(Error) as caught:
        prepared.run([X])
    assert caught.value.code == "E0202"
    with pytest.raises(Error) as caught:
        Backend.prepare(model_of([helper.make_node("Neg", ["nowhere"], ["y"])], {"x": X}, ["y"]))
    assert caught.value.code == "E0203"


def test_sequences_and_optionals() -> None:
    tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
    graph = helper.make_graph(
        [helper.make_node("SequenceInsert", ["s", "x"], ["t"]), helper.make_node("OptionalHasElement", ["o"], ["has"])],
        "g",
        [
            helper.make_value_info("s", helper.make_sequence_type_proto(tensor)),
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3]),
            helper.make_value_info("o", helper.make_optional_type_proto(tensor)),
        ],
        [helper.make_value_info("t", helper.make_sequence_type_proto(tensor)), helper.make_tensor_value_info("has", TensorProto.BOOL, [])],
    )
    prepared = Backend.prepare(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10))
    for items in ([], [X[0]], [X, X[:1]]):
        found, has = prepared.run([items, X, None])
        assert [item.shape for item in found] == [x.shape for x in (*items, X)]
        assert not has
    _, has = prepared.run([[], X, X])
    assert has


def test_one_node() -> None:
    found: Any = Backend.run_node(helper.make_node("Add", ["a", "b"], ["y"]), [X, X])
    np.testing.assert_array_equal(found.y, X + X)
    (clipped,) = backend.run_node(helper.make_node("Clip", ["x", "", "top"], ["y"]), [X, None, np.float32(0.5)])
    np.testing.assert_array_equal(clipped, np.minimum(X, np.float32(0.5)))


def test_devices() -> None:
    assert Backend.supports_device("CPU")
    assert not backend.supports_device("CUDA:1")
    with pytest.raises(Error) as caught:
        backend.prepare(reshaping(), "CUDA")
    assert caught.value.code == "E0104"


def test_other_targets() -> None:
    model = model_of([helper.make_node("Exp", ["x"], ["y"])], {"x": X}, ["y"])
    (y,) = Backend.prepare(model, target="n150", format="Float16_b").run([X])
    np.testing.assert_allclose(y, np.exp(X), rtol=2e-2)
