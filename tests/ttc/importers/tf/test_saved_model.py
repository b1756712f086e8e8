"""SavedModels that are read without TensorFlow: what they mean, and each way in which they can be wrong."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from xdsl.ir import Operation

from tests.ttc.importers.tf.files import function, node, object_graph, part, save, save_variables, signature, tensor
from ttc.dialects.core.errors import Error
from ttc.importers.base import import_model
from ttc.importers.tf import import_saved_model

WEIGHTS = np.arange(12, dtype=np.float32).reshape(4, 3)
VARIABLE = [
    node("w", "VarHandleOp"),
    node("save/Const", "Const", value=tensor(code=7, dims=[]) + part(8, "model")),
    node("save/names", "Const", value=tensor(code=7, dims=[1]) + part(8, "w/.ATTRIBUTES/VARIABLE_VALUE")),
    node("save/RestoreV2", "RestoreV2", "save/Const", "save/names", "save/names"),
    node("save/Identity", "Identity", "save/RestoreV2"),
    node("save/Assign", "AssignVariableOp", "w", "save/Identity"),
]
PRODUCT = [node("read", "ReadVariableOp", "w"), node("y", "MatMul", "x", "read")]


def refused(path: Path, code: str, text: str) -> Error:
    """Importing raises one error of that code, whose text names what is wrong."""
    with pytest.raises(Error) as caught:
        import_model(path)
    assert caught.value.code == code, caught.value
    assert text in str(caught.value), caught.value
    return caught.value


def test_variables_and_calls(tmp_path: Path) -> None:
    kinds = {"a": "float32", "v": "resource"}
    body = [node("r", "ReadVariableOp", "v"), node("y", "MatMul", "a", "r")]
    inner = function("inner", kinds, {"out": "y:product:0"}, body)
    outer = function("outer", kinds, {"out": "c:0"}, [node("c", "PartitionedCall", "a", "v", f="@inner")])
    save(tmp_path / "m", [*VARIABLE, node("call", "StatefulPartitionedCall", "x", "w", f="@outer")], "call:0", [inner, outer])
    save_variables(tmp_path / "m", {"w/.ATTRIBUTES/VARIABLE_VALUE": WEIGHTS})
    module, weights = import_saved_model(tmp_path / "m")
    assert "nn.matmul" in str(module)
    assert 'ttc.name = "x"' in str(module)
    assert 'ttc.name = "y"' in str(module)
    np.testing.assert_array_equal(weights["w"].value(), WEIGHTS)


def test_variables_that_objects_tell(tmp_path: Path) -> None:
    """Nothing in the graph restores the variable: it is the one that the function was traced with, under its path in the checkpoint."""
    kinds, body = {"a": "float32", "v": "resource"}, [node("r", "ReadVariableOp", "v"), node("y", "MatMul", "a", "r")]
    inner = function("inner", kinds, {"out": "y:product:0"}, body)
    objects = object_graph([{"a.b": 1}, {"w": 2, "root": 0}, {}], {"inner": [2]})
    nodes = [VARIABLE[0], node("call", "PartitionedCall", "x", "w", f="@inner")]
    save(tmp_path / "m", nodes, "call:0", [inner], objects=objects)
    save_variables(tmp_path / "m", {"a..b/w/.ATTRIBUTES/VARIABLE_VALUE": WEIGHTS, "w/.ATTRIBUTES/VARIABLE_VALUE": WEIGHTS + 1})
    np.testing.assert_array_equal(import_saved_model(tmp_path / "m")[1]["w"].value(), WEIGHTS)
    for wrong in (object_graph([{"a": 9}, {"w": 2}], {"inner": [2]}), object_graph([], {"inner": [-1] * 9}), b"\x0a\x05"):
        with pytest.raises(Error) as caught:
            import_saved_model(save(tmp_path / "m", nodes, "call:0", [inner], objects=wrong))
        assert caught.value.code in ("E0201", "E0202")


def test_open_sizes_follow_the_contract(tmp_path: Path) -> None:
    folder = save(tmp_path / "m", [node("y", "Relu", "x")], "y:0", sizes=[-1, 4])
    assert "--shape x=1x4 (or --batch 1)" in str(refused(folder, "E0205", "'x' [?, 4]"))
    module, _ = import_saved_model(folder, batch=3)
    assert "tensor<3x4xf32>" in str(module)


def test_refused_nodes_are_listed_together(tmp_path: Path) -> None:
    nodes = [node("a", "MyCustomOp", "x"), node("b", "Betainc", "x"), node("y", "AddV2", "a", "b")]
    found = refused(save(tmp_path / "m", nodes, "y:0"), "E0202", "2 nodes of 2 ops")
    assert "MyCustomOp" in str(found)
    assert "Betainc" in str(found)


@pytest.mark.parametrize("op", ["ReadFile", "WriteFile", "MatchingFiles", "PyFunc", "PyFuncStateless", "EagerPyFunc", "RemoteCall"])
@pytest.mark.parametrize("place", ["graph", "function"])
def test_ops_that_reach_out_of_the_model(tmp_path: Path, op: str, place: str) -> None:
    """Wherever they stand, whether or not an output needs them."""
    bad = node("bad", op, "x")
    if place == "graph":
        refused(save(tmp_path / "m", [bad, node("y", "Relu", "x")], "y:0"), "E0202", f"node 'bad': {op}")
    else:
        unused = function("unused", {"x": "float32"}, {"out": "x"}, [bad])
        refused(save(tmp_path / "m", [node("y", "Relu", "x")], "y:0", [unused]), "E0202", f"function 'unused', node 'bad': {op}")


def chain(count: int, last: str) -> list[bytes]:
    """Functions f0, f1, ..., each of which calls the next, and the last one the one of that name."""
    names = [f"f{i}" for i in range(count)]
    calls = zip(names, [*names[1:], last], strict=True)
    return [function(name, {"a": "float32"}, {"o": "c:output:0"}, [node("c", "PartitionedCall", "a", f=f"@{to}")]) for name, to in calls]


@pytest.mark.parametrize(
    ("functions", "text"),
    [
        (chain(1, "nowhere"), "calls function 'nowhere', which does not exist"),
        (chain(1, "f0"), "function 'f0' calls itself"),
        (chain(3, "f0"), "calls itself"),
        (chain(3000, "f2999"), "more than 64 deep"),
        (chain(1, "nowhere") * 2, "function 'f0' is defined twice"),
        ([function("f0", {"a": "float32"}, {"o": "b:0"}, [])], "nothing gives 'b:0'"),
        ([function("f0", {"a": "float32"}, {"o": "a"}, [], ["gone"])], "nothing gives 'gone'"),
        ([function("f0", {"a": "float32", "b": "float32"}, {"o": "a"}, [])], "takes 2 inputs, not 1"),
    ],
)
def test_functions_that_cannot_be_called(tmp_path: Path, functions: list[bytes], text: str) -> None:
    refused(save(tmp_path / "m", [node("y", "PartitionedCall", "x", f="@f0")], "y:0", functions), "E0203", text)


def test_calls_that_multiply(tmp_path: Path) -> None:
    """Forty levels, each of which calls the next one twice, would be a million million nodes."""
    functions = [function(f"f{i}", {"a": "float32"}, {"o": "c:output:0"}, _two(f"f{i + 1}")) for i in range(40)]
    last = function("f40", {"a": "float32"}, {"o": "a"}, [])
    folder = save(tmp_path / "m", [node("y", "PartitionedCall", "x", f="@f0")], "y:0", [*functions, last])
    refused(folder, "E0203", "once its functions are inlined")


@pytest.mark.parametrize("op", ["If", "StatelessIf", "While", "StatelessWhile", "Case", "PartitionedCall"])
def test_calls_without_operands(tmp_path: Path, op: str) -> None:
    nothing = function("f0", {"a": "float32"}, {"o": "a"}, [])
    calls = {"then_branch": "@f0", "else_branch": "@f0", "cond": "@f0", "body": "@f0", "f": "@f0"}
    refused(save(tmp_path / "m", [node("y", op, **calls)], "y:0", [nothing]), "E0203", "")


def _two(name: str) -> list[bytes]:
    return [node(label, "PartitionedCall", "a", f=f"@{name}") for label in ("c", "d")]


@pytest.mark.parametrize(
    ("nodes", "code", "text"),
    [
        ([node("y", "Relu", "gone")], "E0203", "nothing gives its input 'gone'"),
        ([node("y", "AddV2", "x", "z"), node("z", "Relu", "y")], "E0203", "a cycle through node"),
        ([node("y", "Merge", "x", "n"), node("n", "NextIteration", "y")], "E0202", "a loop of TensorFlow 1"),
        ([node("y", "Relu", "x"), node("y", "Relu", "x")], "E0203", "'y' is defined twice"),
        ([node("y", "Relu", "x:7")], "E0202", "its output 7 is not supported"),
        ([node("y", "Relu", "x:1e9")], "E0203", "is no tensor"),
        ([node("y", "Relu")], "E0203", "Relu takes 1 inputs, not 0"),
        ([node("y", "Relu", "x", "x")], "E0203", "Relu takes 1 inputs, not 2"),
        ([node("y", "Softmax", "x", beta=3)], "E0202", "attribute beta"),
        ([node("y", "LeakyRelu", "x", alpha="steep")], "E0203", "attribute 'alpha' of LeakyRelu is no float"),
        ([node("y", "Const")], "E0203", "Const has no attribute 'value'"),
        ([node("y", "PartitionedCall", "x")], "E0203", "has no function 'f'"),
        (
            [node("v", "VarHandleOp"), node("s", "ResourceScatterAdd", "v", "x", "x"), node("y", "Relu", "x", "^s")],
            "E0202",
            "changes a variable",
        ),
        (
            [node("v", "VarHandleOp"), node("s", "AssignAddVariableOp", "v", "x"), node("y", "Relu", "x", "^s")],
            "E0202",
            "VarHandleOp",
        ),
    ],
)
def test_graphs_that_are_not_well_formed(tmp_path: Path, nodes: list[bytes], code: str, text: str) -> None:
    folder = save(tmp_path / "m", nodes, "y:0")
    save_variables(folder, {})
    refused(folder, code, text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (tensor(dims=[3], content=b"\0" * 11), "takes 12 bytes, but has 11"),
        (tensor(dims=[1 << 31, 1 << 31], content=b"\0" * 4), "too large"),
        (tensor(dims=[-2, 3], content=b"\0" * 4), "no static shape"),
        (tensor(code=99, dims=[1], content=b"\0" * 4), "number 99"),
        (tensor(code=8, dims=[1], content=b"\0" * 8), "complex64"),
        (tensor(dims=[1] * 300), "more than 254 dimensions"),
    ],
)
def test_constants_that_cannot_be(tmp_path: Path, value: bytes, text: str) -> None:
    nodes = [node("c", "Const", value=value), node("y", "AddV2", "x", "c")]
    with pytest.raises(Error) as caught:
        import_model(save(tmp_path / "m", nodes, "y:0"))
    assert caught.value.code in ("E0202", "E0203")
    assert text in str(caught.value)


def image(op: str, **attributes: object) -> list[bytes]:
    """An op on the image and a filter of ones."""
    return [node("f", "Const", value=np.ones((2, 2, 3, 4), np.float32)), node("y", op, "x", "f", **attributes)]


EMPTY = [node("a", "Const", value=np.array(0, np.int32)), node("none", "Const", value=np.zeros(0, np.float32))]


@pytest.mark.parametrize(
    ("nodes", "code"),
    [
        (image("Conv2D", strides=[1, 0, 1, 1], padding="SAME"), "E0402"),
        (image("Conv2D", strides=[1, 1], padding="SAME"), "E0402"),
        (image("Conv2D", strides=[1, 1, 1, 1], padding="NONE"), "E0402"),
        (image("Conv2D", strides=[1, 1, 1, 1], padding="SAME", dilations=[1, -1, 1, 1]), "E0402"),
        (image("Conv2D", strides=[1, 1, 1, 1], padding="EXPLICIT", explicit_paddings=[0, 0, -1, 0, 0, 0, 0, 0]), "E0402"),
        ([node("y", "MaxPool", "x", ksize=[1, 0, 2, 1], strides=[1, 1, 1, 1], padding="VALID")], "E0402"),
        ([node("y", "SpaceToDepth", "x", block_size=0)], "E0402"),
        ([node("a", "Const", value=np.array(7, np.int32)), node("y", "Sum", "x", "a")], "E0412"),
        ([node("a", "Const", value=np.array(3, np.int32)), node("y", "Split", "a", "x", num_split=2)], "E0402"),
        ([*EMPTY, node("y", "Split", "a", "none", num_split=1 << 40)], "E0402"),
        ([*EMPTY, node("y", "Unpack", "none", num=1 << 40, axis=0)], "E0402"),
        ([node("a", "Const", value=np.array([5, -1, -1], np.int32)), node("y", "Reshape", "x", "a")], "E0402"),
        ([node("a", "Const", value=np.array([1 << 62, 2], np.int64)), node("y", "Fill", "a", "x")], "E0401"),
        ([node("a", "Const", value=np.array([1 << 62, 1, 1, 1], np.int64)), node("y", "Tile", "x", "a")], "E0203"),
    ],
)
def test_attributes_and_operands_out_of_range(tmp_path: Path, nodes: list[bytes], code: str) -> None:
    with pytest.raises(Error) as caught:
        import_model(save(tmp_path / "m", nodes, "y:0", sizes=[1, 4, 4, 3]))
    assert caught.value.code == code, caught.value
    assert caught.value.where == "m: y"


def spoil(folder: Path, how: str) -> None:
    """Make the variables of a folder wrong."""
    place, key = folder / "variables", {"w/.ATTRIBUTES/VARIABLE_VALUE": WEIGHTS}
    data = place / "variables.data-00000-of-00001"
    actions: dict[str, Callable[[], object]] = {
        "no folder": lambda: [p.unlink() for p in place.iterdir()],
        "linked": lambda: (data.rename(folder.parent / "data"), data.symlink_to(folder.parent / "data")),
        "hard link": lambda: os.link(data, folder.parent / "data"),
        "past the end": lambda: save_variables(folder, key, offset=8),
        "negative": lambda: save_variables(folder, key, offset=-8),
        "too short": lambda: save_variables(folder, key, size=44),
        "other file": lambda: save_variables(folder, key, shard=3),
        "compressed": lambda: save_variables(folder, key, compressed=True),
        "truncated": lambda: (place / "variables.index").write_bytes((place / "variables.index").read_bytes()[:-20]),
        "not stored": lambda: save_variables(folder, {"other": WEIGHTS}),
    }
    actions[how]()


@pytest.mark.parametrize(
    ("how", "code", "text"),
    [
        ("no folder", "E0204", "variables/variables.index cannot be read"),
        ("linked", "E0204", "cannot be read"),
        ("hard link", "E0204", "is a hard link"),
        ("past the end", "E0203", "lie past the end"),
        ("negative", "E0203", "lie past the end"),
        ("too short", "E0203", "takes 48 bytes, but has 44"),
        ("other file", "E0203", "lies in file 3 of 1"),
        ("compressed", "E0201", "compressed"),
        ("truncated", "E0201", "a truncated one"),
        ("not stored", "E0202", "VarHandleOp"),
    ],
)
def test_variables_that_cannot_be_read(tmp_path: Path, how: str, code: str, text: str) -> None:
    folder = save(tmp_path / "m", [*VARIABLE, *PRODUCT], "y:0")
    save_variables(folder, {"w/.ATTRIBUTES/VARIABLE_VALUE": WEIGHTS})
    spoil(folder, how)
    refused(folder, code, text)


SIGNATURE = signature({"x": ("x:0", (2, 4))}, {"y": "y:0"})


@pytest.mark.parametrize(
    ("names", "chosen"), [(["only"], True), (["serving_default", "other"], True), (["a", "b"], False), ([], False), (["__init"], False)]
)
def test_which_signature_is_taken(tmp_path: Path, names: Sequence[str], chosen: bool) -> None:
    folder = save(tmp_path / "m", [node("y", "Relu", "x")], "y:0", signatures=dict.fromkeys(names, SIGNATURE))
    if chosen:
        assert "nn.relu" in str(import_saved_model(folder)[0])
    else:
        refused(folder, "E0201", "no signature 'serving_default'")


def test_signatures_of_what_is_not_there(tmp_path: Path) -> None:
    for key, text in (("x", "input 'x' of the signature is 'gone:0'"), ("y", "output 'y' of the signature is 'gone:0'")):
        made = signature({"x": ("gone:0" if key == "x" else "x:0", (2, 4))}, {"y": "gone:0" if key == "y" else "y:0"})
        refused(save(tmp_path / "m", [node("y", "Relu", "x")], "", signatures={"serving_default": made}), "E0203", text)


def test_files_that_are_no_saved_model(tmp_path: Path) -> None:
    empty = tmp_path / "m"
    empty.mkdir()
    refused(empty, "E0102", "saved_model.pb cannot be read")
    for content in (b"", b"hello, world", b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", b"PK\3\4" + b"\0" * 40):
        (empty / "saved_model.pb").write_bytes(content)
        with pytest.raises(Error) as caught:
            import_model(empty)
        assert caught.value.code == "E0201"


def test_every_truncation_and_flipped_byte_is_an_error_or_a_model(tmp_path: Path) -> None:
    inner = function("f", {"a": "float32"}, {"o": "r:y:0"}, [node("r", "Square", "a")])
    nodes = [node("c", "Const", value=np.ones(4, np.float32)), node("s", "AddV2", "x", "c"), node("y", "PartitionedCall", "s", f="@f")]
    folder = save(tmp_path / "m", nodes, "y:0", [inner])
    data = (folder / "saved_model.pb").read_bytes()
    flipped = [data[:i] + bytes([data[i] ^ 0x41]) + data[i + 1 :] for i in range(0, len(data), 3)]
    codes: set[str] = set()
    for content in [data[:at] for at in range(0, len(data), 7)] + flipped:
        (folder / "saved_model.pb").write_bytes(content)
        try:
            import_saved_model(folder)
        except Error as error:
            codes.add(error.code[:3])
    assert codes <= {"E02", "E04"}


def test_outputs_of_a_node_that_is_a_function_are_told_apart_by_name(tmp_path: Path) -> None:
    pair = function("pair", {"a": "float32"}, {"p": "n:y:0", "q": "e:y:0"}, [node("n", "Neg", "a"), node("e", "Exp", "a")])
    outer = function("outer", {"a": "float32"}, {"o": "c:q:0"}, [node("c", "pair", "a")])
    module, _ = import_saved_model(save(tmp_path / "m", [node("y", "PartitionedCall", "x", f="@outer")], "y:0", [pair, outer]))
    returned = next(op for op in module.walk() if op.name == "func.return")
    assert [x.owner.name for x in returned.operands if isinstance(x.owner, Operation)] == ["nn.exp"]
