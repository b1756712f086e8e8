"""Work in a copy of this process, whose memory goes when it is done.

    answer = forked(work, meanwhile=load_modules)      # None if it could not be done so

A copy has all objects of this process, and one thread.  It is made only where Python has no other thread, which could hold a lock that the
copy would wait for without end, where no library is loaded that does not stand it, and where nobody else waits for processes that end.
"""

from __future__ import annotations

import ctypes
import gc
import os
import select
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress

MAX_BYTES = 1 << 20
"""The most bytes of an answer."""
IDLE_SECONDS = 20.0
"""A copy that spends no processor time for so long waits for what does not come, and is given up."""
_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_THREADED = ("grpc", "jax", "tensorflow")
"""Libraries whose threads hold locks that a copy would inherit."""


def can_fork() -> bool:
    """Return whether a copy of this process could work."""
    alone = threading.current_thread() is threading.main_thread() and threading.active_count() == 1
    watched = sys.gettrace() is not None or sys.getprofile() is not None
    waits = signal.getsignal(signal.SIGCHLD) is signal.SIG_DFL  # else the copy could be waited for by a handler, or by the system
    return alone and not watched and waits and not any(name in sys.modules for name in _THREADED)


def forked(work: Callable[[], bytes], meanwhile: Callable[[], object] = lambda: None) -> bytes | None:
    """Return what work gives in a copy of this process.

    None if there can be no copy, if work raises, if it gives more than MAX_BYTES, or if the copy ends or hangs.

    meanwhile: called in this process while the copy works.
    """
    if not can_fork():
        return None
    _flush()
    reader, writer = os.pipe()
    here = os.getpid()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12 on: libraries have threads without locks of Python
            copy = os.fork()
    except OSError:
        os.close(reader)
        os.close(writer)
        return None
    if copy == 0:
        _work(work, here, writer)
    os.close(writer)
    try:
        meanwhile()
        found = _read(reader, copy)
    finally:
        os.close(reader)
        with suppress(ProcessLookupError):
            os.kill(copy, signal.SIGKILL)
        _, status = os.waitpid(copy, 0)
    return found if status == 0 else None


def _work(work: Callable[[], bytes], parent: int, writer: int) -> None:
    """Do the work, in the copy, and end it: with status 0 once the answer is written."""
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() == parent:  # which may have ended before
            gc.disable()
            answer = work()
            _flush()
            with os.fdopen(writer, "wb") as file:
                file.write(answer)
            status = 0
    finally:
        os._exit(status)


def _read(reader: int, copy: int) -> bytes | None:
    """Return what a copy writes until it ends; None for too much, or if it hangs."""
    found, spent = b"", -1
    while len(found) <= MAX_BYTES:
        if not select.select([reader], [], [], IDLE_SECONDS)[0]:
            before, spent = spent, _ticks(copy)
            if spent <= before:
                return None
            continue
        part = os.read(reader, 1 << 16)
        if not part:
            os.waitid(os.P_PID, copy, os.WEXITED | os.WNOWAIT)
            return found
        found += part
    return None


def _ticks(process: int) -> int:
    """Return the processor time of a process and of its children that have ended, in ticks of the system's clock."""
    with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as file:
        numbers = file.read().rpartition(")")[2].split()
    return sum(map(int, numbers[11:15]))


def _flush() -> None:
    """Write out what was printed, so that it is there once."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # there is none, or it is closed
            stream.flush()
