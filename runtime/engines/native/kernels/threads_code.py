"""The code that threads run: the first walks over a job list, and the others help it with one job after the other.

Memory of a pool, in words of 8 bytes (each group on a cache line of its own):
    0 state: the number of the open or last job that threads share in its upper half, ever growing; `OPEN` while helpers may enter it;
      in the lowest bits the number of helpers inside
    8 number of the shared job in the present run    9 address of the present run, 0 between runs   10 threads of a run
   16 sleepers: not 0 if workers may be in the kernel
   20 libc's syscall   21 its number of futex   22 libc's sched_yield
   24 OpenMP's GOMP_parallel  25 its omp_get_thread_num  26 address of `Member`
Memory of a run:
    0 address of jobs   1 number of jobs   2 address of counters (0 at the start)   3 scratch   4 bytes of scratch a thread
    5 words from a thread's counters, one a job, to the next thread's
A job, `JOB_WORDS` words:
    0 address of the kernel   1 address of its words   2 tasks   3 tasks a thread takes at a time   4 flags

Each thread has a share of a job's tasks, as many as the others and the same part of all jobs': what it wrote in one job, a part of an image
say, it mostly reads in the next, from its own caches.  A thread that is done takes from the shares of others.  A counter tells how many
tasks of a share are taken.

The first thread waits for helpers that have entered a job, and for no others: one that has no core, because other programs run there,
costs nothing but its help.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.kernels.kernel import Kernel

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import LocalVariable, Value
    from ttc.runtime.engines.native.ir.writer import Writer

JOB_WORDS = 8
POOL_WORDS = 32
RUN_WORDS = 8
ALONE = 1
"""The flag of a job that the first thread computes by itself."""
STATE, NUMBER, RUN, THREADS, SLEEPERS, SYSCALL, FUTEX, YIELD = 0, 8, 9, 10, 16, 20, 21, 22
PARALLEL, TEAM_NUMBER, MEMBER = 24, 25, 26

OPEN, NEXT = 1 << 16, 1 << 32
"""Numbers in the state of a run: helpers may enter; one more shared job."""
_SPINS = 1 << 13
"""About 90 microseconds on an Intel Xeon with AMX, up to four times as long on CPUs that pause for longer: a caller that runs again at once
finds its workers awake."""
_FUTEX_WAIT, _FUTEX_WAKE = 128, 129
"""Linux: FUTEX_WAIT and FUTEX_WAKE with FUTEX_PRIVATE_FLAG."""


@dataclass(frozen=True)
class Run(Kernel):
    """Computes a run as its first thread: words is the pool's memory, begin the run's."""

    def emit(self, f: Writer) -> None:
        f.atomic_store(f.begin, f.at(f.words, RUN, "i64"))
        _lead(f, f.words)


@dataclass(frozen=True)
class Lead(Kernel):
    """Computes a run on a team of OpenMP's threads, the caller's among them: words is the pool's memory, begin the run's."""

    def emit(self, f: Writer) -> None:
        pool = f.words
        f.atomic_store(f.begin, f.at(pool, RUN, "i64"))
        parallel, member = f.load(f.at(pool, PARALLEL, "i64"), "ptr"), f.load(f.at(pool, MEMBER, "i64"), "i64")
        threads = f.converted(f.load(f.at(pool, THREADS, "i64"), "i64"), "i32")
        f.call(parallel, [member, f.as_integer(pool), threads, f.constant(0, "i32")])


@dataclass(frozen=True)
class Member(Kernel):
    """Computes as one thread of a team of OpenMP's: words is the pool's memory. OpenMP may give fewer threads than it is asked for."""

    def emit(self, f: Writer) -> None:
        pool = f.words
        number = f.converted(f.call(f.load(f.at(pool, TEAM_NUMBER, "i64"), "ptr"), [], f.begin.type.of("i32")), "i64")
        with f.choice(number.equals(0)) as (first, other):
            with first:
                _lead(f, pool)
            with other:
                seen, spins = f.variable(f.constant(0, "i64")), f.variable(f.constant(0, "i64"))
                with f.while_() as stop:
                    stop(f.atomic_load(f.at(pool, RUN, "i64")).equals(0))
                    with f.choice(_may_enter(f.atomic_load(f.at(pool, STATE, "i64")), seen.get())) as (enter, wait):
                        with enter:
                            seen.set(_help(f, pool, number))
                            spins.set(f.constant(0, "i64"))
                        with wait:
                            _spin(f, pool, spins)


@dataclass(frozen=True)
class Worker(Kernel):
    """Computes as a worker for all its life: words points to (pool's memory, number of the thread)."""

    def emit(self, f: Writer) -> None:
        pool, thread = f.pointer(0), f.word(1)
        seen = f.variable(f.constant(0, "i64"))
        with f.while_():
            _wait(f, pool, seen.get())
            seen.set(_help(f, pool, thread))


# ---- the first thread --------------------------------------------------------------------------------------------------------------


def _lead(f: Writer, pool: Value) -> None:
    """All jobs of the present run, those with more than one task with whoever helps."""
    run = f.as_pointer(f.atomic_load(f.at(pool, RUN, "i64")))
    jobs, count = f.load(run, "ptr"), f.load(f.at(run, 1, "i64"), "i64")
    threads = f.load(f.at(pool, THREADS, "i64"), "i64")
    scratch = f.load(f.at(run, 3, "i64"), "ptr")
    with f.loop(0, count) as number:
        job = f.at(jobs, number * JOB_WORDS, "i64")
        tasks, flags = f.load(f.at(job, 2, "i64"), "i64"), f.load(f.at(job, 4, "i64"), "i64")
        alone = f.select(threads.equals(1), f.constant(ALONE, "i64"), flags & ALONE)
        with f.when(tasks > 0), f.choice(alone.differs(0)) as (by_itself, shared):
            with by_itself:
                f.call(f.load(job, "ptr"), [f.load(f.at(job, 1, "i64"), "ptr"), f.constant(0, "i64"), tasks, scratch])
            with shared:
                _open(f, pool, number)
                _share(f, run, number, f.constant(0, "i64"), threads)
                _close(f, pool)
    f.atomic_store(f.constant(0, "i64"), f.at(pool, RUN, "i64"))


def _open(f: Writer, pool: Value, number: Value) -> None:
    """Let helpers into a job, and wake them."""
    f.store(number, f.at(pool, NUMBER, "i64"))
    f.atomic_add(f.at(pool, STATE, "i64"), NEXT + OPEN)
    sleepers = f.at(pool, SLEEPERS, "i64")
    with f.when(f.atomic_load(sleepers) > 0):
        f.atomic_store(f.constant(0, "i64"), sleepers)
        _futex(f, pool, _FUTEX_WAKE, f.constant(1 << 30, "i64"))


def _close(f: Writer, pool: Value) -> None:
    """Let no helper in any more, and wait for those inside."""
    state, spins = f.at(pool, STATE, "i64"), f.variable(f.constant(0, "i64"))
    f.atomic_add(state, -OPEN)
    with f.while_() as stop:
        stop((f.atomic_load(state) & (OPEN - 1)).equals(0))
        _spin(f, pool, spins)


# ---- helpers -----------------------------------------------------------------------------------------------------------------------


def _may_enter(state: Value, seen: Value) -> Value:
    """Return whether a job is open that is not the one seen last: 1 or 0.  seen: the upper half of a state."""
    return ((state & OPEN).differs(0)) & ((state >> 32).differs(seen))


def _wait(f: Writer, pool: Value, seen: Value) -> None:
    """Until another job is open: spinning first; then giving way while a run goes on, and asleep between runs.

    Who was woken spins anew: a worker that comes too late for a short run is awake at the next one.
    """
    state, spins = f.variable(f.constant(0, "i64")), f.variable(f.constant(0, "i64"))
    with f.while_() as stop:
        state.set(f.atomic_load(f.at(pool, STATE, "i64")))
        stop(_may_enter(state.get(), seen))
        with f.choice((spins.get() < _SPINS) | f.atomic_load(f.at(pool, RUN, "i64")).differs(0)) as (spin, sleep):
            with spin:
                _spin(f, pool, spins)
            with sleep:
                f.atomic_add(f.at(pool, SLEEPERS, "i64"), 1)
                _futex(f, pool, _FUTEX_WAIT, state.get() >> 32)
                spins.set(0)


def _help(f: Writer, pool: Value, thread: Value) -> Value:
    """Take tasks of the job that is open, if still one is; give the upper half of the state.  Memory of a run is read inside alone."""
    state = f.at(pool, STATE, "i64")
    entered = f.atomic_add(state, 1)
    with f.when((entered & OPEN).differs(0)):
        run = f.as_pointer(f.atomic_load(f.at(pool, RUN, "i64")))
        threads = f.load(f.at(pool, THREADS, "i64"), "i64")
        with f.when(thread < threads):
            _share(f, run, f.load(f.at(pool, NUMBER, "i64"), "i64"), thread, threads)
    f.atomic_add(state, -1)
    return entered >> 32


# ---- both --------------------------------------------------------------------------------------------------------------------------


def _share(f: Writer, run: Value, number: Value, thread: Value, threads: Value) -> None:
    """Take tasks of a job until there are none, of this thread's share first."""
    job = f.at(f.load(run, "ptr"), number * JOB_WORDS, "i64")
    counters, between = f.load(f.at(run, 2, "i64"), "ptr"), f.load(f.at(run, 5, "i64"), "i64")
    scratch = f.at(f.load(f.at(run, 3, "i64"), "ptr"), f.load(f.at(run, 4, "i64"), "i64") * thread, "i8")
    kernel, words = f.load(job, "ptr"), f.load(f.at(job, 1, "i64"), "ptr")
    tasks, chunk = f.load(f.at(job, 2, "i64"), "i64"), f.load(f.at(job, 3, "i64"), "i64")
    with f.loop(0, threads) as others:
        owner = thread + others
        owner = f.select(owner < threads, owner, owner - threads)
        share = (tasks * owner // threads, tasks * (owner + 1) // threads)
        _take(f, f.at(counters, owner * between + number, "i64"), share, chunk, (kernel, words, scratch))


def _take(f: Writer, counter: Value, share: tuple[Value, Value], chunk: Value, call: tuple[Value, Value, Value]) -> None:
    """Take chunks of a share, first task to end, until there are none.  call: kernel, its words, scratch."""
    kernel, words, scratch = call
    first, end = share
    with f.while_() as stop:
        stop(f.atomic_load(counter) >= end - first)
        begin = first + f.atomic_add(counter, chunk)
        stop(begin >= end)
        f.call(kernel, [words, begin, f.smaller(begin + chunk, end), scratch])


def _spin(f: Writer, pool: Value, spins: LocalVariable) -> None:
    """Wait a moment; after many, give way: the thread that is waited for may have no core."""
    f.pause()
    spins.set(spins.get() + 1)
    with f.when(spins.get() > _SPINS):
        f.call(f.load(f.at(pool, YIELD, "i64"), "ptr"), [], f.begin.type.of("i32"))


def _futex(f: Writer, pool: Value, operation: int, value: Value) -> None:
    """Sleep while the upper half of the state is value, or wake all that sleep so.  Machines of native code are little-endian."""
    upper, zero = f.at(pool, 2 * STATE + 1, "i32"), f.constant(0, "i64")
    call = f.load(f.at(pool, SYSCALL, "i64"), "ptr")
    number = f.load(f.at(pool, FUTEX, "i64"), "i64")
    f.call(call, [number, f.as_integer(upper), f.constant(operation, "i64"), value, zero, zero, zero], number.type)
