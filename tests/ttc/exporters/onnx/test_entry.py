"""Exported ONNX models pass ONNX's checker, and give the numbers of the model in onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray

from tests.ops.cases import one_op_module
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.core.ir.to_plain import plain_block
from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.core.plain import interpret
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.nn.base import ops
from ttc.exporters.graph import ModelGraph, ProgramOutput
from ttc.exporters.onnx.entry import exported, onnx_model
from ttc.options import CompileOptions

NETWORKS = ("cnn", "mlp", "resnet50", "mobilenetv2", "unet", "bert", "vit", "gpt2")
WINDOW = {"strides": (2, 3), "pads": (1, 0, 1, 1), "dilations": (1, 1), "layout": "nhwc"}
OPS: dict[str, tuple[str, list[tuple[int, ...]], dict[str, Any]]] = {
    "mod": ("mod", [(3, 4), (4,)], {"fmod": False}),
    "silu": ("silu", [(3, 4)], {}),
    "gelu": ("gelu", [(3, 4)], {"approximate": "tanh"}),
    "clip": ("clip", [(3, 4)], {"max": 0.5}),
    "product": (
        "matmul",
        [(2, 3, 4), (5, 4), (5,)],
        {"transpose_a": False, "transpose_b": True, "activation": "elu", "activation_args": (0.5,)},
    ),
    "gemm": ("matmul", [(4, 3), (4, 5), (3, 5)], {"transpose_a": True, "transpose_b": False}),
    "convolution": ("conv2d", [(2, 7, 6, 4), (3, 2, 2, 6), (6,)], {**WINDOW, "groups": 2, "activation": "relu"}),
    "transposed": (
        "conv_transpose2d",
        [(1, 5, 4, 4), (3, 2, 3, 4)],
        {**WINDOW, "groups": 1, "output_padding": (1, 0)},
    ),
    "largest": ("max_pool2d", [(1, 8, 9, 3)], {**WINDOW, "kernel": (3, 2), "pads": (0, 0, 0, 0), "ceil_mode": True}),
    "means": ("avg_pool2d", [(1, 8, 9, 3)], {**WINDOW, "kernel": (3, 2), "ceil_mode": True, "count_include_pad": False}),
    "layer_norm": ("layer_norm", [(2, 3, 4), (4,), (4,)], {"axis": -1, "eps": 1e-5}),
    "rms_norm": ("rms_norm", [(2, 3, 4), (4,)], {"axis": 2, "eps": 1e-5}),
    "batch_norm": ("batch_norm", [(2, 3, 4), (4,), (4,), (4,), (4,)], {"axis": 2, "eps": 0.5}),
    "attention": ("attention", [(2, 3, 5, 8), (2, 1, 7, 8), (2, 1, 7, 6), (5, 7)], {"scale": 0.3, "zero_masked": True}),
    "halves": ("rotary_embedding", [(2, 3, 8), (3, 8), (3, 8)], {"interleaved": False}),
    "pairs": ("rotary_embedding", [(2, 3, 8), (3, 8), (3, 8)], {"interleaved": True}),
    "backward": ("slice", [(6, 5)], {"starts": (5, 0), "sizes": (3, 2), "steps": (-2, 3)}),
    "whole backward": ("slice", [(6,)], {"starts": (5,), "sizes": (6,), "steps": (-1,)}),
    "reflected": ("pad", [(4, 5)], {"before": (1, 2), "after": (0, 1), "value": 0.0, "mode": "reflect"}),
    "cumsum": ("cumsum", [(3, 4)], {"axis": 1, "exclusive": True, "reverse": True}),
    "topk": ("topk", [(3, 6)], {"k": 2, "axis": 1, "largest": False}),
    "no axes": ("reduce_sum", [(3, 4)], {"axes": (), "keepdims": True}),
    "prod": ("reduce_prod", [(3, 4)], {"axes": (0, 1), "keepdims": False}),
}


def graph_of_op(name: str, arrays: Sequence[NDArray], attrs: dict[str, Any]) -> ModelGraph:
    """A program of one op."""
    module = one_op_module(ops()[name], [Spec(array.shape, array.dtype) for array in arrays], attrs)
    (function,) = entry_functions(module)
    plain = plain_block(function.body.block)
    outputs = tuple(ProgramOutput(f"y{index}", None) for index in range(len(plain.outputs)))
    return ModelGraph("one", tuple(f"x{i}" for i in range(len(arrays))), outputs, plain, WeightStore(), load_target("n150"))


@pytest.mark.parametrize("case", OPS)
def test_single_ops(rng: np.random.Generator, case: str) -> None:
    name, shapes, attrs = OPS[case]
    arrays = [rng.uniform(0.1, 1.5, shape).astype(np.float32) for shape in shapes]
    graph = graph_of_op(name, arrays, attrs)
    session = onnxruntime.InferenceSession(onnx_model(graph).SerializeToString())
    found = session.run(None, dict(zip(graph.inputs, arrays, strict=True)))
    for value, wanted in zip(found, interpret.run(graph.function, arrays), strict=True):
        np.testing.assert_allclose(np.asarray(value), wanted, rtol=1e-5, atol=1e-5)


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
    data = exported(path, CompileOptions(), None)[""]
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
    assert exported(path, CompileOptions(), None) == exported(path, CompileOptions(), None)
    model = onnx.load_from_string(exported(path, CompileOptions(), None)[""])
    assert [(node.op_type, list(node.output), node.doc_string) for node in model.graph.node] == [
        ("Relu", ["y"], "rectified"),
        ("Identity", ["again"], ""),
    ]
