"""Whole models: names, open dimensions, refusals, and networks converted by TensorFlow, compiled and run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ttc
from tests.ttc.importers.tflite.cases import imported, interpreted, normal
from tests.ttc.importers.tflite.samples import all_samples, quantized_network, real_network
from tests.ttc.importers.tflite.writer import Graph, Op, Signature, Tensor, model
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import entry_functions, ports
from ttc.dialects.core.ir.locations import source_names
from ttc.importers.base import import_model

X, Y = Tensor("x", (2, 3)), Tensor("y", (2, 3))


def saved(data: bytes, folder: Path) -> Path:
    path = folder / "model.tflite"
    path.write_bytes(data)
    return path


def test_names_and_sizes_of_inputs(tmp_path: Path) -> None:
    path = saved(real_network(), tmp_path)
    with pytest.raises(Error, match="image") as caught:
        import_model(path)
    assert caught.value.code == "E0205"
    for given in ({"batch": 3}, {"shapes": {"image": (3, 8, 6, 3)}}):
        (function,) = entry_functions(import_model(path, **given)[0])
        arguments, results = ports(function)
        assert ([p.name for p in arguments], [p.name for p in results]) == (["image"], ["probabilities"])
        assert str(function.function_type).startswith("(tensor<3x8x6x3xf32>) -> tensor<3x5xf32>")


def test_names_of_tensors_where_there_is_no_signature(tmp_path: Path) -> None:
    (function,) = entry_functions(import_model(saved(quantized_network(), tmp_path))[0])
    assert [p.name for p in ports(function)[1]] == ["y", "place"]


def test_locations_are_names_of_results(tmp_path: Path) -> None:
    module, _ = import_model(saved(real_network(), tmp_path), batch=1)
    conv = next(op for op in module.walk() if op.name == "nn.conv2d")
    assert source_names(conv.location) == ("conv",)  # pyright: ignore[reportAttributeAccessIssue]


def test_one_output_twice(tmp_path: Path) -> None:
    graph = Graph([X, Y], ["x"], ["y", "y"], [Op("EXP", ["x"], ["y"])])
    with pytest.raises(Error, match="one name") as caught:
        import_model(saved(model(graph), tmp_path))
    assert caught.value.code == "E0203"
    named = model(graph, signatures=[Signature({"x": "a"}, {"y": ["p", "q"]})])
    (function,) = entry_functions(import_model(saved(named, tmp_path))[0])
    assert [p.name for p in ports(function)[1]] == ["p", "q"]
    swapped = model(Graph([X, Y], ["x"], ["x", "y"], [Op("EXP", ["x"], ["y"])]), signatures=[Signature({"x": "a"}, {"x": "p", "y": "p"})])
    (function,) = entry_functions(import_model(saved(swapped, tmp_path))[0])
    assert [p.name for p in ports(function)[1]] == ["x", "y"]


def test_what_is_not_supported_is_one_table(tmp_path: Path) -> None:
    tensors = [X, Tensor("s", (1,), "STRING"), *(Tensor(f"t{i}", (2, 3)) for i in range(4)), Y]
    ops = [
        Op("CUSTOM", ["x"], ["t0"], custom="MyOp"),
        Op("EXP", ["t0"], ["t1"]),
        Op("LSH_PROJECTION", ["x"], ["t2"]),
        Op("CUSTOM", ["t1"], ["t3"], custom="MyOp"),
        Op("ADD", ["t2", "t3"], ["y"], {"fused_activation_function": "NONE"}),
    ]
    with pytest.raises(Error) as caught:
        import_model(saved(model(Graph(tensors, ["x"], ["y"], ops)), tmp_path))
    assert caught.value.code == "E0202"
    table = str(caught.value.excerpt)
    assert "CUSTOM:MyOp" in table
    assert "LSH_PROJECTION" in table
    assert "EXP" not in table


def test_strings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Error, match="tensors of string") as caught:
        import_model(saved(model(Graph([Tensor("x", (2,), "STRING"), Y], ["x"], ["x"], [])), tmp_path))
    assert caught.value.code == "E0202"


@pytest.mark.parametrize("sample", range(3))
def test_samples_agree_with_the_interpreter(sample: int, tmp_path: Path) -> None:
    data = all_samples()[sample]
    rng = np.random.default_rng(sample)
    feeds: dict[str, NDArray] = [
        {"x": normal(1, 8, 6, 3)},
        {"x": rng.integers(-128, 128, (1, 6, 6, 4)).astype(np.int8)},
        {"x": normal(1, 4)},
    ][sample]
    wanted = interpreted(data, feeds, delegates=sample == 1)
    names = {"x": "image"} if sample == 0 else {}
    found = imported(data, {names.get(k, k): v for k, v in feeds.items()}, tmp_path, batch=1)
    for y, z in zip(found, wanted, strict=False):
        np.testing.assert_allclose(y, z, rtol=1e-4, atol=0.2001 if sample == 1 else 1e-5)


def test_no_framework_is_loaded(tmp_path: Path) -> None:
    """Neither TensorFlow nor its flatbuffers, nor onnx."""
    code = (
        "import sys, ttc; from pathlib import Path; "
        f"ttc.compile(Path({str(saved(quantized_network(), tmp_path))!r}), target='host'); "
        "print([m for m in ('tensorflow', 'flatbuffers', 'onnx', 'torch', 'google') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("target", ["host", "n150"])
def test_integers_stay_integers(target: str, tmp_path: Path) -> None:
    """Convolutions compute on integers, without a host segment; the result is within two steps."""
    path = saved(quantized_network(), tmp_path)
    x = np.random.default_rng(0).integers(-128, 128, (1, 6, 6, 4)).astype(np.int8)
    ttc.compile(path, target=target).save(tmp_path / "model.tti")
    with ttc.load(tmp_path / "model.tti") as executor:
        works = [w for graph in executor.netlist.graphs.values() for op in graph.ops for w in op.work.works]
        found = executor.run({"x": x})
    if target == "host":
        convolutions = [w for w in works if w.op.endswith("conv2d")]
        assert len(convolutions) == 2
        assert all("int" in str(w.results[0]).lower() for w in convolutions)
    assert np.abs(found["y"] - interpreted(path.read_bytes(), {"x": x}, delegates=True)[0]).max() <= 0.2001


# ---- converted by TensorFlow -----------------------------------------------------------------------------------------------------


def residual_network() -> Any:
    keras = pytest.importorskip("keras", reason="networks are written in Keras")
    layers = keras.layers
    keras.utils.set_random_seed(1)
    x = given = keras.Input((12, 12, 3), name="image")
    x = layers.ReLU(6.0)(layers.BatchNormalization()(layers.Conv2D(8, 3, padding="same", strides=2)(x)))
    y = layers.Conv2D(8, 1)(layers.Activation("hard_swish")(layers.DepthwiseConv2D(3, padding="same")(x)))
    x = layers.MaxPooling2D(2)(layers.Add()([x, y]))
    x = layers.GlobalAveragePooling2D()(layers.Conv2DTranspose(4, 3, strides=2, padding="same")(x))
    return keras.Model(given, layers.Dense(5, name="logits")(x))


def converted(network: Any, mode: str) -> bytes:
    tf = pytest.importorskip("tensorflow", reason="TensorFlow converts the networks")
    converter = tf.lite.TFLiteConverter.from_keras_model(network)
    if mode != "real":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if mode == "halves":
        converter.target_spec.supported_types = [tf.float16]
    if mode == "integers":
        converter.representative_dataset = lambda: ([normal(1, 12, 12, 3)] for _ in range(8))
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = tf.int8
    return converter.convert()


def run(data: bytes, x: NDArray, folder: Path) -> tuple[NDArray, NDArray]:
    """What the compiled program gives, and TensorFlow's interpreter."""
    tf = pytest.importorskip("tensorflow")
    interpreter = tf.lite.Interpreter(model_content=data)
    (given,), (result,) = interpreter.get_input_details(), interpreter.get_output_details()
    interpreter.resize_tensor_input(given["index"], x.shape)
    interpreter.allocate_tensors()
    if given["dtype"] == np.int8:
        scale, zero = given["quantization"]
        x = np.clip(np.rint(x / scale) + zero, -128, 127).astype(np.int8)
    interpreter.set_tensor(given["index"], x)
    interpreter.invoke()
    batch = len(x) if -1 in given["shape_signature"] else None
    ttc.compile(saved(data, folder), target="host", batch=batch).save(folder / "model.tti")
    (name,) = interpreter.get_signature_list()["serving_default"]["inputs"]
    with ttc.load(folder / "model.tti") as executor:
        (found,) = executor.run({name: x}).values()
    return found, interpreter.get_tensor(result["index"])


@pytest.mark.parametrize("mode", ["real", "ranges", "halves", "integers"])
def test_a_residual_network(mode: str, tmp_path: Path) -> None:
    found, wanted = run(converted(residual_network(), mode), normal(2, 12, 12, 3), tmp_path)
    assert found.dtype == wanted.dtype
    if mode == "integers":
        assert np.abs(found.astype(int) - wanted.astype(int)).max() <= 2
        assert len(np.unique(wanted)) > 5
    else:
        np.testing.assert_allclose(found, wanted, atol=1e-4 if mode != "ranges" else 0.05)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_a_recurrent_network(kind: str, tmp_path: Path) -> None:
    keras = pytest.importorskip("keras", reason="networks are written in Keras")
    keras.utils.set_random_seed(2)
    given = keras.Input(batch_shape=(1, 5, 4), name="tokens")
    x = keras.layers.LayerNormalization()(getattr(keras.layers, kind)(6, return_sequences=True)(given))
    found, wanted = run(converted(keras.Model(given, keras.layers.Dense(3)(x)), "real"), normal(1, 5, 4), tmp_path)
    np.testing.assert_allclose(found, wanted, atol=1e-4)


def test_attention(tmp_path: Path) -> None:
    keras = pytest.importorskip("keras", reason="networks are written in Keras")
    keras.utils.set_random_seed(3)
    given = keras.Input((6, 16), name="tokens")
    x = keras.layers.LayerNormalization()(given + keras.layers.MultiHeadAttention(2, 8)(given, given))
    network = keras.Model(given, keras.layers.Dense(16, activation="gelu")(x))
    found, wanted = run(converted(network, "real"), normal(2, 6, 16), tmp_path)
    np.testing.assert_allclose(found, wanted, atol=1e-4)
