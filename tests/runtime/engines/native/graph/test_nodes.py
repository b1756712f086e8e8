"""Ops of the host that native code computes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.engines.native.programs import Step, executors, tensor
from ttc.dialects.core.errors import Error
from ttc.runtime.engines.native.execution.plan import NativePlan
from ttc.runtime.executor import Executor


def python_steps(session: Executor) -> int:
    """How many steps of its one graph run in Python."""
    (plan,) = [session.program.plans[graph] for graph in session.program.netlists.executed.graphs]
    assert isinstance(plan, NativePlan)
    return sum(segment.step is not None for segment in plan.prepared.layout.segments)


@pytest.mark.parametrize("op", ["nn.argmax", "nn.argmin"])
@pytest.mark.parametrize("last", [False, True])
def test_places_in_64_bits(op: str, last: bool):
    x = np.array([[1, 3, 3, -2, -2], [np.nan, 1, np.nan, 0, 0], [0, 0, 0, 0, 0]], np.float32)
    attrs = {"axis": 1, "keepdims": False, "select_last": last}
    own, reference = executors({"x": tensor(3, 5)}, {}, [Step("y", op, ("x",), tensor(3, format="Int64"), attrs)], {"y.out": "y"})
    found, expected = own.run({"x": x})["y.out"], reference.run({"x": x})["y.out"]
    assert found.dtype == np.int64
    assert found.tolist() == expected.tolist()
    assert python_steps(own) == 0


def test_gathers_of_labels():
    labels = np.array([10, -(2**40), 7], np.int64)
    steps = [Step("y", "nn.gather", ("labels", "x"), tensor(4, format="Int64"), {"axis": 0})]
    own, _ = executors({"x": tensor(4, format="Int64")}, {"labels": (labels, "Int64")}, steps, {"y.out": "y"})
    assert own.run({"x": np.array([2, 0, 1, 1])})["y.out"].tolist() == [7, 10, -(2**40), -(2**40)]
    assert python_steps(own) == 0
    with pytest.raises(Error, match="E0802"):
        own.run({"x": np.array([2, 0, 1, 3])})
