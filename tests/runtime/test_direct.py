"""Programs that run without queues."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.runtime.conftest import VECTOR, Builder, op
from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.model import Argument, Netlist
from ttc.runtime.direct import direct_entry
from ttc.runtime.executor import Executor
from ttc.runtime.machine.surface import surface_of
from ttc.runtime.manifest import Description
from ttc.runtime.program import build_program


def streamed(count: int, entries: int) -> Netlist:
    """y = x + x, row by row of x[count, 4]."""
    b = Builder()
    b.queue("x", "input", VECTOR, entries=entries)
    b.queue("y", "output", VECTOR, entries=entries, source="add")
    b.graph("forward_0", [op("add", "add", ["x", "x"], VECTOR)], [("add", "y")], input_count=count)
    x = Argument("x", "input", "x", (count, 4), "float32", streamed=True)
    b.program("forward", [x], [replace(x, name="y", kind="output", queue="y")], ["forward_0"])
    return b.netlist()


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_microbatches_need_no_queues(engine: str):
    netlist = streamed(5, 5)
    entry = direct_entry(netlist.programs["forward"], surface_of(netlist))
    assert entry is not None
    assert entry.count == 5
    session = Executor(build_program(netlist, Description("test", "0.1.0", {}), {}, engine=engine))
    x = np.random.default_rng(5).standard_normal((5, 4), np.float32)
    first, second = session.run({"x": x})["y"], session.run({"x": x.tolist()})["y"]
    assert np.array_equal(first, x + x)
    assert np.array_equal(second, x + x)
    assert not np.shares_memory(first, second)
    with pytest.raises(Error, match=r"\[4, 4\], not \[5, 4\]"):
        session.run({"x": x[1:]})


def test_queues_that_do_not_hold_a_run_are_used_as_they_are():
    """A run then ends in the error of the queue that is full."""
    netlist = streamed(5, 3)
    assert direct_entry(netlist.programs["forward"], surface_of(netlist)) is None
