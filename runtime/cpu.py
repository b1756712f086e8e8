"""The CPU that this process may use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from pathlib import Path

from ttc.dialects.core.errors import Error

THREADS_A_CPU = 4
"""The most threads for each CPU that may be asked for: more only wait for each other."""
_CGROUP_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def available_cores(quota_file: Path = _CGROUP_QUOTA) -> int:
    """Return the cores by affinity, and by the quota of the control group (`<microseconds>|max <period>`) where one is set; at least 1."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = quota_file.read_text(encoding="ascii").split()
        return max(1, min(cores, ceil(int(quota) / int(period))))
    except (OSError, ValueError, ZeroDivisionError):
        return max(1, cores)


def most_threads() -> int:
    """Return the largest number of threads that somebody may ask for."""
    return THREADS_A_CPU * available_cores()


def checked_threads(threads: int | None) -> int:
    """Return the number of threads asked for; without one, a thread a core. Raises E0101 for none at all, and for more than the CPUs can
    use.
    """
    if threads is None:
        return available_cores()
    if threads < 1:
        raise Error("E0101", f"there must be at least one thread, not {threads}")
    if threads > most_threads():
        hint = f"at most {most_threads()} here: {THREADS_A_CPU} for each CPU that this process may use"
        raise Error("E0101", f"{threads} threads are more than this machine can use", hint=hint)
    return threads


@contextmanager
def starting_threads() -> Iterator[None]:
    """Run code that starts threads. Raises E0104 where the system starts no more of them."""
    try:
        yield
    except RuntimeError as error:
        if "can't start new thread" not in str(error):
            raise
        hint = "ask for fewer threads (--threads), or raise the limit of processes (ulimit -u) or of memory (ulimit -v)"
        raise Error("E0104", "the system starts no further thread", hint=hint) from None
