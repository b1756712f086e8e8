"""Exported ONNX models pass ONNX's checker, and give the numbers of the model in onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from tests.ttc.exporters.one_op import CASES, MASKED, WINDOW, OpCase, graph_of_op, inputs_of, reference
from ttc.dialects.core.errors import Error
from ttc.exporters.onnx import entry
from ttc.exporters.onnx.entry import exported, onnx_model
from ttc.exporters.request import ExportRequest
from ttc.options import CompileOptions

NETWORKS = ("cnn", "mlp", "resnet50", "mobilenetv2", "unet", "bert", "vit", "gpt2")
ONLY_HERE = {
    "pairs": OpCase("rotary_embedding", [(2, 3, 8), (3, 8), (3, 8)], {"interleaved": True}),
    "attention of narrow values": OpCase(
        "attention", [(2, 3, 5, 8), (2, 1, 7, 8), (2, 1, 7, 6), (5, 7)], {"scale": 0.3, "zero_masked": True}
    ),
    "attention of a query that is no number": OpCase(
        "attention", [np.full((2, 3, 8), np.nan, np.float32), (2, 3, 8), (2, 3, 8), MASKED], {"scale": 0.3, "zero_masked": True}
    ),
    "transposed with margins of two sizes": OpCase(
        "conv_transpose2d", [(1, 5, 4, 4), (3, 2, 3, 4)], {**WINDOW, "groups": 1, "output_padding": (1, 0)}
    ),
    "means of last windows": OpCase(
        "avg_pool2d", [(1, 8, 9, 3)], {**WINDOW, "kernel": (3, 2), "ceil_mode": True, "count_include_pad": False}
    ),
    "cumsum": OpCase("cumsum", [(3, 4)], {"axis": 1, "exclusive": True, "reverse": True}),
    "prod": OpCase("reduce_prod", [(3, 4)], {"axes": (0, 1), "keepdims": False}),
}


@pytest.mark.parametrize("case", [*CASES, *ONLY_HERE])
def test_single_ops(rng: np.random.Generator, case: str) -> None:
    chosen = (CASES | ONLY_HERE)[case]
    arrays = chosen.arrays(rng)
    graph = graph_of_op(chosen.op, arrays, chosen.attrs, chosen.constants)
    inputs = inputs_of(graph, arrays)
    session = onnxruntime.InferenceSession(onnx_model(graph).SerializeToString())
    for value, wanted in zip(session.run(None, inputs), reference(graph, inputs), strict=True):
        np.testing.assert_allclose(np.asarray(value), wanted, rtol=1e-5, atol=1e-5, strict=True)


def test_what_the_checker_refuses_is_no_bug_of_ours(rng: np.random.Generator) -> None:
    arrays = [rng.integers(0, 9, shape).astype(np.int32) for shape in ((1, 4, 6, 5), (6, 4, 3, 2))]
    attrs = {**WINDOW, "layout": "nchw", "groups": 1}
    with pytest.raises(Error, match="ONNX's checker refuses the model") as caught:
        onnx_model(graph_of_op("conv2d", arrays, attrs))
    assert caught.value.code == "E0503"


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_agree_with_pytorch(tmp_path: Path, name: str) -> None:
    torch: Any = pytest.importorskip("torch", reason="networks are made by PyTorch, which has no CPU build for this Python")
    from tests.ttc.exporters import networks

    path = networks.saved(name, tmp_path)
    model, inputs = networks.network(name)
    data = exported(path, ExportRequest(CompileOptions()))[""]
    session = onnxruntime.InferenceSession(data)
    (found,) = session.run(None, {port.name: value.numpy() for port, value in zip(session.get_inputs(), inputs, strict=True)})
    with torch.no_grad():
        wanted = model(*inputs).numpy()
    assert np.max(np.abs(np.asarray(found) - wanted)) <= 1e-5 * max(1.0, np.max(np.abs(wanted)))


def test_names_and_sources(tmp_path: Path) -> None:
    text = """builtin.module attributes {ttc.stage = "import"} {
  func.func @forward(%0: tensor<2x3xf32> {ttc.name = "x"}) -> (tensor<2x3xf32> {ttc.name = "y"}, tensor<2x3xf32> {ttc.name = "again"}) {
    %1 = nn.relu(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32> loc("rectified")
    func.return %1, %1 : tensor<2x3xf32>, tensor<2x3xf32>
  }
}
"""
    path = tmp_path / "model.mlir"
    path.write_text(text)
    assert exported(path, ExportRequest(CompileOptions())) == exported(path, ExportRequest(CompileOptions()))
    model = onnx.load_from_string(exported(path, ExportRequest(CompileOptions()))[""])
    assert [(node.op_type, list(node.output), node.doc_string) for node in model.graph.node] == [
        ("Relu", ["y"], "rectified"),
        ("Identity", ["again"], ""),
    ]


def test_weights_beyond_what_protobuf_holds_are_refused(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = [rng.random(shape, np.float32) for shape in ((4, 3), (3, 5))]
    attrs = {"transpose_a": False, "transpose_b": False}
    monkeypatch.setattr(entry, "MAX_BYTES", arrays[1].nbytes)
    onnx_model(graph_of_op("matmul", arrays, attrs, [1]))
    monkeypatch.setattr(entry, "MAX_BYTES", arrays[1].nbytes - 1)
    with pytest.raises(Error, match="more than 2 GB do not fit into one ONNX file") as caught:
        onnx_model(graph_of_op("matmul", arrays, attrs, [1]))
    assert caught.value.code == "E0503"


def test_a_dtype_that_onnx_lacks_is_refused(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Older releases of ONNX lack the narrowest ones."""

    def unknown(dtype: np.dtype) -> int:
        raise ValueError(dtype)

    monkeypatch.setattr(onnx.helper, "np_dtype_to_tensor_dtype", unknown)
    array = rng.random((2, 3), np.float32)
    for constants, message in (((), "y0: ONNX has no dtype float32"), ((0,), "ttc.constant: ONNX has no dtype float32")):
        with pytest.raises(Error, match=message) as caught:
            onnx_model(graph_of_op("relu", [array], {}, constants))
        assert caught.value.code == "E0503"


def test_a_model_of_tflite(tmp_path: Path, rng: np.random.Generator) -> None:
    pytest.importorskip("tensorflow", reason="its interpreter says what a TFLite model gives")
    from tests.ttc.importers.tflite.cases import interpreted
    from tests.ttc.importers.tflite.samples import real_network

    data = real_network()
    (tmp_path / "model.tflite").write_bytes(data)
    x = rng.standard_normal((2, 8, 6, 3), np.float32)
    session = onnxruntime.InferenceSession(exported(tmp_path / "model.tflite", ExportRequest(CompileOptions(batch=2)))[""])
    (found,), (wanted,) = session.run(None, {"image": x}), interpreted(data, {"x": x})
    assert np.max(np.abs(np.asarray(found) - wanted)) <= 1e-5
