"""Sessions: states, entry programs, threads, inputs that do not fit."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ttc.dialects.core.errors import Error
from ttc.runtime.archive import write_archive
from ttc.runtime.executor import Executor
from ttc.runtime.loader import load
from ttc.runtime.manifest import ManifestVariable
from ttc.runtime.program import build_program

X = np.arange(4, dtype=np.float32)


@pytest.fixture
def loaded(counter, tmp_path: Path) -> Executor:
    """The counter, through an archive."""
    netlist, tensors, description = counter
    write_archive(tmp_path / "counter.tti", netlist=netlist, tensors=tensors, description=description)
    return load(tmp_path / "counter.tti")


def test_a_state_is_shared_by_two_programs_and_lives_between_runs(loaded: Executor):
    for count in range(3):
        assert loaded.run({}, "peek")["now"].tolist() == [count] * 4
        outputs = loaded.run({"x": X}, "step")
        assert list(outputs) == ["y"]
        assert np.array_equal(outputs["y"], X + count)
    assert loaded.states()["counter"].tolist() == [3] * 4
    loaded.reset()
    assert loaded.run({}, "peek")["now"].tolist() == [0] * 4


def test_sessions_on_one_program_have_states_of_their_own(loaded: Executor):
    other = Executor(loaded.program)
    loaded.run({"x": X}, "step")
    assert other.states()["counter"].tolist() == [0] * 4
    assert loaded.states()["counter"].tolist() == [1] * 4


def test_a_failing_run_leaves_states_alone(loaded: Executor):
    with pytest.raises(Error) as failure:
        loaded.run({"x": X[:2]}, "step")
    assert failure.value.code == "E0801"
    assert loaded.states()["counter"].tolist() == [0] * 4


def test_stateful_runs_are_serialised_and_stateless_ones_are_right(loaded: Executor):
    def one(number: int) -> bool:
        if number % 2:
            loaded.run({"x": X}, "step")
            return True
        return np.array_equal(loaded.run({"x": X + number}, "double")["z"], 2 * (X + number))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(one, range(200)))
    assert loaded.states()["counter"].tolist() == [100] * 4


def test_outputs_belong_to_the_caller(loaded: Executor):
    now = loaded.run({}, "peek")["now"]
    now += 7
    assert loaded.run({}, "peek")["now"].tolist() == [0] * 4


def test_calling_takes_and_gives_arrays_in_order(loaded: Executor):
    (z,) = loaded(X, program="double")
    assert np.array_equal(z, 2 * X)
    with pytest.raises(Error, match="takes 1 inputs, not 2") as failure:
        loaded(X, X, program="double")
    assert failure.value.code == "E0801"


def test_a_closed_session_runs_nothing(loaded: Executor):
    with loaded as session:
        session.run({}, "peek")
    with pytest.raises(Error) as failure:
        loaded.run({}, "peek")
    assert failure.value.code == "E0803"


@pytest.mark.parametrize(
    ("inputs", "program", "code", "text"),
    [
        ([np.zeros(1)], "step", "E0801", "inputs are arrays by name, not a list"),
        (np.zeros(1), "step", "E0801", "inputs are arrays by name, not a ndarray"),
        ({}, "step", "E0801", "lacks its input x"),
        ({"x": X, "w": X}, "step", "E0801", "no input 'w'"),
        ({"x": X.astype(np.float64)}, "step", "E0801", r"float64, not float32"),
        ({"x": X.reshape(1, 4)}, "step", "E0801", r"\[1, 4\], not \[4\]"),
        ({"x": np.array([1, "a", None, {}], object)}, "step", "E0801", "object"),
        ({"x": [1.0, [2.0]]}, "step", "E0801", "does not make an array"),
        ({"x": X}, "stepp", "E0803", "no program 'stepp'"),
    ],
)
def test_inputs_that_do_not_fit(loaded: Executor, inputs, program, code, text):
    with pytest.raises(Error, match=text) as failure:
        loaded.run(inputs, program)
    assert failure.value.code == code


@pytest.mark.parametrize("value", [[0.0, 1.0, 2.0, 3.0], [0, 1, 2, 3], np.arange(8, dtype=np.float32)[::2] / 2, X.astype(">f4")])
def test_inputs_that_fit(loaded: Executor, value):
    assert np.array_equal(loaded.run({"x": value}, "double")["z"], 2 * X)


def test_a_streamed_input_is_cut_into_microbatches(affine):
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    executor = Executor(build_program(*reordered(affine)))
    assert np.array_equal(executor.run({"x": x})["y"], (x + 5) * 2)


def test_a_result_may_update_a_parameter(affine):
    netlist, description, tensors = reordered(affine)
    executor = Executor(build_program(netlist, replace(description, derived=()), tensors))
    x = np.zeros((3, 4), np.float32)
    assert executor.run({}, "grow") == {}
    assert executor.run({"x": x})["y"].tolist() == [[(0 + 5) * 4] * 4] * 3
    executor.reset()
    assert executor.run({"x": x})["y"].tolist() == [[(0 + 5) * 2] * 4] * 3


def test_a_parameter_of_another_size_than_its_tensor_is_an_error(affine):
    netlist, description, tensors = reordered(affine)
    variable = ManifestVariable("w", (2, 4), "float32")
    with pytest.raises(Error) as failure:
        build_program(netlist, replace(description, parameters={"w": variable}, derived=()), tensors).with_parameters(
            {"w": np.zeros((2, 4), np.float32)}
        )
    assert failure.value.code == "E0703"


def reordered(case):
    netlist, tensors, description = case
    return netlist, description, tensors


def test_a_stream_gives_results_in_order_and_may_reuse_its_arrays(loaded: Executor):
    shared = np.zeros(4, np.float32)

    def inputs() -> Iterator[dict[str, np.ndarray]]:
        for number in range(20):
            shared[:] = number
            yield {"x": shared}

    assert [int(outputs["z"][0]) for outputs in loaded.run_many(inputs(), "double")] == [2 * n for n in range(20)]
    assert [int(outputs["y"][0]) for outputs in loaded.run_many(inputs(), "step")] == [2 * n for n in range(20)]


def test_a_stream_fails_where_its_inputs_do(loaded: Executor):
    stream = loaded.run_many([{"x": X}, {"x": X[:2]}, {"x": X}], "double")
    assert np.array_equal(next(stream)["z"], 2 * X)
    with pytest.raises(Error) as failure:
        next(stream)
    assert failure.value.code == "E0801"


def test_outputs_of_one_run_are_not_those_of_the_next(loaded: Executor):
    first = loaded.run({"x": X}, "double")["z"]
    kept = first.copy()
    loaded.run({"x": X + 1}, "double")["z"][:] = 0
    assert np.array_equal(first, kept)
