"""The code that threads run: the walk over a job list, and the wait for the next one.

Memory of a pool, in words of 8 bytes (each group on a cache line of its own):
    0 generation: grows by one with each run          8 arrived: threads at barriers, ever growing
   16 sleepers: workers in the kernel                17 threads of the present run     18 address of the present run
   19 arrived when it began                          20 libc's syscall                 21 its number of futex    22 stop
   23 libc's sched_yield
   24 OpenMP's GOMP_parallel  25 its omp_get_thread_num  26 its omp_get_num_threads  27 address of `Member`
Memory of a run:
    0 address of jobs   1 number of jobs   2 address of counters (0 at the start)   3 scratch   4 bytes of scratch a thread
    5 words from a thread's counters, one a job, to the next thread's
A job, `JOB_WORDS` words:
    0 address of the kernel   1 address of its words   2 tasks   3 tasks a thread takes at a time   4 flags

Each thread has a share of a job's tasks, as many as the others and the same part of all jobs': what it wrote in one job, a part of an image
say, it mostly reads in the next, from its own caches.  A thread that is done takes from the shares of others.  A counter tells how many
tasks of a share are taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.kernels.kernel import Kernel

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

JOB_WORDS = 8
POOL_WORDS = 32
RUN_WORDS = 8
ALONE, BARRIER = 1, 2
"""Flags of a job: the first thread computes it; all threads wait for each other after it."""
GENERATION, ARRIVED, SLEEPERS, THREADS, RUN, BASE, SYSCALL, FUTEX, STOP, YIELD = 0, 8, 16, 17, 18, 19, 20, 21, 22, 23
PARALLEL, TEAM_NUMBER, TEAM_SIZE, MEMBER = 24, 25, 26, 27

_SPINS_AT_BARRIER = 1 << 12
_SPINS_FOR_RUN = 1 << 12
"""About 100 microseconds: a caller that runs again at once finds its workers awake."""
_FUTEX_WAIT, _FUTEX_WAKE = 128, 129
"""Linux: FUTEX_WAIT and FUTEX_WAKE with FUTEX_PRIVATE_FLAG."""


@dataclass(frozen=True)
class Run(Kernel):
    """Computes a run as its first thread: words is the pool's memory, begin the run's."""

    def emit(self, f: Writer) -> None:
        pool = f.words
        run = f.as_pointer(f.begin)
        f.atomic_store(f.begin, f.at(pool, RUN, "i64"))
        f.atomic_store(f.atomic_load(f.at(pool, ARRIVED, "i64")), f.at(pool, BASE, "i64"))
        f.atomic_add(f.at(pool, GENERATION, "i64"), 1)
        with f.when(f.atomic_load(f.at(pool, SLEEPERS, "i64")) > 0):
            _futex(f, pool, _FUTEX_WAKE, f.constant(1 << 30, "i64"))
        _walk(f, pool, run, f.constant(0, "i64"), f.atomic_load(f.at(pool, THREADS, "i64")))


@dataclass(frozen=True)
class Lead(Kernel):
    """Computes a run on a team of OpenMP's threads, the caller's among them: words is the pool's memory, begin the run's."""

    def emit(self, f: Writer) -> None:
        pool = f.words
        f.atomic_store(f.begin, f.at(pool, RUN, "i64"))
        f.atomic_store(f.atomic_load(f.at(pool, ARRIVED, "i64")), f.at(pool, BASE, "i64"))
        parallel, member = f.load(f.at(pool, PARALLEL, "i64"), "ptr"), f.load(f.at(pool, MEMBER, "i64"), "i64")
        threads = f.converted(f.atomic_load(f.at(pool, THREADS, "i64")), "i32")
        f.call(parallel, [member, f.as_integer(pool), threads, f.constant(0, "i32")])


@dataclass(frozen=True)
class Member(Kernel):
    """What each thread of such a team does: words is the pool's memory.  OpenMP may give fewer threads than it is asked for."""

    def emit(self, f: Writer) -> None:
        pool = f.words
        number, size = (
            f.converted(f.call(f.load(f.at(pool, at, "i64"), "ptr"), [], f.begin.type.of("i32")), "i64") for at in (TEAM_NUMBER, TEAM_SIZE)
        )
        _walk(f, pool, f.as_pointer(f.atomic_load(f.at(pool, RUN, "i64"))), number, size)


@dataclass(frozen=True)
class Worker(Kernel):
    """The life of a worker: words points to (pool's memory, number of the thread, generation it has seen)."""

    def emit(self, f: Writer) -> None:
        pool, thread = f.pointer(0), f.word(1)
        seen = f.variable(f.word(2))
        with f.while_() as stop:
            _wait(f, pool, seen.get())
            stop(f.atomic_load(f.at(pool, STOP, "i64")).differs(0))
            seen.set(f.atomic_load(f.at(pool, GENERATION, "i64")))
            run = f.as_pointer(f.atomic_load(f.at(pool, RUN, "i64")))
            threads = f.atomic_load(f.at(pool, THREADS, "i64"))
            with f.when(thread < threads):
                _walk(f, pool, run, thread, threads)


def _wait(f: Writer, pool: Value, seen: Value) -> None:
    """Until the generation is another: spinning first, then asleep."""
    generation = f.at(pool, GENERATION, "i64")
    spins = f.variable(f.constant(0, "i64"))
    with f.while_() as stop:
        stop(f.atomic_load(generation).differs(seen))
        f.pause()
        spins.set(spins.get() + 1)
        with f.when(spins.get() > _SPINS_FOR_RUN):
            f.atomic_add(f.at(pool, SLEEPERS, "i64"), 1)
            _futex(f, pool, _FUTEX_WAIT, f.converted(f.converted(seen, "i32"), "i64"))
            f.atomic_add(f.at(pool, SLEEPERS, "i64"), -1)


def _futex(f: Writer, pool: Value, operation: int, value: Value) -> None:
    generation, zero = f.at(pool, GENERATION, "i64"), f.constant(0, "i64")
    call = f.load(f.at(pool, SYSCALL, "i64"), "ptr")
    number = f.load(f.at(pool, FUTEX, "i64"), "i64")
    f.call(call, [number, f.as_integer(generation), f.constant(operation, "i64"), value, zero, zero, zero], number.type)


def _walk(f: Writer, pool: Value, run: Value, thread: Value, threads: Value) -> None:
    """All jobs of a run, as one of its threads."""
    jobs, counters = f.load(run, "ptr"), f.load(f.at(run, 2, "i64"), "ptr")
    count = f.load(f.at(run, 1, "i64"), "i64")
    scratch = f.at(f.load(f.at(run, 3, "i64"), "ptr"), f.load(f.at(run, 4, "i64"), "i64") * thread, "i8")
    between = f.load(f.at(run, 5, "i64"), "i64")
    target = f.variable(f.atomic_load(f.at(pool, BASE, "i64")))
    with f.loop(0, count) as number:
        job = f.at(jobs, number * JOB_WORDS, "i64")
        kernel, words = f.load(job, "ptr"), f.load(f.at(job, 1, "i64"), "ptr")
        tasks, chunk, flags = (f.load(f.at(job, i, "i64"), "i64") for i in (2, 3, 4))
        with f.choice((flags & ALONE).differs(0)) as (alone, shared):
            with alone, f.when(thread.equals(0)):
                f.call(kernel, [words, f.constant(0, "i64"), tasks, scratch])
            with shared:
                with f.loop(0, threads) as others:
                    owner = thread + others
                    owner = f.select(owner < threads, owner, owner - threads)
                    share = (tasks * owner // threads, tasks * (owner + 1) // threads)
                    _take(f, f.at(counters, owner * between + number, "i64"), share, chunk, (kernel, words, scratch))
        with f.when((flags & BARRIER).differs(0)):
            target.set(target.get() + threads)
            _barrier(f, pool, target.get())


def _take(f: Writer, counter: Value, share: tuple[Value, Value], chunk: Value, call: tuple[Value, Value, Value]) -> None:
    """Take chunks of a share, first task to end, until there are none.  call: kernel, its words, scratch."""
    kernel, words, scratch = call
    first, end = share
    with f.while_() as stop:
        stop(f.atomic_load(counter) >= end - first)
        begin = first + f.atomic_add(counter, chunk)
        stop(begin >= end)
        f.call(kernel, [words, begin, f.smaller(begin + chunk, end), scratch])


def _barrier(f: Writer, pool: Value, target: Value) -> None:
    """Until all threads have come so far.  Where there are more threads than cores, waiting ones give way."""
    arrived = f.at(pool, ARRIVED, "i64")
    f.atomic_add(arrived, 1)
    spins = f.variable(f.constant(0, "i64"))
    with f.while_() as stop:
        stop(f.atomic_load(arrived) >= target)
        f.pause()
        spins.set(spins.get() + 1)
        with f.when(spins.get() > _SPINS_AT_BARRIER):
            f.call(f.load(f.at(pool, YIELD, "i64"), "ptr"), [], spins.type.of("i32"))
