"""The memory that a process can have, and programs that plan for more."""

from __future__ import annotations

import resource
from pathlib import Path

import numpy as np
import pytest
from onnx import helper, numpy_helper, save

import ttc
from ttc.compiler.driver import compile_path
from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.netlist.model import Graph, Host, Op
from ttc.options import CompileOptions
from ttc.runtime.engines import room
from ttc.runtime.engines.room import MOST_COMPUTED, SMALL_BYTES, memory_bytes, require_memory, require_results, type_bytes
from ttc.runtime.loader import load

MEMINFO = "MemTotal:  1000 kB\nMemFree: 7 kB\nSwapTotal: 24 kB\n"


@pytest.mark.parametrize(
    ("group", "limits", "most"),
    [
        ("max", {}, 1 << 20),
        ("4096", {}, 4096),
        ("max", {resource.RLIMIT_AS: 5000}, 5000),
        ("6000", {resource.RLIMIT_AS: 8000, resource.RLIMIT_DATA: 7000}, 6000),
    ],
)
def test_the_least_of_all_limits_counts(
    group: str, limits: dict[int, int], most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (limits.get(kind, resource.RLIM_INFINITY),) * 2)
    (tmp_path / "meminfo").write_text(MEMINFO)
    (tmp_path / "memory.max").write_text(group)
    assert memory_bytes(tmp_path / "meminfo", tmp_path / "memory.max") == most


def test_a_system_that_says_nothing_has_all_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    assert memory_bytes(tmp_path / "none", tmp_path / "none") == 1 << 47


def test_bytes_of_tensors() -> None:
    assert type_bytes(TensorType((2, 3), "Float32", "rows")) == 24
    assert type_bytes(TensorType((-1, 3), "Int64", "rows")) == 24
    assert type_bytes(TensorType((2, 0), "Bfp8_b", "rows")) == 8


def test_a_refusal_says_how_much_there_is_of_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "memory_bytes", lambda: 1 << 25)
    require_memory(1 << 25, "a run")
    with pytest.raises(Error) as caught:
        require_memory((1 << 25) + 1, "a run", "net")
    assert (caught.value.code, caught.value.where) == ("E0104", "net")
    assert caught.value.message == "there is not enough memory: a run takes 33,554,433 bytes, and this process can have 33,554,432"


def test_small_programs_do_not_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(room, "memory_bytes", lambda: asked.append(0) or 0)
    require_memory(SMALL_BYTES, "a run")
    assert not asked
    with pytest.raises(Error):
        require_memory(SMALL_BYTES + 1, "a run")
    assert len(asked) == 1


def archive(folder: Path, side: int, *, joined: bool = True) -> Path:
    """Adds the sum of side * side constants to x[4], or gives the constants themselves."""
    fill = helper.make_node("ConstantOfShape", ["s"], ["c" if joined else "y"], name="fill")
    nodes = [helper.make_node("ReduceSum", ["c"], ["r"], keepdims=0), helper.make_node("Add", ["x", "r"], ["y"])]
    inputs = [helper.make_tensor_value_info("x", 1, [4])]
    outputs = [helper.make_tensor_value_info("y", 1, None)]
    if not joined:
        nodes = [helper.make_node("Relu", ["x"], ["z"])]
        outputs.append(helper.make_tensor_value_info("z", 1, None))
    shape = numpy_helper.from_array(np.array([side, side]), "s")
    graph = helper.make_graph([fill, *nodes], "g", inputs, outputs, [shape])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), folder / "m.onnx")
    compile_path(folder / "m.onnx", CompileOptions(target="host")).save(folder / "m.tti")
    return folder / "m.tti"


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("joined", [True, False])
def test_a_fill_of_2_to_the_40_is_refused_when_it_is_loaded(engine: str, joined: bool, tmp_path: Path) -> None:
    path = archive(tmp_path, 1 << 20, joined=joined)
    with pytest.raises(Error, match="a value in it takes 4,398,046,511,104 bytes, and (this|values)") as caught:
        load(path, engine=engine)
    assert (caught.value.code, str(caught.value.where).split(" + ")[0]) == ("E0104", "fill")


def test_values_that_no_memory_holds_may_be_larger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "memory_bytes", lambda: SMALL_BYTES)

    def graph(size: int) -> Graph:
        type_ = TensorType((size,), "Float32")
        work = Work("tile.map", (0,), {"fn": "identity"}, (type_,))
        op = Op("wide", "map", ("x",), Host(), None, Function((TensorType((1,), "Float32"),), (work,), (1,)))
        return Graph("g", 0, 1, (op,), ())

    require_results(graph(MOST_COMPUTED // 4), held=False)
    for size, held in ((SMALL_BYTES // 4 + 1, True), (MOST_COMPUTED // 4 + 1, False)):
        with pytest.raises(Error) as caught:
            require_results(graph(size), held=held)
        assert (caught.value.code, caught.value.where) == ("E0104", "wide")


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_a_program_that_was_kept_is_refused_where_memory_is_short(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = archive(tmp_path, 8192, joined=False)  # more than constants are evaluated for: the fill stays an op
    with ttc.load(path, engine=engine) as executor:
        assert executor.run({"x": np.ones(4, np.float32)})["z"].tolist() == [1] * 4
    monkeypatch.setattr(room, "memory_bytes", lambda: 1 << 27)
    with pytest.raises(Error, match="there is not enough memory: .* takes 268,.* this process can have 134,217,728") as caught:
        load(path, engine=engine)
    assert caught.value.code == "E0104"
