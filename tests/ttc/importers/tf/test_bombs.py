"""SavedModels of which a few bytes ask for much: what they cost to compile is bounded, and each error is one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.ttc.importers.tf.files import block, function, node, number, object_graph, part, save, save_variables, shape, table_file
from tests.ttc.importers.tflite.test_bombs import bounded
from ttc.compiler.driver import compile_path
from ttc.dialects.core.errors import Error
from ttc.importers.common.protobuf import write_varint
from ttc.importers.tf import import_saved_model, objects, sstable, walk
from ttc.loading import load
from ttc.options import CompileOptions

SIDE = 1 << 20
ENTRY = number(1, 1) + part(2, shape([0])) + number(3, 0) + number(4, 0) + number(5, 0)
"""A variable of no elements."""


def filled(name: str, dims: Sequence[int], *numbers: float) -> bytes:
    """A constant of which the file gives the first numbers."""
    content = part(5, np.array(numbers, np.float32).tobytes()) if numbers else b""
    return node(name, "Const", value=number(1, 1) + part(2, shape(dims)) + content)


def summed(constant: bytes, rank: int) -> list[bytes]:
    """The sum of constant `c`, added to the input."""
    return [
        constant,
        node("axes", "Const", value=np.arange(rank, dtype=np.int32)),
        node("s", "Sum", "c", "axes"),
        node("y", "AddV2", "x", "s"),
    ]


def ints(name: str, *values: int) -> bytes:
    return node(name, "Const", value=np.array(values, np.int32))


FILL = [ints("d", SIDE, SIDE), node("v", "Const", value=np.array(1, np.float32)), node("c", "Fill", "d", "v")]
RANGE = [node(n, "Const", value=np.array(v, np.int32)) for n, v in (("a", 0), ("b", (1 << 31) - 1), ("c", 1))]


@pytest.mark.parametrize(
    ("nodes", "code"),
    [
        (summed(filled("c", [SIDE, SIDE], 1), 2), ""),
        (summed(filled("c", [1 << 26]), 1), ""),
        (summed(filled("c", [1 << 30], 1, 2, 3), 1), ""),
        (summed(filled("c", [1 << 31, 1 << 31], 1), 2), "E0203"),
        ([*FILL, *summed(ints("unused", 1), 2)], ""),
        ([*RANGE, node("y", "Range", "a", "b", "c")], "E0402"),
    ],
    ids=["2^40 of one number", "zeros", "a few, and the last again", "2^62", "fill", "range"],
)
def test_constants_that_are_too_large_stay_ops_or_are_refused(tmp_path: Path, nodes: list[bytes], code: str) -> None:
    assert bounded(save(tmp_path / "m", nodes, "y:0")) == code


@pytest.mark.parametrize("numbers", [(), (5,), (1, 2, 3)])
def test_constants_whose_last_number_repeats_have_those_values(tmp_path: Path, numbers: Sequence[float]) -> None:
    """Written out or not, they are the same numbers."""
    for rows in (4, 1 << 15):
        nodes = [filled("c", [rows, 4], *numbers), node("y", "AddV2", "x", "c")]
        folder = save(tmp_path / f"m{rows}", nodes, "y:0", sizes=[rows, 4])
        archive = tmp_path / f"m{rows}.tti"
        compile_path(folder, CompileOptions(target="host")).save(archive)
        with load(archive) as executor:
            found = executor.run({"x": np.zeros((rows, 4), np.float32)})["y"]
        expected = np.full(4 * rows, numbers[-1] if numbers else 0, np.float32)
        expected[: len(numbers)] = numbers
        np.testing.assert_array_equal(np.asarray(found).reshape(-1), expected)


def index_of(folder: Path, beginning: int, count: int) -> None:
    """Variables whose names share a beginning, which the index holds once."""
    stem = b"k" * beginning
    rows = write_varint(0) + write_varint(beginning) + write_varint(len(ENTRY)) + stem + ENTRY
    tails = (f"{i:06}".encode() for i in range(count))
    rows += b"".join(write_varint(beginning) + write_varint(6) + write_varint(len(ENTRY)) + tail + ENTRY for tail in tails)
    (folder / "variables" / "variables.index").write_bytes(table_file(rows + (0).to_bytes(4, "little") + (1).to_bytes(4, "little")))


def test_names_of_variables_that_share_a_beginning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = save(tmp_path / "m", [node("w", "VarHandleOp"), node("r", "ReadVariableOp", "w"), node("y", "AddV2", "x", "r")], "y:0")
    save_variables(folder, {"w": np.zeros(4, np.float32)})
    monkeypatch.setattr(sstable, "MAX_SHARED_BYTES", 1 << 20)
    for beginning, code in ((8, "E0202"), (16000, "E0201")):  # the first has no variable that the graph restores
        index_of(folder, beginning, 1000)
        assert bounded(folder) == code


def test_paths_of_objects_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of many objects lies at the end of a long chain."""
    chain = [{"a": i + 1} for i in range(1000)]
    leaves = {str(i): 1001 + i for i in range(1000)}
    held = object_graph([*chain, leaves, *({} for _ in leaves)], {})
    nodes = [node("w", "VarHandleOp"), node("y", "Relu", "x")]
    folder = save(tmp_path / "m", nodes, "y:0", objects=held)
    save_variables(folder, {"w": np.zeros(4, np.float32)})
    assert bounded(folder) == ""
    monkeypatch.setattr(objects, "MAX_PATH_CHARACTERS", 1 << 20)
    with pytest.raises(Error, match="paths to the SavedModel's objects") as caught:
        import_saved_model(folder)
    assert caught.value.code == "E0203"


def test_names_that_hold_the_calls_around_them_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = [node(f"n{i}", "Relu", f"n{i - 1}:activations:0" if i else "a") for i in range(10)]
    called = function("f", {"a": "float32"}, {"o": "n9:activations:0"}, inner)
    names = ["x", *(f"{'n' * 100}{i}" for i in range(10))]
    calls = [node(b, "PartitionedCall", a, f="@f") for a, b in zip(names, names[1:], strict=False)]
    folder = save(tmp_path / "m", calls, f"{names[-1]}:0", [called])
    assert bounded(folder) == ""
    monkeypatch.setattr(walk, "MAX_NAME_CHARACTERS", 2000)
    assert bounded(folder) == "E0203"


def test_calls_that_double_and_messages_that_nest(tmp_path: Path) -> None:
    pairs = [("c", "a"), ("d", "c:output:0")]
    twice = [
        function(f"f{i}", {"a": "float32"}, {"o": "d:output:0"}, [node(n, "PartitionedCall", x, f=f"@f{i + 1}") for n, x in pairs])
        for i in range(40)
    ]
    last = function("f40", {"a": "float32"}, {"o": "r:activations:0"}, [node("r", "Relu", "a")])
    assert bounded(save(tmp_path / "m", [node("y", "PartitionedCall", "x", f="@f0")], "y:0", [*twice, last])) == "E0203"
    nested = b""
    for _ in range(3000):
        nested = part(2, nested)
    (tmp_path / "m" / "saved_model.pb").write_bytes(nested)
    assert bounded(tmp_path / "m") == "E0201"
    (tmp_path / "m" / "saved_model.pb").write_bytes(part(2, b"") * 100_000)
    assert bounded(tmp_path / "m") == "E0203"


def test_variables_that_share_their_bytes(tmp_path: Path) -> None:
    """A file of a few bytes would be a large archive."""
    folder = save(tmp_path / "m", [node("w", "VarHandleOp"), node("r", "ReadVariableOp", "w"), node("y", "AddV2", "x", "r")], "y:0")
    save_variables(folder, {name: np.zeros(4, np.float32) for name in ("w", "v")})
    assert bounded(folder) == "E0202"  # read, but none is what the graph restores
    save_variables(folder, {name: np.zeros(4, np.float32) for name in ("w", "v", "u")}, offset=8)
    path = folder / "variables" / "variables.data-00000-of-00001"
    path.write_bytes(path.read_bytes()[:24])
    assert bounded(folder) == "E0203"


def test_blocks_of_an_index_that_point_anywhere(tmp_path: Path) -> None:
    """Offsets past the end, into the index itself, and at what is no block."""
    folder = save(tmp_path / "m", [node("w", "VarHandleOp"), node("r", "ReadVariableOp", "w"), node("y", "AddV2", "x", "r")], "y:0")
    save_variables(folder, {"w": np.zeros(4, np.float32)})
    path = folder / "variables" / "variables.index"
    for at, size in ((1 << 62, 4), (0, 1 << 62), (1, 9), (20, 2)):
        path.write_bytes(table_file(block([]), place=(at, size)))
        assert bounded(folder) == "E0201"
    save_variables(folder, {"w": np.zeros(4, np.float32)}, offset=1 << 62)
    assert bounded(folder) == "E0203"
