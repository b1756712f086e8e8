"""Steps in Python that are bound to the memory of an instance: the numbers of the reference engine, run after run, and its errors."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.runtime.engines.native.programs import Step, executors, tensor
from ttc.dialects.core.errors import Error
from ttc.runtime.executor import Executor

X, KEEP, SOME, INDEX = tensor(6, 4), tensor(6, format="Bool"), tensor(-1, 4), tensor(-1, format="Int64")
STEPS = [
    Step("twice", "tile.map", ("x", "x"), X, {"fn": "add"}),
    Step("some", "nn.compress", ("twice", "keep"), SOME, {"axis": 0}),
    Step("places", "nn.non_zero", ("keep",), tensor(1, -1, format="Int64")),
    Step("flat", "nn.reshape", ("places",), INDEX, {"shape": (-1,)}),
    Step("picked", "nn.gather", ("x", "flat"), SOME, {"axis": 0}),
    Step("sum", "nn.add", ("some", "picked"), SOME),
    Step("count", "nn.shape", ("sum",), tensor(2, format="Int64")),
    Step("back", "nn.scatter_nd", ("twice", "pairs", "sum"), X, {"reduction": "none"}),
    Step("half", "tile.map", ("back", "back"), X, {"fn": "mul"}),
]
STEPS.insert(7, Step("pairs", "nn.reshape", ("flat",), tensor(-1, 1, format="Int64"), {"shape": (-1, 1)}))
OUTPUTS = {"half.out": "half", "some.out": "some", "count.out": "count", "flat.out": "flat"}


@pytest.fixture
def both() -> tuple[Executor, Executor]:
    return executors({"x": X, "keep": KEEP}, {}, STEPS, OUTPUTS)


def test_runs_give_what_the_reference_engine_does(both: tuple[Executor, Executor], rng: np.random.Generator):
    own, reference = both
    earlier = []
    for count in (3, 0, 6, 1, 3):
        given = {"x": rng.standard_normal((6, 4), np.float32), "keep": rng.permutation(np.arange(6) < count)}
        found, wanted = own.run(given), reference.run(given)
        earlier.append((found, wanted))
        assert {name: array.dtype for name, array in found.items()} == {name: array.dtype for name, array in wanted.items()}
    for found, wanted in earlier:  # later runs have written over nothing
        for name, array in found.items():
            np.testing.assert_array_equal(array, wanted[name])


def test_runs_beside_each_other(both: tuple[Executor, Executor], rng: np.random.Generator):
    own, reference = both
    given = [{"x": rng.standard_normal((6, 4), np.float32), "keep": np.arange(6) < count} for count in range(7)] * 4
    with ThreadPoolExecutor(4) as pool:
        for found, one in zip(pool.map(own.run, given), given, strict=True):
            for name, array in reference.run(one).items():
                np.testing.assert_array_equal(found[name], array)


def test_errors_name_the_op_and_leave_the_next_run_as_it_is():
    steps = [
        Step("moved", "tile.map", ("place", "place"), tensor(2, format="Int64"), {"fn": "add"}),
        Step("y", "nn.gather", ("labels", "moved"), tensor(2, format="String"), {"axis": 0}),
        Step("labels", "ttc.constant", (), tensor(5, format="String"), {"values": tuple("abcde")}),
    ]
    own, _ = executors({"place": tensor(2, format="Int64")}, {}, [steps[2], *steps[:2]], {"y.out": "y"})
    for _ in range(2):
        assert own.run({"place": np.array([0, 2])})["y.out"].tolist() == ["a", "e"]
        with pytest.raises(Error, match="index 6 is outside a dimension of 5") as caught:
            own.run({"place": np.array([0, 3])})
        assert (caught.value.code, caught.value.where) == ("E0802", "y")


def test_a_result_of_another_shape_than_announced_is_refused():
    """An archive may lie: the reference engine says so."""
    steps = [
        Step("some", "nn.compress", ("x", "keep"), tensor(2, 4), {"axis": 0}),
        Step("y", "tile.map", ("some", "some"), tensor(2, 4), {"fn": "add"}),
    ]
    own, _ = executors({"x": X, "keep": KEEP}, {}, steps, {"y.out": "y"})
    x = np.ones((6, 4), np.float32)
    assert own.run({"x": x, "keep": np.arange(6) < 2})["y.out"].tolist() == [[2.0] * 4] * 2
    with pytest.raises(Error) as caught:
        own.run({"x": x, "keep": np.arange(6) < 3})
    assert caught.value.code in ("E0602", "E0609", "E0802")


def test_what_is_not_a_number_warns_nobody(rng: np.random.Generator, recwarn: pytest.WarningsRecorder):
    steps = [
        Step("some", "nn.compress", ("x", "keep"), SOME, {"axis": 0}),
        Step("root", "nn.sqrt", ("some",), SOME),
        Step("y", "nn.div", ("root", "some"), SOME),
    ]
    native = Step("z", "tile.map", ("x", "x"), X, {"fn": "add"})
    own, _ = executors({"x": X, "keep": KEEP}, {}, [native, *steps], {"y.out": "y", "z.out": "z"})
    found = own.run({"x": np.array([[-1, 0, 1, 4]] * 6, np.float32), "keep": np.ones(6, bool)})["y.out"]
    np.testing.assert_array_equal(found[0], [np.nan, np.nan, 1, 0.5])
    assert not recwarn.list
