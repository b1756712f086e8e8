"""Small files that ask for a lot: each ends in success or one error, within seconds and 2 GB."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).parent.parent
TARGETS = ("host", "n150")
Outcome = tuple[int, float, int, str]
Node = onnx.NodeProto
node: Callable[..., Node] = helper.make_node


def outcomes(commands: Sequence[Sequence[str]]) -> list[Outcome]:
    """What became of each command of ttc, in a process of its own with limits."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.limited"],
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    return [tuple(found) for found in json.loads(run.stdout)]


def model(*nodes: Node, x: Sequence[int] = (1,), y: int = TensorProto.FLOAT, **constants: Any) -> onnx.ModelProto:
    """A model from x to y.  constants: integers stay int64, everything else becomes float32."""
    arrays = {name: np.asarray(value) for name, value in constants.items()}
    values = [numpy_helper.from_array(a if a.dtype.kind in "iO" else a.astype(np.float32), name) for name, a in arrays.items()]
    inputs, outputs = [helper.make_tensor_value_info("x", 1, list(x))], [helper.make_tensor_value_info("y", y, None)]
    graph = helper.make_graph(list(nodes), "g", inputs, outputs, values)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def summed(*nodes: Node, **constants: Any) -> onnx.ModelProto:
    """A model that adds the sum of `a`, which the nodes make, to its input."""
    return model(*nodes, node("ReduceSum", ["a"], ["sum"], keepdims=0), node("Add", ["x", "sum"], ["y"]), **constants)


def filled(name: str = "a", shape: str = "s") -> Node:
    """A constant of the shape that another constant names."""
    return node("ConstantOfShape", [shape], [name], value=numpy_helper.from_array(np.array([0.5], np.float32)))


def doubled(times: int) -> onnx.ModelProto:
    """A concat of a tensor with itself, again and again."""
    names = [f"t{i}" for i in range(times)] + ["a"]
    return summed(
        node("Identity", ["v"], ["t0"]), *(node("Concat", [p, p], [q], axis=0) for p, q in zip(names, names[1:], strict=False)), v=[1.0]
    )


def powers(elements: int) -> onnx.ModelProto:
    """Powers of a large constant, one of the other."""
    names = [f"t{i}" for i in range(8)] + ["a"]
    return summed(filled("t0"), *(node("Pow", [p, p], [q]) for p, q in zip(names, names[1:], strict=False)), s=[elements])


MODELS: dict[str, Callable[[], onnx.ModelProto]] = {
    "fill": lambda: summed(filled(), s=[1 << 40]),
    "fill of rank 8": lambda: summed(filled(), s=[32] * 8),
    "expand": lambda: summed(node("Expand", ["v", "s"], ["a"]), v=[1.0], s=[1 << 20, 1 << 16]),
    "tile": lambda: summed(node("Tile", ["v", "s"], ["a"]), v=[1.0], s=[1 << 36]),
    "range": lambda: summed(node("Range", ["o", "n", "d"], ["a"]), o=np.float32(0), n=np.float32(1e12), d=np.float32(1)),
    "pad": lambda: summed(node("Pad", ["v", "s"], ["a"]), v=[1.0], s=[1 << 36, 0]),
    "resize": lambda: summed(node("Resize", ["v", "", "", "s"], ["a"]), v=[[[1.0]]], s=[1, 1, 1 << 34]),
    "one hot": lambda: summed(node("OneHot", ["i", "d", "v"], ["a"]), i=[1], d=1 << 28, v=[0.0, 1.0]),
    "eye": lambda: summed(filled("e"), node("EyeLike", ["e"], ["a"]), s=[1 << 16, 1 << 16]),
    "powers": lambda: powers(1 << 28),
    "doubled concat": lambda: doubled(39),
    "doubled concat that fits": lambda: doubled(22),
    "sum of outer": lambda: summed(
        filled("f"), node("Reshape", ["f", "p"], ["u"]), node("Reshape", ["f", "q"], ["w"]), node("Add", ["u", "w"], ["a"]),
        s=[1 << 18], p=[1, -1], q=[-1, 1],
    ),
    "matmul": lambda: summed(filled("f"), node("MatMul", ["f", "f"], ["a"]), s=[1 << 14, 1 << 14]),
    "inner product": lambda: summed(filled("f"), filled("h", "t"), node("MatMul", ["f", "h"], ["a"]), s=[1, 1 << 34], t=[1 << 34, 1]),
    "conv": lambda: summed(filled("f"), filled("w", "t"), node("Conv", ["f", "w"], ["a"]), s=[1, 1, 2048, 2048], t=[1, 1, 1024, 1024]),
    "pool": lambda: summed(filled("f"), node("MaxPool", ["f"], ["a"], kernel_shape=[512, 512], pads=[511] * 4), s=[1, 1, 2048, 2048]),
    "determinant": lambda: summed(filled("f"), node("Det", ["f"], ["a"]), s=[1 << 13, 1 << 13]),
    "random": lambda: summed(node("RandomNormal", [], ["a"], shape=[1 << 34])),
    "top": lambda: summed(filled("f"), node("TopK", ["f", "k"], ["a", ""]), s=[1 << 28], k=[1 << 28]),
    "non-zero": lambda: summed(filled("f"), node("NonZero", ["f"], ["i"]), node("Cast", ["i"], ["a"], to=1), s=[1 << 28]),
    "einsum": lambda: summed(filled("f"), node("Einsum", ["f", "f"], ["a"], equation="ij,kl->ijkl"), s=[1 << 10, 1 << 10]),
    "unique": lambda: summed(filled("f"), node("Unique", ["f"], ["a"]), s=[1 << 28]),
    "Fourier": lambda: summed(filled("f"), node("DFT", ["f"], ["a"], axis=1), s=[1, 1 << 26, 1]),
    "columns": lambda: summed(filled("f"), node("Col2Im", ["f", "i", "b"], ["a"]), s=[1, 1 << 20, 1], i=[1 << 10] * 2, b=[1 << 10] * 2),
    "cumulative sum": lambda: summed(filled("f"), node("CumSum", ["f", "z"], ["a"]), s=[1 << 30], z=0),
    "where": lambda: summed(filled("f"), node("Cast", ["c"], ["b"], to=9), node("Where", ["b", "f", "f"], ["a"]), s=[1 << 32], c=[1]),
    "gather": lambda: summed(
        filled("f"), filled("g", "t"), node("Cast", ["g"], ["i"], to=7), node("GatherND", ["f", "i"], ["a"]), s=[1024, 16], t=[1 << 28, 1]
    ),
    "texts": lambda: model(node("Identity", ["words"], ["y"]), y=TensorProto.STRING, words=np.array(["a"] * 65537, object)),
}  # fmt: skip


def loop(trips: int) -> onnx.ModelProto:
    """A loop over a constant."""
    info = helper.make_tensor_value_info
    body = helper.make_graph(
        [node("Add", ["v", "v"], ["w"]), node("Identity", ["c"], ["d"])],
        "body",
        [info("i", TensorProto.INT64, []), info("c", TensorProto.BOOL, []), info("v", TensorProto.FLOAT, [1])],
        [info("d", TensorProto.BOOL, []), info("w", TensorProto.FLOAT, [1])],
    )
    return summed(node("Loop", ["n", "", "v"], ["a"], body=body), n=trips, v=[1.0])


MODELS["loop"] = lambda: loop(1 << 62)

WHOLE = '"builtin.module"() ({{}}) {{a = {}}} : () -> ()'
TEXTS: dict[str, str] = {
    "splat": WHOLE.format("dense<0> : tensor<999999999xi64>"),
    "splat of halves": WHOLE.format("dense<0.5> : vector<9999999999xf32>"),
    "bytes": WHOLE.format('dense<"0x00"> : tensor<9999999999xi8>'),
    "dimensions": WHOLE.format(f"tensor<{'2x' * 100_000}f32>"),
    "integer": WHOLE.format("1 : i999999999"),
    "digits": WHOLE.format("9" * 1_000_000),
    "lists": WHOLE.format("[" * 100_000),
    "types": WHOLE.format("tuple<" * 50_000),
    "regions": "module {" * 50_000,
}
TABLES: dict[str, str] = {
    "dotted key": "a." * 50_000 + "b = 1\n",
    "keys below a deep header": f"[{'.'.join(['a'] * 25_000)}]\n" + "".join(f"k{i} = 1\n" for i in range(5000)),
    "quoted deep header": "[" + ".".join(['"a.b"'] * 12_000) + "]\n" + "".join(f"k{i} = 1\n" for i in range(5000)),
    "lists": "a = " + "[" * 50_000,
    "tables": "a = " + "{a = " * 20_000,
    "digits": "a = " + "9" * 100_000,
}
DESCRIPTORS: dict[str, str] = {
    "aliases": "a: &a [x, x, x]\n"
    + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
    "lists": "arch: " + "[" * 10_000,
    "bytes": "arch: " + "x" * 100_000,
}
TRACES: dict[str, Callable[[], str]] = {
    "lists": lambda: '{"traceEvents": [], "x": [' + "[]," * (4 << 20) + "[]]}",
    "numbers": lambda: '{"traceEvents": [], "x": [' + "1.5," * (17 << 20) + "1]}",
    "nesting": lambda: "[" * 1_000_000,
    "digits": lambda: '{"traceEvents": [], "x": ' + "9" * 1_000_000 + "}",
}
KINDS = {"IR": TEXTS, "TOML": TABLES, "target": DESCRIPTORS, "trace": TRACES}


@cache
def compiled(folder: Path) -> dict[str, Outcome]:
    """Outcomes of all kinds by name; files are written into the folder."""
    commands: dict[str, list[str]] = {}
    for number, (name, make) in enumerate(MODELS.items()):
        path = folder / f"{number}.onnx"
        path.write_bytes(make().SerializeToString())
        for target in TARGETS:
            commands[f"model: {name} on {target}"] = ["compile", str(path), "-o", str(folder / "m.tti"), "--target", target]
    path = folder / "small.onnx"
    path.write_bytes(model(node("Relu", ["x"], ["y"])).SerializeToString())
    flags = {"IR": "", "TOML": "--config", "target": "--target"}
    for kind, suffix, texts in (("IR", "mlir", TEXTS), ("TOML", "toml", TABLES), ("target", "yaml", DESCRIPTORS)):
        for number, (name, text) in enumerate(texts.items()):
            file = folder / f"{kind}{number}.{suffix}"
            file.write_text(text)
            inputs = [str(file)] if kind == "IR" else [str(path), flags[kind], str(file)]
            commands[f"{kind}: {name}"] = ["compile", *inputs, "-o", str(folder / "m.tti")]
    for number, (name, written) in enumerate(TRACES.items()):
        file = folder / f"trace{number}.json"
        file.write_text(written())
        commands[f"trace: {name}"] = ["trace", "summary", str(file)]
    return dict(zip(commands, outcomes(list(commands.values())), strict=True))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    return compiled(tmp_path_factory.mktemp("bombs"))


@pytest.mark.parametrize("name", [f"model: {name} on {target}" for name in MODELS for target in TARGETS])
def test_models(name: str, found: dict[str, Outcome]) -> None:
    status, seconds, megabytes, said = found[name]
    assert status in (0, 2), said
    assert said.count("error[") == (status == 2), said
    assert not any(code in said for code in ("E0901", "E0104")), "it is refused for what it asks, not for what the machine has"
    assert seconds < 10
    assert megabytes < 600


@pytest.mark.parametrize("name", [f"{kind}: {name}" for kind, texts in KINDS.items() for name in texts])
def test_texts(name: str, found: dict[str, Outcome]) -> None:
    status, seconds, megabytes, said = found[name]
    assert (status, said.count("error[")) == (2, 1), said
    assert seconds < 5
    assert megabytes < 400
    assert any(code in said for code in ("E0301", "E0101", "E0102", "E0305")), said


def test_too_many_texts_are_named(found: dict[str, Outcome]) -> None:
    assert "'words' holds 65537 texts; at most 65536 are possible" in found["model: texts on host"][3]


def test_a_depth_that_is_too_large_is_named(found: dict[str, Outcome]) -> None:
    assert "a depth of 268435456; 1 to 1048576 are possible" in found["model: one hot on host"][3]
