"""Sessions under load: many threads, a fork between runs, closing, and memory, threads and descriptors over many steps."""

from __future__ import annotations

import os
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tests.runtime.machine.test_checkpoint import walking
from ttc.dialects.core.errors import Error
from ttc.runtime.executor import Executor
from ttc.runtime.machine.session import Session
from ttc.runtime.program import build_program

STEPS = 1000


@pytest.fixture(params=["native", "reference"])
def engine(request: pytest.FixtureRequest) -> str:
    return request.param


def test_a_thousand_concurrent_runs_without_state(counter, engine: str, rng: np.random.Generator):
    netlist, tensors, description = counter
    session = Session(build_program(netlist, description, tensors, engine=engine))
    many = rng.standard_normal((1000, 4)).astype(np.float32)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda x: session.call("double", {"x": x})["z"], many))
    assert np.array_equal(found, many + many)


def test_runs_with_state_come_one_after_the_other(engine: str):
    session, one = Session(walking(engine)), np.ones(4, np.float32)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: session.call("step", {"x": one})["y"][0], range(STEPS)))
    assert sorted(found) == list(range(1, STEPS + 1))
    assert session.states()["s"].tolist() == [STEPS] * 4


def test_a_fork_while_threads_run(engine: str):
    session, one = Session(walking(engine)), np.ones(4, np.float32)
    running, stop = threading.Event(), threading.Event()

    def step() -> None:
        while not stop.is_set():
            session.call("step", {"x": one})
            running.set()

    threads = [threading.Thread(target=step) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        running.wait(30)
        for _ in range(5):
            child = os.fork()
            if child == 0:
                status = 2
                try:
                    before = session.states()["s"][0]
                    status = int(session.call("step", {"x": one})["y"][0] != before + 1)
                finally:
                    os._exit(status)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    before = session.states()["s"]
    assert np.array_equal(session.call("step", {"x": one})["y"], before + 1)


def test_closing_while_threads_run(engine: str):
    executor, one = Executor(walking(engine)), np.ones(4, np.float32)
    running = threading.Event()

    def until_closed() -> str:
        try:
            while True:
                executor.run({"x": one}, "step")
                running.set()
        except Error as error:
            return error.code

    with ThreadPoolExecutor(4) as pool:
        found = [pool.submit(until_closed) for _ in range(4)]
        running.wait(30)
        executor.close()
        assert {future.result(timeout=30) for future in found} == {"E0803"}


def usage() -> tuple[int, int]:
    """Threads and open descriptors of the process."""
    return threading.active_count(), len(list(Path("/proc/self/fd").iterdir()))


def test_steps_leave_nothing_behind(engine: str, tmp_path: Path):
    session, one = Session(walking(engine)), np.ones(4, np.float32)

    def steps(count: int) -> int:
        for _ in range(count):
            session.call("step", {"x": one})
        session.checkpoint(tmp_path / "c")
        session.restore(tmp_path / "c")
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before, held = steps(STEPS), usage()  # what is made once is there now
        after = steps(STEPS)
    finally:
        tracemalloc.stop()
    assert after - before < 4 * STEPS  # bytes: less than an object a step
    assert usage() == held
    assert session.states()["s"].tolist() == [2 * STEPS] * 4
