"""TFLite models of a few hundred bytes that ask for much: what they cost to compile is bounded, and each error is one."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.ttc.importers.tflite.writer import Graph, Op, Tensor, model
from ttc.compiler.driver import compile_path
from ttc.dialects.core.errors import Error
from ttc.importers.tflite import walk
from ttc.options import CompileOptions

MOST_BYTES = 64 << 20
SIDE = 1 << 20


def ints(name: str, *values: int) -> Tensor:
    return Tensor(name, (len(values),), "INT32", np.array(values, np.int32))


def number(name: str, value: float, dtype: type = np.float32) -> Tensor:
    return Tensor(name, (), {np.float32: "FLOAT32", np.int32: "INT32"}[dtype], np.array(value, dtype))


def compiled(data: bytes, path: Path) -> str:
    """Compile a file of these bytes for the host; gives the error, or nothing."""
    path.write_bytes(data)
    return bounded(path)


def bounded(path: Path) -> str:
    """Compile a model for the host; gives the error, or nothing.  Asserts that memory for arrays stays within bounds."""
    tracemalloc.start()
    try:
        compile_path(path, CompileOptions(target="host"))
        return ""
    except Error as error:
        return error.code
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < MOST_BYTES


def fill() -> bytes:
    """The sum of 2^40 constants, added to the input."""
    tensors = [
        Tensor("x", (4,)),
        ints("d", SIDE, SIDE),
        ints("axes", 0, 1),
        number("v", 1),
        Tensor("f", (SIDE, SIDE)),
        Tensor("s"),
        Tensor("y", (4,)),
    ]
    ops = [Op("FILL", ["d", "v"], ["f"]), Op("SUM", ["f", "axes"], ["s"], {"keep_dims": False}), Op("ADD", ["x", "s"], ["y"])]
    return model(Graph(tensors, ["x"], ["y"], ops))


def counting() -> bytes:
    """A range of 2^31 - 1 numbers."""
    most = (1 << 31) - 1
    tensors = [Tensor("x", (4,)), *(number(n, v, np.int32) for n, v in (("a", 0), ("b", most), ("c", 1)))]
    tensors += [Tensor("r", (most,), "INT32"), Tensor("y", (most,), "INT32")]
    return model(Graph(tensors, ["x"], ["y"], [Op("RANGE", ["a", "b", "c"], ["r"]), Op("NEG", ["r"], ["y"])]))


def tiles(times: int) -> bytes:
    """A constant that is repeated 2^10 times, and that again."""
    names = ["c", *(f"t{i}" for i in range(times))]
    tensors = [Tensor("x", (4,)), ints("m", 1 << 10), Tensor("c", (4,), data=np.ones(4, np.float32))]
    tensors += [Tensor(name, (min(4 << 10 * (i + 1), 4 << 20),)) for i, name in enumerate(names[1:])]
    return model(Graph(tensors, ["x"], [names[-1]], [Op("TILE", [a, "m"], [b]) for a, b in zip(names, names[1:], strict=False)]))


def product() -> bytes:
    """A product of two constants of 2^30 elements."""
    side = 1 << 15
    square = [Tensor(name, (side, side)) for name in ("x", "b", "y", "z")]
    tensors = [*square, Tensor("one", (1, 1), data=np.ones((1, 1), np.float32)), ints("s", side, side)]
    ops = [Op("BROADCAST_TO", ["one", "s"], ["b"]), Op("BATCH_MATMUL", ["b", "b"], ["y"]), Op("ADD", ["x", "y"], ["z"])]
    return model(Graph(tensors, ["x"], ["z"], ops))


@pytest.mark.parametrize(
    ("data", "code"), [(fill(), ""), (counting(), "E0402"), (tiles(4), "E0203"), (product(), "")], ids=["fill", "range", "tile", "product"]
)
def test_constants_that_are_too_large_stay_ops_or_are_refused(data: bytes, code: str, tmp_path: Path) -> None:
    assert compiled(data, tmp_path / "bomb.tflite") == code


def nested(depth: int, name: str) -> Sequence[Graph]:
    """Graphs of which each calls the next twice."""
    tensors = [Tensor("x", (4,)), Tensor(name, (4,)), Tensor("y", (4,))]
    calls = [[Op("CALL", ["x"], [name], {"subgraph": i}), Op("CALL", [name], ["y"], {"subgraph": i})] for i in range(1, depth)]
    last = [Op("RELU", ["x"], [name]), Op("RELU", [name], ["y"])]
    return [Graph(tensors, ["x"], ["y"], ops) for ops in (*calls, last)]


def test_names_that_hold_the_calls_around_them_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = model(*nested(4, "n" * 100))
    assert compiled(data, tmp_path / "calls.tflite") == ""
    monkeypatch.setattr(walk, "MAX_NAME_CHARACTERS", 2000)
    assert compiled(data, tmp_path / "calls.tflite") == "E0203"
