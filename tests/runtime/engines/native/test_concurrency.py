"""Many runs at a time, threads, forks, the end of the process; memory that is given back."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runtime.engines.native.programs import Step, network, program, tensor
from ttc.dialects.core.errors import Error
from ttc.runtime.engines.native.execution.plan import NativePlan
from ttc.runtime.executor import Executor
from ttc.runtime.pages import aligned_bytes
from ttc.runtime.program import build_program

ROOT = Path(__file__).parents[4]
INPUTS = [np.random.default_rng(seed).standard_normal((6, 33)).astype(np.float32) for seed in range(5)]


@pytest.fixture(scope="module")
def session() -> Executor:
    return Executor(network("native"))


@pytest.fixture(scope="module")
def alone(session: Executor) -> list[np.ndarray]:
    """Results of runs that nothing disturbs."""
    return [session.run({"x": x})["y"] for x in INPUTS]


def test_a_thousand_runs_on_eight_threads_are_as_one_alone(session: Executor, alone: list[np.ndarray]):
    def same(number: int) -> bool:
        return np.array_equal(session.run({"x": INPUTS[number % 5]})["y"], alone[number % 5])

    with ThreadPoolExecutor(8) as callers:
        assert all(callers.map(same, range(1000)))


def test_runs_that_share_out_their_work_on_eight_threads(rng: np.random.Generator):
    type_ = tensor(2048, 64)
    made = program({"x": type_}, {}, [Step("s", "tile.softmax", ("x",), type_, {"axis": -1})], {"y": "s"}, "native")
    plan = made.plans["g"]
    assert isinstance(plan, NativePlan)
    assert [segment.alone for segment in plan.prepared.layout.segments] == [False]
    given = [rng.standard_normal(type_.shape, np.float32) for _ in range(3)]
    large = Executor(made)
    expected = [large.run({"x": x})["y"] for x in given]
    with ThreadPoolExecutor(8) as callers:
        assert all(callers.map(lambda n: np.array_equal(large.run({"x": given[n % 3]})["y"], expected[n % 3]), range(200)))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_do_not_depend_on_the_number_of_threads(threads: int, alone: list[np.ndarray]):
    other = Executor(network("native", threads))
    assert all(np.array_equal(other.run({"x": x})["y"], y) for x, y in zip(INPUTS, alone, strict=True))


def test_large_results_do_not_depend_on_the_number_of_threads():
    x, w = (np.random.default_rng(seed).standard_normal((257, 257)).astype(np.float32) for seed in (1, 2))
    plain = {"transpose_a": False, "transpose_b": False}
    whole, row = tensor(257, 257), tensor(257)
    steps = [
        Step("z", "tile.matmul", ("x", "w"), whole, plain),
        Step("n", "tile.layer_norm", ("z",), whole, {"axis": -1, "eps": 1e-5}),
        Step("sums", "tile.reduce", ("n",), row, {"fn": "sum", "axes": (0,), "keepdims": False}),
        Step("all", "tile.reduce", ("z",), tensor(), {"fn": "mean", "axes": (0, 1), "keepdims": False}),
        Step("p", "tile.softmax", ("n",), whole, {"axis": 0}),
    ]
    outputs = {"a": "sums", "b": "all", "c": "p"}
    found = [
        Executor(program({"x": whole}, {"w": (w, "Float32")}, steps, outputs, "native", threads)).run({"x": x}) for threads in (1, 2, 5)
    ]
    assert all(np.array_equal(found[0][name], other[name]) for other in found[1:] for name in outputs)


def test_sessions_of_a_program_share_packed_weights(session: Executor):
    other = Executor(session.program)
    plan = session.program.plans["g"]
    assert isinstance(plan, NativePlan)
    assert other.program.plans["g"] is plan
    packed = {id(view.buffer.array) for job in plan.jobs() for view in job.read if view.is_constant}
    assert len(packed) >= 2
    changed = session.program.with_parameters({})
    assert changed.plans["g"] is plan


# ---- forks -----------------------------------------------------------------------------------------------------------------------------


def _ends_well(child: int) -> bool:
    return os.waitpid(child, 0)[1] == 0


def _exit_if(same: bool) -> None:
    os._exit(0 if same else 1)


def test_memory_is_not_shared_with_a_forked_child() -> None:
    memory = aligned_bytes(4 << 20)
    child = os.fork()
    if not child:
        memory[:] = 1
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert not memory.any()


def test_a_forked_child_runs_too(session: Executor, alone: list[np.ndarray]):
    child = os.fork()
    if child == 0:
        _exit_if(all(np.array_equal(session.run({"x": x})["y"], y) for x, y in zip(INPUTS, alone, strict=True)))
    assert _ends_well(child)
    assert np.array_equal(session.run({"x": INPUTS[0]})["y"], alone[0])


def test_children_forked_in_the_midst_of_runs_are_not_stuck(session: Executor, alone: list[np.ndarray]):
    ended = threading.Event()

    def work() -> None:
        while not ended.is_set():
            session.run({"x": INPUTS[1]})

    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    try:
        for _ in range(20):
            child = os.fork()
            if child == 0:
                _exit_if(all(np.array_equal(session.run({"x": INPUTS[i]})["y"], alone[i]) for i in (0, 1)))
            assert _ends_well(child)
    finally:
        ended.set()
        for worker in workers:
            worker.join()


def test_a_child_forked_in_a_run_that_changes_a_state_is_not_stuck(counter: tuple[Any, ...]):
    netlist, tensors, description = counter
    session = Executor(build_program(netlist, description, tensors, engine="native", threads=2))
    x = np.zeros(4, np.float32)
    entered, done = threading.Event(), threading.Event()

    def hold() -> None:
        with session.session._changed:
            entered.set()
            done.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    assert entered.wait(60)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        _exit_if(session.run({"x": x}, "step")["y"].tolist() == [0] * 4)
    done.set()
    holder.join()
    assert _ends_well(child)
    assert session.states()["counter"].tolist() == [0] * 4


# ---- failures --------------------------------------------------------------------------------------------------------------------------


def test_a_run_that_fails_leaves_the_session_as_it_was():
    steps = [
        Step("a", "tile.map", ("x",), tensor(4), {"fn": "exp"}),
        Step("rows", "nn.gather", ("a", "i"), tensor(3), {"axis": 0}),
        Step("y", "tile.map", ("rows",), tensor(3), {"fn": "neg"}),
    ]
    made = program({"x": tensor(4), "i": tensor(3, format="Int64")}, {}, steps, {"y.out": "y"}, "native")
    assert isinstance(made.plans["g"], NativePlan)
    executor, x = Executor(made), np.arange(4, dtype=np.float32)
    good = {"x": x, "i": np.array([3, 0, 1])}
    first = executor.run(good)["y.out"]

    def one(number: int) -> bool:
        if number % 3:
            return np.array_equal(executor.run(good)["y.out"], first)
        with pytest.raises(Error) as failure:
            executor.run({"x": x, "i": np.array([0, 4, 0])})
        return failure.value.code == "E0802"

    with ThreadPoolExecutor(4) as callers:
        assert all(callers.map(one, range(200)))
    np.testing.assert_allclose(first, -np.exp(x[[3, 0, 1]]), rtol=1e-6)


# ---- memory ----------------------------------------------------------------------------------------------------------------------------


def test_an_idle_session_that_is_dropped_gives_its_memory_back():
    executor = Executor(network("native", seed=11))
    executor.run({"x": INPUTS[0]})
    plan = executor.program.plans["g"]
    assert isinstance(plan, NativePlan)
    plan.run({"x": INPUTS[0]})  # not by the prepared call of the session
    held = [weakref.ref(plan), weakref.ref(plan._free[0].instance)]
    held += [weakref.ref(view.buffer) for job in plan.jobs() for view in job.read if view.is_constant]
    del executor, plan
    gc.collect()
    assert [reference() for reference in held] == [None] * len(held)


_LOADS = """
import gc, os, sys
from tests.runtime.engines.native.programs import network
from ttc.runtime.executor import Executor
import numpy as np

def resident():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")

def mapped():
    return sum(1 for _ in open("/proc/self/maps"))

x = np.ones((6, 33), np.float32)
for count in range(200):
    with Executor(network("native")) as session:
        session.run({"x": x})
    if count == 40:
        before, maps, threads = resident(), mapped(), len(os.listdir("/proc/self/task"))
print(resident() - before, mapped() - maps, len(os.listdir("/proc/self/task")) - threads)
"""


def test_loading_again_and_again_takes_no_more_memory():
    grown, maps, threads = map(int, _python(_LOADS).split())
    assert grown < 4 << 20
    assert maps < 8
    assert threads == 0


# ---- the end of the process ------------------------------------------------------------------------------------------------------------

_AT_END = """
import atexit, threading
from tests.runtime.engines.native.programs import network
from ttc.runtime.executor import Executor
import numpy as np

session = Executor(network("native", 4))
x = np.ones((6, 33), np.float32)
first = session.run({"x": x})["y"]
atexit.register(lambda: print("same" if np.array_equal(session.run({"x": x})["y"], first) else "other"))

class Late:
    def __del__(self):
        session.run({"x": x})

late = Late()
def for_ever():
    while True:
        session.run({"x": x})
threading.Thread(target=for_ever, daemon=True).start()
session.run({"x": x})
"""


def test_runs_while_the_process_ends():
    for _ in range(3):
        assert _python(_AT_END) == "same\n"


def _python(text: str) -> str:
    """What a new process prints; it ends well."""
    place = "import sys, types; tests = types.ModuleType('tests'); tests.__path__ = [sys.argv[1]]; sys.modules['tests'] = tests\n"
    ran = subprocess.run(
        [sys.executable, "-c", place + text, str(ROOT / "tests")],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, (ran.returncode, ran.stderr[-2000:])
    return ran.stdout
