"""Native threads: parked in native code between runs, started by one call."""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Callable
from functools import partial
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.records import record
from ttc.runtime.engines.native.codegen.code import Code
from ttc.runtime.engines.native.kernels import threads_code as words
from ttc.runtime.pages import aligned_words

_FUTEX = {"x86_64": 202, "amd64": 202, "aarch64": 98, "arm64": 98}
_STACK_BYTES = 1 << 20
KERNELS = (words.Run(), words.Worker(), words.Lead(), words.Member())
"""The kernels that a pool needs compiled."""
_Call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)


@record
class Team:
    """Threads that an OpenMP library keeps for other code of the process: runs on them do not compete with that code for cores.

    Args:
        functions: addresses of the library's GOMP_parallel and omp_get_thread_num.
        pid: of the process that has the threads; a child of it has none.
    """

    functions: tuple[int, int]
    pid: int

    @staticmethod
    def of(library: ctypes.CDLL) -> Team | None:
        """Return the team of the library, or of one that it was linked with; None where there is no OpenMP library."""
        try:
            found = [getattr(library, name) for name in ("GOMP_parallel", "omp_get_thread_num")]
        except AttributeError:
            return None
        one, two = (ctypes.cast(function, ctypes.c_void_p).value or 0 for function in found)
        return Team((one, two), os.getpid())


class Pool:
    """Threads that compute runs together with the thread that asks; one run at a time.

    A run that finds them busy is computed by its own thread alone, with the same results.  After a fork the child has no workers yet:
    they are started anew with its first run.

    Args:
        threads: that compute a run, the caller's among them.
        code: compiled `KERNELS`.
    """

    def __init__(self, threads: int, code: Code) -> None:
        self.threads = threads
        self._code = code
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._run, self._lead = _Call(code.addresses[KERNELS[0].key]), _Call(code.addresses[KERNELS[2].key])
        self._lock = Lock()
        self._pid = 0
        self._address = 0
        self._team: tuple[Team, NDArray[np.int64]] | None = None

    def run(self, run: int) -> None:
        """Compute the run whose memory is at that address (see `threads_code`); its counters are 0."""
        if self._lock.acquire(blocking=False):
            try:
                self._run_together(run)
            finally:
                self._lock.release()
        else:
            alone = self.new_alone()
            self.run_alone(alone.ctypes.data, run)

    def join(self, team: Team) -> None:
        """Compute runs from now on by the threads of the team."""
        memory = self._new_memory(self.threads)
        memory[words.PARALLEL], memory[words.TEAM_NUMBER] = team.functions
        memory[words.MEMBER] = self._code.addresses[KERNELS[3].key]
        self._team = team, memory

    def _run_together(self, run: int) -> None:
        team = self._team
        if team is not None and team[0].pid == os.getpid():
            self._lead(team[1].ctypes.data, run, 0, None)
            return
        if self._pid != os.getpid():
            self._start()
        self._run(self._address, run, 0, None)

    def new_alone(self) -> NDArray[np.int64]:
        """Return memory for `run_alone`, of one run at a time."""
        return self._new_memory(1)

    def run_alone(self, alone: int, run: int) -> None:
        """Compute a run by this thread, without the others.  alone: the address of memory made by `new_alone`."""
        self._run(alone, run, 0, None)

    def bound_alone(self, alone: int, run: int) -> Callable[[], None]:
        """Return a call of `run_alone`, its arguments converted."""
        return partial(self._run, ctypes.c_void_p(alone), ctypes.c_void_p(run), ctypes.c_int64(0), ctypes.c_void_p(None))

    def renew(self) -> None:
        """Make the pool usable in a forked process: without workers, and without the lock of a thread that does not exist there."""
        self._lock, self._pid = Lock(), 0

    def _new_memory(self, threads: int) -> NDArray[np.int64]:
        memory = aligned_words(words.POOL_WORDS)
        memory[words.THREADS] = threads
        memory[words.SYSCALL] = self._function("syscall")
        memory[words.YIELD] = self._function("sched_yield")
        memory[words.FUTEX] = _FUTEX.get(platform.machine().lower(), -1)
        return memory

    def _function(self, name: str) -> int:
        return ctypes.cast(getattr(self._libc, name), ctypes.c_void_p).value or 0

    def _start(self) -> None:
        """Start the workers of this process: as many as the system lets it have."""
        memory = self._new_memory(self.threads)
        starts = aligned_words(4 * self.threads)
        attributes = (ctypes.c_char * 128)()
        self._libc.pthread_attr_init(attributes)
        self._libc.pthread_attr_setdetachstate(attributes, 1)
        self._libc.pthread_attr_setstacksize(attributes, ctypes.c_size_t(_STACK_BYTES))
        worker = ctypes.c_void_p(self._code.addresses[KERNELS[1].key])
        for number in range(1, self.threads):
            starts[4 * number : 4 * number + 2] = memory.ctypes.data, number
            handle = ctypes.c_void_p()
            argument = ctypes.c_void_p(starts.ctypes.data + 32 * number)
            if self._libc.pthread_create(ctypes.byref(handle), attributes, worker, argument):
                memory[words.THREADS] = number
                break
        for kept in (memory, starts, self._code):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))  # threads use them for as long as the process lives
        self._address, self._pid = memory.ctypes.data, os.getpid()


_POOLS: dict[int, Pool] = {}
_TEAMS: list[Team] = []
"""The team that pools join; at most one."""
_POOLS_LOCK = Lock()


def pool_of(threads: int, code: Code) -> Pool:
    """Return the pool of so many threads: sessions of a process share it."""
    with _POOLS_LOCK:
        if threads not in _POOLS:
            _POOLS[threads] = pool = Pool(threads, code)
            for team in _TEAMS:
                pool.join(team)
        return _POOLS[threads]


def join_team(team: Team) -> None:
    """Compute what pools of this process compute by the threads of the team, if others run on it in turns with them."""
    with _POOLS_LOCK:
        if _TEAMS == [team]:
            return
        _TEAMS[:] = [team]
        for pool in _POOLS.values():
            pool.join(team)


def _after_fork() -> None:
    """In a child: locks may have been held by threads that are not there."""
    global _POOLS_LOCK
    _POOLS_LOCK = Lock()
    for pool in _POOLS.values():
        pool.renew()


os.register_at_fork(after_in_child=_after_fork)
