"""Parameters that nobody gives a value."""

from __future__ import annotations

from tests.dialects.netlist.buda.test_epochs import CHIP, op_of
from tests.runtime.golden.netlists import queue_of
from ttc.dialects.netlist.model import Graph, Instruction, Netlist, Program, QueueSetting
from ttc.stimulus.parameters import parameters

NAMES = ("p_loop_count", "p_microbatch_count", "p_microbatch_size", "p_zero_grad", "p_cache_write")


def program_of(*names: str) -> Program:
    steps = [Instruction("param", (f"${name}",)) for name in names]
    settings = (QueueSetting("x", rd_ptr_autoinc=1), QueueSetting("w", prologue=True))
    return Program("p", (), (), (*steps, Instruction("execute", ("g",), settings)))


NETLIST = Netlist(
    CHIP,
    {"x": queue_of("x", entries=12), "w": queue_of("w", entries=1)},
    {"g": Graph("g", 0, 4, (op_of("o", "x"),), ())},
    {},
)


def test_values_by_name():
    assert parameters(program_of(*NAMES), NETLIST, {}, {}) == dict(zip(NAMES, (1, 3, 4, 1, 0), strict=True))


def test_what_is_given_comes_first_and_then_what_the_file_says():
    found = parameters(program_of(*NAMES[:3]), NETLIST, {"p_loop_count": 7}, {"loop_count": 8, "microbatch_size": 2})
    assert found == {"p_loop_count": 7, "p_microbatch_count": 3, "p_microbatch_size": 2}


def test_a_program_that_runs_nothing():
    assert parameters(Program("p", (), (), (Instruction("param", ("$p_microbatch_size",)),)), NETLIST, {}, {}) == {"p_microbatch_size": 1}
