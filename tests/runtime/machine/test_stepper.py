"""Programs: variables, loops and queue settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.instructions import params_of
from ttc.dialects.netlist.model import Instruction, Program, QueueSetting
from ttc.runtime.machine.limits import Limits, Meter
from ttc.runtime.machine.stepper import Actions, ResolvedSetting, Stepper


class Log(Actions):
    """Notes what a program does."""

    def __init__(self) -> None:
        self.done: list[tuple[Any, ...]] = []
        self.settings: list[Mapping[str, ResolvedSetting]] = []

    def execute(self, graph: str, settings: Mapping[str, ResolvedSetting]) -> None:
        self.done.append(("execute", graph))
        self.settings.append(settings)

    def changed(self, name: str, value: int) -> None:
        self.done.append((name, value))

    def allocate(self, queue: str) -> None:
        self.done.append(("allocate", queue))

    def deallocate(self, queue: str) -> None:
        self.done.append(("deallocate", queue))


def step(opcode: str, *args: str | int, settings: tuple[QueueSetting, ...] = ()) -> Instruction:
    return Instruction(opcode, args, settings)


def stepper(*steps: Instruction) -> Stepper:
    return Stepper(Program("p", (), (), steps))


def run(*steps: Instruction, params: Mapping[str, int] | None = None, limits: Limits | None = None) -> Log:
    log = Log()
    stepper(*steps).run(log, Meter(limits or Limits()), params)
    return log


def last(log: Log, name: str) -> int:
    return [value for key, value in log.done if key == name][-1]


def test_arithmetic():
    log = run(
        *(step("var", "$a", 5), step("var", "$b", 3), step("var", "$c", 0), step("add", "$c", "$a", "$b")),
        *(step("var", "$d", 0), step("mul", "$d", "$c", 2), step("inc", "$d", -1), step("set", "$e", "$d")),
        *(step("incwrap", "$a", 4, 6), step("incwrap", "$b", -5, 8)),
    )
    assert {name: last(log, name) for name in "abcde"} == {"a": 3, "b": 6, "c": 8, "d": 15, "e": 15}


def test_variables_that_are_not_declared_are_zero():
    assert last(run(step("add", "$x", "$x", 3), step("inc", "$x", 1)), "x") == 4


def test_nested_loops():
    log = run(
        *(step("var", "$n", 2), step("loop", "$n"), step("execute", "outer"), step("loop", 3), step("execute", "inner")),
        *(step("endloop"), step("endloop")),
    )
    assert [name for key, name in log.done if key == "execute"] == ["outer", "inner", "inner", "inner"] * 2


def test_static_variables_live_on():
    steps = (step("staticvar", "$s", 7), step("var", "$v", 7), step("inc", "$s", 1), step("inc", "$v", 1))
    again = stepper(*steps)
    logs = [Log(), Log()]
    for log in logs:
        again.run(log, Meter(Limits()))
    assert [last(log, "s") for log in logs] == [8, 9]
    assert (last(logs[1], "v"), again.statics) == (8, {"s": 9})


def test_parameters():
    steps = (step("param", "$p_n"), step("loop", "$p_n"), step("execute", "g"), step("endloop"))
    assert params_of(Program("p", (), (), steps)) == ("p_n",)
    assert run(*steps, params={"p_n": 3}).done.count(("execute", "g")) == 3
    for params in ({}, {"p_m": 1, "p_n": 1}):
        with pytest.raises(Error, match="E0101"):
            run(*steps, params=params)


def test_settings_follow_variables():
    setting = QueueSetting("q", prologue=True, zero="$z", rd_ptr_local="$l", rd_ptr_global="$g", rd_ptr_autoinc="$i")
    log = run(
        *(step("var", "$z", 1), step("var", "$l", 2), step("var", "$g", 3), step("var", "$i", 4)),
        step("execute", "g", settings=(setting, QueueSetting("r", rd_ptr_global=5))),
    )
    found = log.settings[0]
    assert found["q"] == ResolvedSetting("q", True, False, True, 2, 3, None, 4, 0, 0, "g")
    assert found["r"].rd_ptr_global == 5
    assert found["r"].follows is None


def test_allocation():
    assert run(step("allocate", "q"), step("deallocate", "q")).done == [("allocate", "q"), ("deallocate", "q")]


@pytest.mark.parametrize(
    ("steps", "code"),
    [
        ((step("loop", 0), step("endloop")), "E0608"),
        ((step("loop", 2),), "E0608"),
        ((step("endloop"),), "E0608"),
        ((step("loop", "$x"), step("endloop")), "E0608"),
        ((step("var", "$x", 1), step("incwrap", "$x", 1, 0)), "E0608"),
        ((step("jump", 1),), "E0608"),
        ((step("loop", 1 << 40), step("endloop")), "E0805"),
    ],
)
def test_malformed_and_endless_programs(steps: tuple[Instruction, ...], code: str):
    with pytest.raises(Error) as failure:
        run(*steps, limits=Limits(steps=10_000))
    assert failure.value.code == code
