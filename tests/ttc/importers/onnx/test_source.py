"""Hostile model files: each is one clear error, quickly, or a model."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from tests.ttc.importers.onnx.cases import ints, model_of, normal, save
from ttc.dialects.core.errors import Error
from ttc.importers.onnx import import_onnx
from ttc.importers.onnx.wire import skeleton


def network() -> ModelProto:
    """A small network with most kinds of fields: attributes, integers as operands, typed and raw data, a large weight."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("Relu", ["c"], ["r"], name="relu"),
        helper.make_node("MaxPool", ["r"], ["p"], name="pool", kernel_shape=[2, 2], strides=[2, 2], auto_pad="SAME_UPPER"),
        helper.make_node("Reshape", ["p", "shape"], ["f"], name="reshape"),
        helper.make_node("Gemm", ["f", "v", "b"], ["g"], name="fc", alpha=0.5),
        helper.make_node("Clip", ["g", "low", "high"], ["k"], name="clip"),
        helper.make_node("Constant", [], ["t"], name="t", value=numpy_helper.from_array(normal(3))),
        helper.make_node("Concat", ["k", "k"], ["m"], name="cat", axis=1),
        helper.make_node("Slice", ["m", "low_i", "high_i", "axes"], ["s"], name="slice"),
        helper.make_node("Add", ["s", "t"], ["a"], name="add"),
        helper.make_node("Softmax", ["a"], ["y"], name="softmax", axis=-1),
    ]
    constants = {
        "w": normal(2, 1, 3, 3),
        "shape": ints(1, -1),
        "v": normal(18, 20),
        "b": normal(20),
        "low": np.array(-1, np.float32),
        "high": np.array(1, np.float32),
        "low_i": ints(2),
        "high_i": ints(5),
        "axes": ints(1),
    }
    model = model_of(nodes, {"x": normal(1, 1, 12, 12)}, ["y"], constants)
    del model.graph.initializer[3]
    model.graph.initializer.append(helper.make_tensor("b", TensorProto.FLOAT, [20], np.zeros(20)))
    return model


def attempt(path: Path, data: bytes) -> str | None:
    """The error code that importing these bytes gives; None if they import."""
    path.write_bytes(data)
    try:
        import_onnx(path)
    except Error as error:
        return error.code
    return None


def test_the_network_itself_imports(tmp_path: Path) -> None:
    module, weights = import_onnx(save(network(), tmp_path))
    assert sorted(weights) == ["b", "v", "w"]


def test_empty_file(tmp_path: Path) -> None:
    assert attempt(tmp_path / "m.onnx", b"") == "E0201"


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(Error) as caught:
        import_onnx(tmp_path / "none.onnx")
    assert caught.value.code == "E0102"


@pytest.mark.parametrize("seed", range(20))
def test_random_bytes(seed: int, tmp_path: Path) -> None:
    assert attempt(tmp_path / "m.onnx", np.random.default_rng(seed).bytes(1 << (seed % 12))) == "E0201"


@pytest.mark.parametrize("sixteenths", range(16))
def test_truncated(sixteenths: int, tmp_path: Path) -> None:
    data = network().SerializeToString()
    assert attempt(tmp_path / "m.onnx", data[: len(data) * sixteenths // 16]) == "E0201"


def test_every_flipped_byte_is_an_error_or_a_model(tmp_path: Path) -> None:
    """All bytes outside the large payload, with one bit or all bits turned."""
    data = network().SerializeToString()
    path = tmp_path / "m.onnx"
    (payload,) = [p for p in skeleton(data).payloads if p is not None]
    codes: set[str | None] = set()
    slowest_seconds = 0.0
    for at in [*range(payload.offset), *range(payload.offset + payload.size, len(data))]:
        for mask in (1 << at % 8, 0xFF):
            begin = time.process_time()
            codes.add(attempt(path, data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :]))
            slowest_seconds = max(slowest_seconds, time.process_time() - begin)
    assert codes <= {None, "E0201", "E0202", "E0203", "E0204", "E0205", "E0401", "E0402", "E0403", "E0412"}
    assert slowest_seconds < 2


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"dims": [3, 4]}, "E0203"),
        ({"dims": [-2, -2]}, "E0203"),
        ({"dims": [2**40, 2**40]}, "E0203"),
        ({"dims": [2**62, 4]}, "E0203"),
        ({"dims": [1] * 40}, "E0203"),
        ({"data_type": TensorProto.COMPLEX64}, "E0202"),
        ({"data_type": 99}, "E0202"),
        ({"data_type": TensorProto.DOUBLE}, "E0203"),
        ({"float_data": [1.0]}, "E0203"),
        ({"name": ""}, "E0203"),
    ],
)
def test_weights_whose_data_does_not_fit(change: dict[str, object], code: str, tmp_path: Path) -> None:
    model = model_of([helper.make_node("Identity", ["w"], ["y"])], {}, ["y"], {"w": normal(2, 2)})
    tensor = model.graph.initializer[0]
    for name, value in change.items():
        tensor.ClearField(name)
        getattr(tensor, name).extend(value) if isinstance(value, list) else setattr(tensor, name, value)
    assert attempt(tmp_path / "m.onnx", model.SerializeToString()) == code


def test_weights_are_views_of_the_file(tmp_path: Path) -> None:
    w = normal(64, 64)
    model = model_of([helper.make_node("Identity", ["w"], ["y"])], {}, ["y"], {"w": w})
    _, weights = import_onnx(save(model, tmp_path))
    value = weights["w"].value()
    np.testing.assert_array_equal(value, w)
    assert not value.flags.owndata
    assert not value.flags.writeable


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8", "uint16", "int32", "uint32", "uint64", "bool", "float64"])
@pytest.mark.parametrize("raw", [True, False])
def test_element_types(dtype: str, raw: bool, tmp_path: Path) -> None:
    import ml_dtypes

    kind = np.dtype(ml_dtypes.bfloat16) if dtype == "bfloat16" else np.dtype(dtype)
    value = np.arange(40).reshape(5, 8).astype(kind)
    tensor = numpy_helper.from_array(value, "w")
    if not raw:
        flat = value.ravel().tolist()
        tensor = helper.make_tensor("w", tensor.data_type, value.shape, flat)
    model = model_of([helper.make_node("Identity", ["w"], ["y"])], {}, ["y"])
    model.graph.initializer.append(tensor)
    _, weights = import_onnx(save(model, tmp_path))
    found = weights["w"].value()
    assert found.dtype == kind
    np.testing.assert_array_equal(found, value)


def test_names_that_are_not_text(tmp_path: Path) -> None:
    data = network().SerializeToString().replace(b"softmax", b"\xff\xfe\xffmax\x80")
    assert attempt(tmp_path / "m.onnx", data) == "E0201"
