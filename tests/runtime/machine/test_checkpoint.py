"""Checkpoints: the way there and back, other targets and formats, and files that are wrong, cut, foreign or hostile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors import safe_open

from tests.runtime.conftest import Builder, op
from tests.runtime.machine.test_session import handing_over, looping
from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import FORMATS
from ttc.dialects.core.plain.functions import TensorType
from ttc.dialects.netlist.model import Argument, Instruction
from ttc.runtime.archive import write_archive
from ttc.runtime.engines.table import engine_named
from ttc.runtime.executor import Executor
from ttc.runtime.loader import load
from ttc.runtime.machine.session import Session
from ttc.runtime.manifest import Description, ManifestVariable
from ttc.runtime.netlists import Netlists
from ttc.runtime.program import Plans, Program, build_program
from ttc.runtime.tensors import Constants, TensorSource

X = np.arange(4, dtype=np.float32)


@pytest.fixture(params=["native", "reference"])
def engine(request: pytest.FixtureRequest) -> str:
    return request.param


def walking(engine: str, dtype: str = "float32", format: str = "Float32", name: str = "s", size: int = 4) -> Program:
    """`step`: s = s + x, y = s * w, of state s (or of another name); `grow`: w = w + w, a parameter."""
    vector = TensorType((size,), format)
    b = Builder()
    b.queue("x", "input", vector)
    for queue, source in (("y", "product"), ("next", "sum"), ("w2", "twice")):
        b.queue(queue, "output", vector, source=source)
    b.queue("s", "state", vector, key="s0")
    b.queue("w", "parameter", vector, key="w0")
    b.graph("g", [op("sum", "add", ["x", "s"], vector), op("product", "mul", ["sum", "w"], vector)], [("product", "y"), ("sum", "next")])
    b.graph("grow_0", [op("twice", "add", ["w", "w"], vector)], [("twice", "w2")])
    x = Argument("x", "input", "x", (size,), dtype)
    update = Argument(name, "state", "next", (size,), dtype, updates=name)
    b.program("step", [x], [replace(x, name="y", queue="y", kind="output"), update], ["g"])
    b.program("grow", [], [replace(update, name="w", kind="parameter", queue="w2", updates="w")], ["grow_0"])
    tensors = {key: TensorSource.of_array(np.full(size, key == "w0", np.float32), format) for key in ("s0", "w0")}
    known = ManifestVariable("s0", (size,), dtype)
    description = Description("walk", "0.1.0", {}, {"w": replace(known, key="w0")}, {name: known})
    return build_program(b.netlist(), description, tensors, engine=engine)


def stepped(session: Session, rng: np.random.Generator, steps: int) -> list[NDArray]:
    found: list[NDArray] = []
    for _ in range(steps):
        found.append(session.call("step", {"x": rng.standard_normal(4).astype(np.float32)})["y"])
        if rng.random() < 0.3:
            session.call("grow", {})
    return found


def test_there_and_back(engine: str, tmp_path: Path, rng: np.random.Generator):
    first, path = Session(walking(engine)), tmp_path / "c.safetensors"
    for _ in range(5):
        stepped(first, rng, int(rng.integers(0, 5)))
        first.checkpoint(path)
        state, before = rng.bit_generator.state, first.states()["s"]
        expected = stepped(first, rng, 4)
        second = Session(walking(engine))
        for session in (second, first):
            session.restore(path)
            assert np.array_equal(session.states()["s"], before)
            rng.bit_generator.state = state
            assert np.array_equal(stepped(session, rng, 4), expected)


def test_it_is_a_file_of_the_library_with_names_of_the_model(engine: str, tmp_path: Path):
    session, path = Session(walking(engine, name="w.s")), tmp_path / "c.safetensors"
    session.call("step", {"x": X})
    session.call("grow", {})
    session.checkpoint(path)
    with safe_open(path, framework="np") as file:
        assert {name: file.get_tensor(name).tolist() for name in file.keys()} == {"states/w.s": X.tolist(), "parameters/w": [2] * 4}  # noqa: SIM118
        head = json.loads(file.metadata()["ttc"])
    assert (head["format_version"], head["producer"], head["model"]) == (1, "ttc 0.1.0", "walk")
    assert os.listdir(tmp_path) == ["c.safetensors"]


def test_a_parameter_and_a_state_may_have_one_name(tmp_path: Path, counter):
    netlist, tensors, description = counter
    description = replace(description, parameters={"counter": ManifestVariable("one", (4,), "float32")})
    session, path = Session(build_program(netlist, description, tensors, engine="reference")), tmp_path / "c"
    session.call("step", {"x": X})
    session.checkpoint(path)
    session.call("step", {"x": X})
    session.restore(path)
    assert session.states()["counter"].tolist() == [1] * 4


PROCESS = """
import sys, numpy as np
from ttc.runtime.loader import load
archive, path, engine, out = sys.argv[1:]
with load(archive, engine=engine) as executor:
    executor.restore(path)
    rng = np.random.default_rng(5)
    np.save(out, [executor.run({"x": rng.standard_normal(4).astype(np.float32)}, "step")["y"] for _ in range(9)])
print("torch" in sys.modules)
"""


def test_another_process_goes_on(engine: str, tmp_path: Path, rng: np.random.Generator):
    program, archive, path, out = walking("reference"), tmp_path / "a.tti", tmp_path / "c", tmp_path / "y.npy"
    write_archive(archive, netlist=program.netlist, tensors=program.constants.sources, description=program.description)
    with load(archive, engine=engine) as executor:
        stepped(executor.session, rng, 7)
        executor.checkpoint(path)
        draws = np.random.default_rng(5)
        expected = [executor.run({"x": draws.standard_normal(4).astype(np.float32)}, "step")["y"] for _ in range(9)]
    command = [sys.executable, "-c", PROCESS, str(archive), str(path), engine, str(out)]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "False\n"
    assert np.array_equal(np.load(out), expected)


def test_parameters_that_were_set_are_kept_and_others_come_back(affine, engine: str, tmp_path: Path):
    netlist, tensors, description = affine
    executor, x = Executor(build_program(netlist, description, tensors, engine=engine)), np.zeros((3, 4), np.float32)
    blank, full = tmp_path / "blank", tmp_path / "full"
    executor.checkpoint(blank)
    executor.set_parameters({"w": np.full(4, 3, np.float32), "b": np.ones(4, np.float32)})
    executor.checkpoint(full)
    for path, expected in ((blank, 5 * 2), (full, (3 * 1 + 3) * 3), (blank, 5 * 2)):
        executor.restore(path)
        assert executor.run({"x": x})["y"].tolist() == [[expected] * 4] * 3


def test_static_variables_go_on(engine: str, tmp_path: Path, counter):
    netlist, tensors, description = counter
    instructions = (Instruction("staticvar", ("$n", 1)), Instruction("inc", ("$n", 1)), Instruction("execute", ("step_0",)))
    netlist.programs["step"] = replace(netlist.programs["step"], instructions=instructions)
    chosen, constants = engine_named(engine, 1), Constants(tensors)
    netlists = Netlists(lambda: netlist, description)
    first, second = (Session(Program(netlists, description, constants, Plans(chosen, netlists, constants))) for _ in range(2))
    for _ in range(3):
        first.call("step", {"x": X})
    first.checkpoint(tmp_path / "c")
    second.restore(tmp_path / "c")
    second.call("step", {"x": X})
    second.checkpoint(tmp_path / "d")
    with safe_open(tmp_path / "d", framework="np") as file:
        assert json.loads(file.metadata()["ttc"])["statics"] == {"step": {"n": 5}}
    assert second.states()["counter"].tolist() == [4] * 4


def test_entries_in_flight_go_on(engine: str, tmp_path: Path):
    first, path = Session(handing_over(engine, entries=3)), tmp_path / "c"
    for k in (1, 2, 3):
        first.call("forward", {"x": X + k})
    first.call("backward", {"g": X})
    first.push("forward", {"x": X + 4})
    first.checkpoint(path)
    second = Session(handing_over(engine, entries=3))
    second.call("forward", {"x": X + 9})
    for session in (first, second):
        session.restore(path)
        session.run("forward")
        assert session.pop("forward")["y"].tolist() == (2 * (X + 4)).tolist()
        for k in (2, 3, 4):
            assert session.call("backward", {"g": X})["z"].tolist() == (X * (X + k)).tolist()
        with pytest.raises(Error, match="holds 0|empty"):
            session.call("backward", {"g": X})
    with pytest.raises(Error) as failure:
        Session(handing_over(engine, entries=1)).restore(path)
    assert failure.value.code == "E0807"


def test_results_that_wait_have_positions_of_their_readers(engine: str, tmp_path: Path):
    first, path = Session(looping(engine)), tmp_path / "c"
    first.push("step", {"i": np.array([[2], [0], [1]], np.int32)})
    first.run("step")
    first.checkpoint(path)
    second = Session(looping(engine))
    second.restore(path)
    assert np.array_equal(second.pop("step")["y"], first.pop("step")["y"])
    assert np.array_equal(second.states()["s"], first.states()["s"])


NUMBERS = [f for f in FORMATS.values() if f.name != "String"]


@pytest.mark.parametrize("format_", NUMBERS, ids=lambda f: f.name)
def test_every_format_survives_bit_by_bit(format_: Any, tmp_path: Path, rng: np.random.Generator):
    drawn = rng.standard_normal(64) * 3 if format_.is_float else rng.integers(0, 2, 64)
    value = format_.round(drawn.astype(format_.compute))
    for dtype in {str(format_.array_dtype), str(format_.compute), "float16" if format_.is_float else "int64"}:
        program = walking("reference", dtype, "Float32", size=64)
        description = replace(program.description, states={"s": ManifestVariable("s0", (64,), dtype)}, parameters={})
        sources = {**program.constants.sources, "s0": TensorSource.of_array(value, format_.name)}
        queues = {
            n: replace(q, tensor=replace(q.tensor, format=format_.name)) if n == "s" else q for n, q in program.netlist.queues.items()
        }
        netlist = replace(program.netlist, queues=queues)
        made = Program(Netlists(lambda netlist=netlist: netlist, description), description, Constants(sources), program.plans)
        session = Session(made)
        variable = session.values.variables["s0"]
        before = variable.value.tobytes()
        session.checkpoint(tmp_path / "c")
        variable.value[...] = 0
        session.restore(tmp_path / "c")
        assert variable.value.tobytes() == before, dtype


def test_dtypes_that_others_read_have_their_names(tmp_path: Path):
    session, path = Session(walking("reference", "bfloat16", "Float16_b")), tmp_path / "c"
    session.call("step", {"x": np.full(4, 1.5, ml_dtypes.bfloat16)})
    session.checkpoint(path)
    with safe_open(path, framework="np") as file:
        assert file.get_slice("states/s").get_dtype() == "BF16"
    fresh = Session(walking("reference", "bfloat16", "Float32"))
    fresh.restore(path)
    assert fresh.states()["s"].tolist() == [1.5] * 4


def test_numbers_that_a_format_cannot_hold_are_an_error(tmp_path: Path):
    session, path = Session(walking("reference", "int64", "Int64")), tmp_path / "c"
    session.assign({}, {"s": np.full(4, 1 << 40)})
    session.checkpoint(path)
    narrow = Session(walking("reference", "int64", "Int32"))
    for change in (lambda: narrow.restore(path), lambda: narrow.assign({}, {"s": np.full(4, 1 << 40)})):
        with pytest.raises(Error) as failure:
            change()
        assert failure.value.code == "E0802"
        assert narrow.states()["s"].tolist() == [0] * 4


@pytest.mark.parametrize("format_", ["Float32", "Float16_b"])
def test_writing_takes_no_copy_and_reading_one(format_: str, tmp_path: Path):
    size = 1 << 20
    session, path = Session(walking("reference", {"Float32": "float32"}.get(format_, "bfloat16"), format_, size=size)), tmp_path / "c"
    whole = sum(variable.value.nbytes for variable in session.values.variables.values())
    session.checkpoint(path)  # loads what it needs
    session.restore(path)
    tracemalloc.start()
    try:
        session.checkpoint(path)
        written = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        session.restore(path)
        read = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert written <= {"Float32": 0.02, "Float16_b": 0.52}[format_] * whole
    assert read <= {"Float32": 1.02, "Float16_b": 2.02}[format_] * whole  # rounding takes two more of the tensor at hand


# ---- files that do not fit -----------------------------------------------------------------------------------------------------------


def test_notes_come_back(engine: str, tmp_path: Path):
    notes = {"update": 7, "rate": 0.5, "schedule": "cosine", "order": (1, 2), "worst": float("inf")}
    session = Session(walking(engine))
    session.checkpoint(tmp_path / "c", notes)
    assert Session(walking(engine)).restore(tmp_path / "c") == notes
    session.checkpoint(tmp_path / "c")
    assert session.restore(tmp_path / "c") == {}
