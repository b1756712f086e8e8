"""Memory that small entries have for good: no run sees another's."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import cast

import numpy as np
import pytest

from tests.runtime.engines.native.programs import Step, executors, tensor
from ttc.dialects.core.errors import Error
from ttc.runtime.engines.native.execution.instance import Instance
from ttc.runtime.engines.native.execution.lease import SMALL_BYTES
from ttc.runtime.engines.native.execution.targets import BoundEntry
from ttc.runtime.engines.native.graph.tensors import PlanBuffer, dense
from ttc.runtime.engines.result_memory import has_own_memory


@pytest.mark.parametrize("columns", [7, SMALL_BYTES])
def test_results_are_the_callers_own(columns: int):
    rng = np.random.default_rng(columns)
    type_ = tensor(2, columns)
    steps = [Step("y", "tile.map", ("x",), type_, {"fn": "neg"})]
    own, _ = executors({"x": type_}, {}, steps, {"y.out": "y"})
    given = [rng.standard_normal((2, columns), np.float32) for _ in range(3)]
    found = [own.run({"x": x})["y.out"] for x in given]
    for x, y in zip(given, found, strict=True):
        assert np.array_equal(y, -x)
        assert has_own_memory(y)
        assert y.flags.writeable
    with pytest.raises(Error, match="E0801"):
        own.run({"x": given[0][:, 1:]})


def test_threads_have_memory_of_their_own():
    type_ = tensor(5, 3)
    own, _ = executors({"x": type_}, {}, [Step("y", "tile.map", ("x",), type_, {"fn": "neg"})], {"y.out": "y"})

    def runs(number: int) -> bool:
        x = np.full((5, 3), number, np.float32)
        return all(np.array_equal(own.run({"x": x})["y.out"], -x) for _ in range(200))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(runs, range(8)))


@pytest.mark.parametrize("shape", [(), (3, 4)])
def test_a_variable_that_stays_is_bound_once(shape: tuple[int, ...]):
    type_ = tensor(*shape)
    entry = np.ones(shape, np.float32)
    bound: list[int] = []

    class Recording:
        def bind(self, _: object, address: int) -> None:
            bound.append(address)

    variable = BoundEntry("w", dense(PlanBuffer(entry.nbytes), "f32", type_.shape))
    assert variable.bound(cast("Instance", Recording()), entry) is entry
    assert variable.known() is entry
    assert bound == [entry.ctypes.data]
