"""Threads: every task once, alone or together, after a fork, and when many ask at a time."""

from __future__ import annotations

import ctypes
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest
from numpy.typing import NDArray

from ttc.dialects.core.plain.functions import TensorType, Work
from ttc.dialects.netlist.model import Host, Op
from ttc.runtime.engines.native.codegen.code import compiled
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.execution import pool as pools
from ttc.runtime.engines.native.execution.instance import Instance
from ttc.runtime.engines.native.execution.pool import KERNELS, Pool, Team, join_team, pool_of
from ttc.runtime.engines.native.graph.nodes import Node
from ttc.runtime.engines.native.graph.tensors import Place, PlanBuffer, View, dense
from ttc.runtime.engines.native.jobs.job import Job
from ttc.runtime.engines.native.kernels.kernel import Kernel
from ttc.runtime.engines.native.planning.arena import Arena
from ttc.runtime.engines.native.planning.template import template_of
from ttc.runtime.pages import aligned_words

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.writer import Writer

NODE = Node(Work("tile.test", (), {}, (TensorType((1,), "Float32"),)), Op("op", "test", (), Host(), None, None), (), (0,))  # pyright: ignore


@dataclass(frozen=True)
class Count(Kernel):
    """Adds to each task's element twice what the element of the job before is, and 1."""

    def emit(self, f: Writer) -> None:
        before, own = f.pointer(0), f.pointer(1)
        with f.loop(f.begin, f.end) as task:
            place = f.at(own, task, "i64")
            f.store(f.load(place, "i64") + f.load(f.at(before, task, "i64"), "i64") * 2 + 1, place)


@dataclass(frozen=True)
class First(Kernel):
    """Puts the number of the first task of a call into the element of each of its tasks."""

    def emit(self, f: Writer) -> None:
        with f.loop(f.begin, f.end) as task:
            f.store(f.begin, f.at(f.pointer(1), task, "i64"))


class Chain:
    """A chain of jobs, each of which needs all of the one before."""

    def __init__(self, threads: int, jobs: int, tasks: int, kernel: Kernel = Count(), chunk: int = 0) -> None:
        self.code = code = compiled([*KERNELS, kernel], host_cpu())
        self.pool = Pool(threads, code)
        self.rows = [aligned_words(tasks) for _ in range(jobs + 1)]
        views = [self._view(row) for row in self.rows]
        listed = [Job(kernel, (a, b), tasks, (b,), NODE, chunk) for a, b in zip(views, views[1:], strict=False)]
        template = template_of(listed, threads)
        self.instance = Instance(template, Arena({}, 0), code.addresses, threads)
        self.segment = self.instance.segment(0, jobs)

    def _view(self, row: NDArray) -> View:
        return dense(PlanBuffer(row.nbytes, Place.CONSTANT, array=row), "i64", row.shape)

    def run(self) -> bool:
        """Whether every task of every job was computed once, after all of the job before."""
        for row in self.rows:
            row[:] = 0
        self.instance.rewind()
        self.pool.run(self.segment.ctypes.data)
        return all((row == 2**number - 1).all() for number, row in enumerate(self.rows))


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("tasks", [1, 3, 1000])
def test_jobs_wait_for_the_job_before(threads: int, tasks: int):
    chain = Chain(threads, 20, tasks)
    assert all(chain.run() for _ in range(50))


@pytest.mark.parametrize(("tasks", "chunk", "firsts"), [(10, 2, [0, 0, 2, 2, 4, 5, 5, 7, 7, 9]), (3, 8, [0, 1, 1])])
def test_threads_have_the_same_shares_of_all_jobs(tasks: int, chunk: int, firsts: list[int]):
    chain = Chain(2, 5, tasks, First(), chunk)
    for _ in range(20):
        chain.run()
        assert all(row.tolist() == firsts for row in chain.rows[1:])


def test_workers_that_sleep_wake_up():
    import time

    chain = Chain(3, 5, 100)
    assert chain.run()
    time.sleep(0.05)
    assert chain.run()


def test_a_run_waits_for_no_worker_that_has_no_core():
    chain = Chain(3, 20, 100)
    without_workers = chain.pool._new_memory(3)
    chain.pool._address, chain.pool._pid = without_workers.ctypes.data, os.getpid()
    assert all(chain.run() for _ in range(5))


def test_runs_at_the_same_time_are_right():
    chains = [Chain(2, 10, 50) for _ in range(4)]
    for chain in chains:
        chain.pool = chains[0].pool
    with ThreadPoolExecutor(4) as callers:
        for _ in range(50):
            assert all(callers.map(Chain.run, chains))


def test_a_child_process_has_workers_of_its_own():
    chain = Chain(2, 10, 200)
    assert chain.run()
    child = os.fork()
    if child == 0:
        os._exit(0 if chain.run() and chain.run() else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert np.array_equal(chain.rows[0], np.zeros(200, np.int64))
    assert chain.run()


@pytest.fixture
def team() -> Team:
    try:
        found = Team.of(ctypes.CDLL("libgomp.so.1"))
    except OSError:
        pytest.skip("this machine has no libgomp")
    assert found is not None
    return found


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("tasks", [1, 3, 1000])
def test_jobs_on_a_team_wait_for_the_job_before(team: Team, threads: int, tasks: int):
    chain = Chain(threads, 20, tasks)
    chain.pool.join(team)
    assert all(chain.run() for _ in range(50))


def test_a_team_that_is_smaller_than_asked_for_does_all(team: Team):
    library = ctypes.CDLL("libgomp.so.1")
    most = library.omp_get_thread_limit()
    chain = Chain(4, 20, 100)
    chain.pool.join(team)
    inside: list[bool] = []
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

    @call
    def nested(_: int) -> None:  # a region inside of another has one thread
        inside.append(chain.run())

    library.omp_set_max_active_levels(1)
    library.GOMP_parallel(nested, None, 2, 0)
    assert most >= 2
    assert any(inside)


def test_a_child_process_has_no_team(team: Team):
    chain = Chain(2, 10, 200)
    chain.pool.join(team)
    assert chain.run()
    child = os.fork()
    if child == 0:
        os._exit(0 if chain.run() and chain.run() else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert chain.run()


def test_runs_at_the_same_time_on_a_team_are_right(team: Team):
    chains = [Chain(2, 10, 50) for _ in range(4)]
    for chain in chains:
        chain.pool = chains[0].pool
    chains[0].pool.join(team)
    with ThreadPoolExecutor(4) as callers:
        for _ in range(50):
            assert all(callers.map(Chain.run, chains))


def test_a_library_without_openmp_has_no_team():
    assert Team.of(ctypes.CDLL("libm.so.6")) is None


def test_pools_of_the_process_join(team: Team, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pools, "_POOLS", {})
    monkeypatch.setattr(pools, "_TEAMS", [])
    chain = Chain(3, 10, 200)
    before = pool_of(2, chain.code)
    join_team(team)
    for pool in (before, pool_of(3, chain.code)):
        chain.pool = pool
        assert chain.run()
        assert pool._address == 0, "no workers were started"
