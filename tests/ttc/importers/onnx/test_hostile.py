"""Models that somebody made to do harm: each ends in one error with the name of its node, status 2, and nothing written."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.ttc.importers.onnx.cases import ints, model_of, normal
from ttc.cli import main

Capture = pytest.CaptureFixture[str]
HUGE = 1 << 62
IMAGE = normal(1, 4, 8, 8)
FILTER = normal(4, 4, 3, 3)
GRID = normal(2, 3, 4)


def refused(model: onnx.ModelProto | bytes, folder: Path, capsys: Capture, seconds: float = 8) -> str:
    """What `ttc compile` says of it on stderr, which is one error; it takes little time and writes nothing."""
    path, output = folder / "m.onnx", folder / "m.tti"
    path.write_bytes(model if isinstance(model, bytes) else model.SerializeToString())
    start = time.process_time()
    status = main(["compile", str(path), "-o", str(output), "--target", "host"])
    assert time.process_time() - start < seconds
    said = capsys.readouterr().err
    assert (status, output.exists(), said.count("error["), "Traceback" in said) == (2, False, 1, False), said
    return said


Case = tuple[str, Sequence[Any], dict[str, Any], int]
AXES: list[Case] = [
    *((op, (GRID,), {"axis": axis}, 18) for op in ("Softmax", "LogSoftmax", "Hardmax", "ArgMax", "Flatten") for axis in (4, -4, HUGE)),
    *(("Concat", (GRID, GRID), {"axis": axis}, 18) for axis in (3, -4, -HUGE)),
    *(("Gather", (GRID, ints(0)), {"axis": axis}, 18) for axis in (3, -4)),
    *(("Split", (GRID,), {"axis": axis, "num_outputs": 2}, 18) for axis in (3, -4)),
    *(("LayerNormalization", (GRID, normal(4)), {"axis": axis}, 18) for axis in (3, -4)),
    *((op, (GRID,), {"axes": axes}, 11) for op in ("ReduceSum", "ReduceMax", "Squeeze", "Unsqueeze") for axes in ([5], [-6], [0, 0])),
    *(("ReduceMean", (GRID, ints(axis)), {}, 18) for axis in (3, -4)),
    *(("CumSum", (GRID, np.array(axis)), {}, 18) for axis in (3, -4)),
    *(("TopK", (GRID, ints(1)), {"axis": axis}, 18) for axis in (3, -4)),
    ("Transpose", (GRID,), {"perm": [0, 1]}, 18),
    ("Transpose", (GRID,), {"perm": [0, 0, 1]}, 18),
    ("Transpose", (GRID,), {"perm": [0, 1, 3]}, 18),
    ("OneHot", (ints(1), ints(3), normal(2)), {"axis": 5}, 18),
]
WINDOWS: list[Case] = [
    *(("Conv", (IMAGE, FILTER), {"strides": strides}, 18) for strides in ([0, 1], [-1, 1], [1], [1, 1, 1])),
    *(("Conv", (IMAGE, FILTER), {"dilations": dilations}, 18) for dilations in ([0, 1], [-1, 1], [HUGE, 1])),
    *(("Conv", (IMAGE, FILTER), {"group": group}, 18) for group in (0, -1, 3, HUGE)),
    *(("Conv", (IMAGE, FILTER), {"pads": pads}, 18) for pads in ([1], [HUGE] * 4, [-9] * 4)),
    *(("Conv", (IMAGE, FILTER), {"kernel_shape": kernel}, 18) for kernel in ([0, 0], [5, 5], [3])),
    ("Conv", (IMAGE, normal(4, 4, 0, 3)), {}, 18),
    ("Conv", (IMAGE, normal(0, 4, 3, 3)), {"group": 0}, 18),
    ("Conv", (IMAGE, normal(4, 3, 3, 3)), {}, 18),
    ("Conv", (IMAGE, normal(4, 4, 9, 9)), {}, 18),
    ("Conv", (normal(8), FILTER), {}, 18),
    ("Conv", (IMAGE, FILTER), {"auto_pad": "SAME"}, 18),
    *(("ConvTranspose", (IMAGE, FILTER), {"strides": strides}, 18) for strides in ([0, 1], [-1, 1], [HUGE, 1])),
    *(("ConvTranspose", (IMAGE, FILTER), {"group": group}, 18) for group in (0, -1, 3)),
    ("ConvTranspose", (IMAGE, FILTER), {"output_padding": [-1, 0]}, 18),
    ("ConvTranspose", (IMAGE, FILTER), {"output_shape": [HUGE, HUGE]}, 18),
    *(
        (op, (IMAGE,), {"kernel_shape": k}, 18)
        for op in ("MaxPool", "AveragePool", "LpPool")
        for k in ([0, 2], [-2, 2], [9, 9], [HUGE, 1], [2])
    ),
    *((op, (IMAGE,), {"kernel_shape": [2, 2], "strides": [0, 1]}, 18) for op in ("MaxPool", "AveragePool")),
    ("MaxPool", (IMAGE,), {"kernel_shape": [2, 2], "pads": [HUGE, 0, 0, 0]}, 18),
    *((op, (IMAGE,), {"blocksize": size}, 18) for op in ("SpaceToDepth", "DepthToSpace") for size in (0, -2, 3, HUGE)),
    ("LRN", (IMAGE,), {"size": 0}, 18),
    *(("GroupNormalization", (IMAGE, normal(4), normal(4)), {"num_groups": groups}, 21) for groups in (0, -1, 3)),
]
SIZES: list[Case] = [
    *(("Split", (normal(6), ints(*sizes)), {}, 18) for sizes in ((2, 3), (7,), (-1, 7), (HUGE, HUGE, 6))),
    *(("Split", (normal(6),), {"split": list(sizes)}, 11) for sizes in ((2, 3), (-1, 7))),
    *(("Split", (normal(6),), {"num_outputs": count}, 18) for count in (0, -1, HUGE)),
    *(("Reshape", (GRID, ints(*shape)), {}, 18) for shape in ((5, -1), (-1, -1), (-2, 12), (HUGE, HUGE), (HUGE, 4, 1 << 60), (0, 0, 0, 0))),
    *(("Expand", (GRID, ints(*shape)), {}, 18) for shape in ((HUGE, 2, 3, 4), (-1,), (1 << 32, 1 << 32, 1, 1, 1), (5, 5, 5))),
    *(("Tile", (GRID, ints(*repeats)), {}, 18) for repeats in ((HUGE, 1, 1), (-1, 1, 1), (1, 1), (1 << 30, 1 << 30, 1 << 30))),
    *(("ConstantOfShape", (ints(*shape),), {}, 18) for shape in ((HUGE,), (-1,), (1 << 31, 1 << 31, 1 << 31), (1,) * 64)),
    *(("Pad", (GRID, ints(*pads)), {}, 18) for pads in ((HUGE, 0, 0, 0, 0, 0), (-9, 0, 0, 0, 0, 0), (1, 1))),
    *(("Range", (np.array(0), np.array(limit), np.array(step)), {}, 18) for limit, step in ((HUGE, 1), (9, 0))),
    ("Slice", (GRID, ints(0), ints(2), ints(0), ints(0)), {}, 18),
    ("Slice", (GRID, ints(0), ints(2), ints(7)), {}, 18),
    ("Slice", (GRID, ints(0, 0), ints(2)), {}, 18),
    *(("TopK", (GRID, ints(k)), {}, 18) for k in (-1, 5, HUGE)),
    *(("Resize", (IMAGE, None, None, ints(1, 4, *size)), {}, 18) for size in ((HUGE, 8), (-8, 8), (0, 8))),
    ("Resize", (IMAGE, None, np.array([1, 1, 1e30, 1], np.float32)), {}, 18),
    ("Resize", (IMAGE, None, np.array([1, 1, np.nan, 1], np.float32)), {}, 18),
    ("OneHot", (ints(1), ints(HUGE), normal(2)), {}, 18),
    ("OneHot", (ints(1), ints(-1), normal(2)), {}, 18),
    ("HannWindow", (np.array(HUGE),), {}, 18),
    ("EyeLike", (GRID,), {}, 18),
    *(("Cast", (GRID,), {"to": to}, 18) for to in (0, 999, -1)),
    ("MatMul", (normal(3, 4), normal(3, 4)), {}, 18),
    ("Gemm", (normal(3, 4), normal(3, 4)), {}, 18),
    ("Add", (normal(3), normal(4)), {}, 18),
    ("Einsum", (GRID, GRID), {"equation": "abc,de->a"}, 18),
    ("Einsum", (GRID,), {"equation": "abc->" + "a" * 10_000}, 18),
    ("LSTM", (normal(2, 1, 3), normal(1, 16, 3), normal(1, 16, 4)), {"hidden_size": -4}, 18),
    ("Attention", (normal(1, 2, 8), normal(1, 2, 8), normal(1, 2, 8)), {"q_num_heads": 0, "kv_num_heads": 0}, 23),
    ("Upsample", (IMAGE, np.array([1, 1, -2, 2], np.float32)), {}, 9),
]


def hostile(op: str, operands: Sequence[np.ndarray | None], attrs: dict[str, Any], opset: int) -> onnx.ModelProto:
    """One node whose first operand is an input of the model, the others initializers."""
    names = [f"x{index}" if operand is not None else "" for index, operand in enumerate(operands)]
    outputs = [f"y{index}" for index in range(2 if op in ("Split", "TopK") else 1)]
    node = helper.make_node(op, names, outputs, name="/the/node", **attrs)
    first = op not in ("ConstantOfShape", "Range", "HannWindow")
    arrays = {name: operand for name, operand in zip(names, operands, strict=True) if operand is not None}
    feeds = {"x0": arrays.pop("x0")} if first else {"unread": normal(1)}
    return model_of([node], feeds, outputs, arrays, opset)


@pytest.mark.parametrize(("op", "operands", "attrs", "opset"), [*AXES, *WINDOWS, *SIZES])
def test_numbers_that_make_no_sense(
    op: str, operands: Sequence[np.ndarray | None], attrs: dict[str, Any], opset: int, tmp_path: Path, capsys: Capture
) -> None:
    assert "/the/node" in refused(hostile(op, operands, attrs, opset), tmp_path, capsys)


@pytest.mark.parametrize("opset", [0, -1, 999, HUGE])
def test_opsets(opset: int, tmp_path: Path, capsys: Capture) -> None:
    said = refused(model_of([helper.make_node("Relu", ["x"], ["y"])], {"x": GRID}, ["y"], opset=opset), tmp_path, capsys)
    assert "error[E0202]" in said
    assert f"opset {opset}" in said


@pytest.mark.parametrize("version", [-1, 1 << 31, HUGE])
def test_versions_of_other_domains(version: int, tmp_path: Path, capsys: Capture) -> None:
    model = model_of([helper.make_node("Relu", ["x"], ["y"], domain="own")], {"x": GRID}, ["y"], domains={"own": version})
    said = refused(model, tmp_path, capsys)
    assert "error[E0202]" in said
    assert str(version) in said


def chain(depth: int, back: bool = False) -> onnx.ModelProto:
    """Functions each of which calls the next; the last one the first, or an op."""
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    called = [f"F{index + 1}" for index in range(depth - 1)] + ["F0" if back else "Relu"]
    functions = [
        helper.make_function(
            "own", f"F{i}", ["a"], ["b"], [helper.make_node(name, ["a"], ["b"], domain="" if name == "Relu" else "own")], imports
        )
        for i, name in enumerate(called)
    ]
    call = helper.make_node("F0", ["x"], ["y"], domain="own", name="/the/node")
    return model_of([call], {"x": GRID}, ["y"], functions=functions, domains={"own": 1})


@pytest.mark.parametrize(("depth", "back", "said"), [(3000, False, "64 deep"), (1, True, "calls itself"), (2, True, "calls itself")])
def test_functions(depth: int, back: bool, said: str, tmp_path: Path, capsys: Capture) -> None:
    text = refused(chain(depth, back), tmp_path, capsys)
    assert "error[E0203]" in text
    assert said in text


def test_functions_that_double_at_each_level(tmp_path: Path, capsys: Capture) -> None:
    model = chain(40)
    for function in model.functions:
        function.node.append(onnx.NodeProto.FromString(function.node[0].SerializeToString()))
        function.node[1].output[0] = "c"
    assert "error[E0203]" in refused(model, tmp_path, capsys)


@pytest.mark.parametrize("dims", [[-1], [-(1 << 40)], [1 << 40, 1 << 40], [HUGE, 4], [1] * 40])
@pytest.mark.parametrize("where", ["input", "weight", "constant"])
def test_dimensions(dims: list[int], where: str, tmp_path: Path, capsys: Capture) -> None:
    model = model_of([helper.make_node("Add", ["x", "w"], ["y"], name="/the/node")], {"x": GRID}, ["y"], {"w": normal(1)})
    if where == "constant":
        tensor = TensorProto(data_type=1, dims=dims, raw_data=b"1234")
        model.graph.node.insert(0, helper.make_node("Constant", [], ["w"], name="/the/node", value=tensor))
        del model.graph.initializer[:]
    elif where == "weight":
        model.graph.initializer[0].dims[:] = dims
    else:
        shape = model.graph.input[0].type.tensor_type.shape
        del shape.dim[:]
        for size in dims:
            shape.dim.add().dim_value = size
    assert "error[E02" in refused(model, tmp_path, capsys)


@pytest.mark.parametrize("size", [0, 3, 5, 4000])
@pytest.mark.parametrize("inside", [False, True])
def test_raw_data_of_another_size(size: int, inside: bool, tmp_path: Path, capsys: Capture) -> None:
    tensor = TensorProto(name="w", data_type=1, dims=[1], raw_data=bytes(size))
    model = model_of([helper.make_node("Add", ["x", "w"], ["y"])], {"x": GRID}, ["y"])
    if inside:
        model.graph.node.insert(0, helper.make_node("Constant", [], ["w"], name="/the/node", value=tensor))
    else:
        model.graph.initializer.append(tensor)
    said = refused(model, tmp_path, capsys)
    assert "error[E0203]" in said
    assert ("/the/node" if inside else "'w'") in said


def test_cycles(tmp_path: Path, capsys: Capture) -> None:
    nodes = [helper.make_node("Relu", ["b"], ["a"], name="/the/node"), helper.make_node("Relu", ["a"], ["b"])]
    said = refused(model_of(nodes, {"x": GRID}, ["b"]), tmp_path, capsys)
    assert "/the/node" in said
    assert "cycle" in said


def test_names_that_go_on_without_end(tmp_path: Path, capsys: Capture) -> None:
    long = "n" * 1_000_000
    said = refused(model_of([helper.make_node("Softmax", ["x"], ["y"], name=long, axis=9)], {"x": GRID}, ["y"]), tmp_path, capsys)
    assert len(said) < 10_000


def test_a_constant_that_nobody_could_hold_is_not_made(tmp_path: Path, capsys: Capture) -> None:
    nodes = [helper.make_node("Expand", [f"t{i}", "shape"], [f"t{i + 1}"], name="/the/node") for i in range(3)]
    constants = {"t0": normal(1), "shape": ints(1 << 20, 1 << 21)}
    model = model_of([*nodes, helper.make_node("ReduceMax", ["t3"], ["y"])], {"x": GRID}, ["y"], constants)
    assert "/the/node" in refused(model, tmp_path, capsys)


def test_a_weight_that_is_sparse(tmp_path: Path, capsys: Capture) -> None:
    values, places = numpy_helper.from_array(normal(1), "w"), numpy_helper.from_array(ints(7))
    model = model_of([helper.make_node("Add", ["x", "x"], ["y"])], {"x": GRID}, ["y"])
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [3]))
    assert "error[E0202]" in refused(model, tmp_path, capsys)
