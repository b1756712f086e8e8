"""Small valid files of every format that ttc reads, for `tools/fuzz.py` to damage."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import checkout  # noqa: F401 - finds ttc where it is not installed
from fuzz_formats import (
    Files,
    Format,
    compile_to_nn,
    open_program,
    read_buda,
    read_options,
    read_target,
    resume,
    sealed,
    sum_up,
    unzipped,
    zipped,
)
from fuzz_frameworks import compile_pt2, read_keras, trace_keras

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))  # tests have writers of TFLite models and SavedModels

_CONV = """<ir_version: 8, opset_import: ["" : 17]>
conv (float[1,3,8,8] x) => (float[1,5] y)
<float[4,3,3,3] w, float[4] b = {1, 2, 1, 0.5}, int64[2] flat = {1, -1}, float[4] up = {1, 1, 2, 2}, float[5,16] v> {
  c = Conv <pads = [1, 1, 1, 1], strides = [2, 2], dilations = [1, 1], group = 1> (x, w, b)
  n = BatchNormalization <epsilon = 0.001> (c, b, b, b, b)
  r = Relu (n)
  p = MaxPool <kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1> (r)
  g = AveragePool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], count_include_pad = 1> (r)
  s = Add (p, g)
  k, l = Split <axis = 1> (s)
  j = Concat <axis = 1> (l, k)
  q = Resize <mode = "nearest"> (j, , up)
  a = GlobalAveragePool (q)
  m = Mul (j, a)
  f = Reshape (m, flat)
  h = Gemm <transB = 1, alpha = 0.5> (f, v)
  y = Softmax <axis = -1> (h)
}"""
_LOOP = """<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
loop (float[2,3] x, bool c) => (float[2,3] y, float[3,2,3] s) <int64 n = {3}, bool yes = {1}> {
  a = If (c) <
    then_branch = t () => (float[2,3] p) { p = Exp (x) },
    else_branch = e () => (float[2,3] q) { q = own.twice <factor = 2.0> (x) }
  >
  y, s = Loop (n, yes, a) <
    body = b (int64 i, bool go, float[2,3] v) => (bool more, float[2,3] w, float[2,3] z) {
      more = Identity (go)
      w = Add (v, x)
      z = Mul (v, v)
    }
  >
}
<domain: "own", opset_import: ["" : 17]>
twice <factor> (x) => (y) {
  f = Constant <value_float : float = @factor> ()
  y = Mul (x, f)
}"""
_SHAPES = """<ir_version: 8, opset_import: ["" : 17]>
shapes (float[2,3,4] x, int64[2] at) => (float[2,2,4] y, int64[2,3,1] top, uint8[2,3,4] z, float[2,3,4] back)
<int64[1] first = {0}, int64[1] last = {2}, int64[1] one = {1}, float scale = {0.05}, uint8 zero = {3}, float[1,8,4] w, float[1,8,2] r> {
  d = Shape (x)
  b = Gather <axis = 0> (d, one)
  s = Slice (x, first, last, one)
  g = Gather <axis = 1> (x, at)
  t = Transpose <perm = [0, 2, 1]> (x)
  e = Einsum <equation = "bij,bjk->bik"> (x, t)
  u = ReduceMean <axes = [1, 2], keepdims = 1> (e)
  o = Cast <to = 1> (b)
  h = Mul (g, o)
  k = Greater (g, h)
  i = Where (k, h, g)
  l, m = LSTM <hidden_size = 2> (x, w, r)
  n = LayerNormalization <axis = -1> (i, scale)
  y = Sub (n, u)
  v, top = TopK <axis = 2> (x, one)
  z = QuantizeLinear (x, scale, zero)
  back = DequantizeLinear (z, scale, zero)
}"""
_IR = """builtin.module attributes {ttc.model = "m", ttc.stage = "import", ttc.seed = 0} {
  func.func @forward(%0: tensor<2x4xf32> {ttc.name = "x"}) -> (tensor<2x3xf32> {ttc.name = "y"}) {
    %1 = ttc.param() {sym = "k", value = #ttc.weight<"k", tensor<4x3xf32>>} : () -> tensor<4x3xf32>
    %3 = nn.matmul(%0, %1, _) {transpose_a = false, transpose_b = false} : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    %5 = nn.relu(%3) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    func.return %5 : tensor<2x3xf32>
  }
}
"""
_OPTIONS = """[compile]
target = "n150"
format = "Float16_b"
shape = "x=1x3x8x8,y=2x4"
batch = 2
effort = 1
harvested_rows = "2"
chips = 1

[run]
threads = 2
exact = true
engine = "reference"

[[precision]]
name = "conv*"
op = "matmul"
weights = "Bfp8_b"
fidelity = "LoFi"

[[placement]]
name = "conv*"
epoch_break = true

[[placement]]
queue = "x"
location = "host"
"""


def onnx_seeds(_: Path) -> list[Files]:
    """Return convolutions and what goes with them; branches, loops and a function; shapes, indices, a recurrent layer and quantized
    values.
    """
    import numpy as np
    import onnx
    from onnx import numpy_helper, parser

    found: list[Files] = []
    rng = np.random.default_rng(0)
    for text in (_CONV, _LOOP, _SHAPES):
        model = parser.parse_model(text)
        for info in model.graph.value_info:
            dims = [dim.dim_value for dim in info.type.tensor_type.shape.dim]
            model.graph.initializer.append(numpy_helper.from_array(rng.standard_normal(dims).astype(np.float32), info.name))
        del model.graph.value_info[:]
        onnx.checker.check_model(model)
        found.append({"m.onnx": model.SerializeToString(deterministic=True)})
    return found


def pt2_seeds(_: Path) -> list[Files]:
    """Return members of archives of torch.export: a convolutional network, and one with a state, tied weights and views."""
    import torch

    class Tied(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
            self.second.weight = self.first.weight
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x: Any) -> dict[str, Any]:
            self.calls += 1
            y = self.second(torch.relu(self.first(x)))
            return {"y": y.view(x.shape[0], 2, -1) * torch.tensor([1.0, 3.0]) + self.calls, "z": y[:, 1:].cumsum(1)}

    torch.manual_seed(0)
    layers = torch.nn.Conv2d(3, 4, 3, stride=2, padding=1), torch.nn.BatchNorm2d(4), torch.nn.MaxPool2d(2), torch.nn.Flatten()
    network = torch.nn.Sequential(*layers, torch.nn.Linear(16, 3), torch.nn.Softmax(-1)).eval()
    found: list[Files] = []
    for module, shape in ((network, (1, 3, 8, 8)), (Tied(), (3, 4))):
        out = io.BytesIO()
        torch.export.save(torch.export.export(module, (torch.ones(shape),)), out)
        found.append(unzipped(out.getvalue()))
    return found


def tf_seeds(folder: Path) -> list[Files]:
    """Return SavedModels: a product with a variable behind two functions, and convolutions with shapes that are computed."""
    import numpy as np

    from tests.ttc.importers.tf.files import function, node, save, save_variables, tensor
    from tests.ttc.importers.tf.test_saved_model import PRODUCT, VARIABLE

    kinds = {"a": "float32", "v": "resource"}
    inner = function("inner", kinds, {"out": "y:product:0"}, [node("r", "ReadVariableOp", "v"), node("y", "MatMul", "a", "r")])
    outer = function("outer", kinds, {"out": "c:0"}, [node("c", "PartitionedCall", "a", "v", f="@inner")])
    weights = {"w/.ATTRIBUTES/VARIABLE_VALUE": np.arange(12, dtype=np.float32).reshape(4, 3)}
    constants = {"k": np.ones((3, 3, 2, 4), np.float32), "b": np.ones(4, np.float32), "axes": np.array([1, 2], np.int32)}
    layers = [
        *(node(name, "Const", value=tensor(value)) for name, value in constants.items()),
        node("conv", "Conv2D", "x", "k", strides=[1, 2, 2, 1], padding="SAME", data_format="NHWC", dilations=[1, 1, 1, 1]),
        node("sum", "BiasAdd", "conv", "b"),
        node("relu", "Relu", "sum"),
        node("pool", "MaxPool", "relu", ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID"),
        node("shape", "Shape", "pool"),
        node("again", "Reshape", "pool", "shape"),
        node("mean", "Mean", "again", "axes", keep_dims=False),
        node("y", "Softmax", "mean"),
    ]
    save(folder / "a", [*VARIABLE, node("call", "StatefulPartitionedCall", "x", "w", f="@outer")], "call:0", [inner, outer])
    save(folder / "b", [*VARIABLE, *PRODUCT], "y:0")
    save(folder / "c", layers, "y:0", sizes=(1, 8, 8, 2))
    for name in "ab":
        save_variables(folder / name, weights)
    return [{str(p.relative_to(folder / name)): p.read_bytes() for p in sorted((folder / name).rglob("*.*"))} for name in "abc"]


def keras_seeds(_: Path) -> list[Files]:
    """Return members of Keras files: a chain of layers, and a model inside of one."""
    import h5py
    import numpy as np

    def layer(kind: str, module: str = "keras.layers", **config: Any) -> dict[str, Any]:
        return {"module": module, "class_name": kind, "config": config, "registered_name": None}

    start = layer("InputLayer", batch_shape=[2, 4], dtype="float32", name="x")
    dense = layer("Dense", name="dense", units=3, activation="relu", kernel_initializer=layer("Zeros", "keras.initializers"))
    inside = layer("Sequential", "keras", name="inside", layers=[start, dense])
    metadata = b'{"keras_version": "3.15.0"}'
    found: list[Files] = []
    outside = layer("Sequential", "keras", name="outside", layers=[start, inside])
    for model, place in ((layer("Sequential", "keras", name="s", layers=[start, dense]), ""), (outside, "layers/sequential/")):
        out = io.BytesIO()
        with h5py.File(out, "w") as file:
            file[f"{place}layers/dense/vars/0"] = np.ones((4, 3), np.float32)
            file.create_dataset(f"{place}layers/dense/vars/1", data=np.ones(3, np.float32), compression="gzip" if place else None)
        found.append({"config.json": json.dumps(model).encode(), "metadata.json": metadata, "model.weights.h5": out.getvalue()})
    return found


def tflite_seeds(_: Path) -> list[Files]:
    from tests.ttc.importers.tflite.samples import all_samples

    return [{"m.tflite": bytes(data)} for data in all_samples()]


def _saved(folder: Path, target: str) -> Files:
    """Members of the archive of the IR's program, but for the seal."""
    import ttc

    (folder / "m.mlir").write_text(_IR)
    ttc.compile(folder / "m.mlir", target=target).save(folder / f"{target}.tti")
    return unzipped((folder / f"{target}.tti").read_bytes())


def tti_seeds(folder: Path) -> list[Files]:
    return [_saved(folder, target) for target in ("host", "n150")]


def ir_seeds(folder: Path) -> list[Files]:
    """Return IR at the ends of four stages."""
    from ttc.compiler.driver import compile_path
    from ttc.options import CompileOptions, resolve

    path = folder / "m.mlir"
    path.write_text(_IR)
    stages = [("nn", "host"), ("tile", "n150"), ("netlist", "n150"), ("netlist", "host")]
    texts = [compile_path(path, resolve(CompileOptions, {"to": stage, "target": target})).text() for stage, target in stages]
    return [{"m.mlir": text.encode()} for text in (_IR, *texts)]


def _texts(folder: Path, suffix: str) -> list[Files]:
    return [{f"m{suffix}": path.read_bytes()} for path in sorted(folder.glob(f"*{suffix}"))]


def buda_seeds(_: Path) -> list[Files]:
    return _texts(ROOT / "tests" / "data" / "netlists" / "small", ".yaml")


def target_seeds(_: Path) -> list[Files]:
    """Return descriptors of chips, and fields over those of an architecture."""
    own = b"name: mine\narch: wormhole_b0\ngrid: [4, 4]\nl1_bytes: 1499136\ndram_channels: 6\n"
    described = _texts(ROOT / "tests" / "data" / "device_descriptors", ".yaml")
    return [*(files for files in described if b"chips_with_mmio" not in files["m.yaml"]), {"m.yaml": own}]


def options_seeds(_: Path) -> list[Files]:
    return [{"ttc.toml": _OPTIONS.encode()}]


def trace_seeds(_: Path) -> list[Files]:
    """Return a trace of ours, and one in the words of PyTorch's profiler."""
    from ttc.profiler import profile, region

    with profile() as profiler, region("step"):
        pass
    event = {"ph": "X", "cat": "job", "name": "matmul", "pid": 7, "tid": "main", "ts": 12.5, "dur": 3, "args": {"flops": 64, "bytes": 96}}
    flow = {"ph": "s", "id": 1, "name": "ac2g", "pid": 7, "tid": 1, "ts": 12.5}
    theirs = {"traceEvents": [event, flow], "baseTimeNanoseconds": 1000, "distributedInfo": {"rank": 1}}
    return [{"m.json": json.dumps(trace).encode()} for trace in (profiler.trace(), theirs, [event])]


FORMATS = {
    found.name: found
    for found in (
        Format("onnx", "m.onnx", onnx_seeds, compile_to_nn),
        Format("saved_model", "", tf_seeds, compile_to_nn),
        Format("keras", "m.keras", keras_seeds, read_keras, zipped, ("tensorflow", "keras", "h5py")),
        Format("tflite", "m.tflite", tflite_seeds, compile_to_nn),
        Format("tti", "m.tti", tti_seeds, open_program, sealed),
        Format("ir", "m.mlir", ir_seeds, resume),
        Format("buda", "m.yaml", buda_seeds, read_buda),
        Format("target", "m.yaml", target_seeds, read_target),
        Format("options", "ttc.toml", options_seeds, read_options),
        Format("trace", "m.json", trace_seeds, sum_up),
        Format("keras_tf", "m.keras", keras_seeds, trace_keras, zipped, ("tensorflow", "keras", "h5py"), slow=True),
        Format("pt2", "m.pt2", pt2_seeds, compile_pt2, zipped, ("torch",)),
    )
}
"""The formats that are damaged, by name."""
