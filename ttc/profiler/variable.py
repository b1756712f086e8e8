"""TTC_PROFILE: a trace of a whole process, written when it ends.

`import ttc` begins it.  Processes that this one starts write files of their own beside, with their numbers in the names, and so do the
ranks of torchrun: trace.json, trace.4711.json; trace.rank0.json, trace.rank1.json.
"""

from __future__ import annotations

import atexit
import os
import sys
from pathlib import Path

from ttc.dialects.core.errors import Error, warn
from ttc.profiler.profile import Profiler

VARIABLE = "TTC_PROFILE"
_WHOLE: list[tuple[Profiler, Path, int]] = []
"""The profile of this process, with its file and the number of the process; at most one."""
PID = "{pid}"
"""What stands for the number of a process in a file's name."""


def begin() -> None:
    """Profile this process as the variable says.  A file that cannot be written is warned of, and nothing is profiled."""
    asked = os.environ.get(VARIABLE)
    if not asked:
        return
    path = own_path(asked, os.environ.get("RANK"), os.getpid())
    try:
        profiler = Profiler(path)
    except Error as error:
        warn(f"{VARIABLE}: {error.message}")
        return
    os.environ[VARIABLE] = path_of_children(asked)
    profiler.start()
    _WHOLE.append((profiler, path, os.getpid()))
    atexit.register(finish)
    process = sys.modules.get("multiprocessing.process")
    if process is not None and process.parent_process() is not None:  # which ends without what atexit has
        from multiprocessing.util import Finalize

        Finalize(None, finish, exitpriority=0)


def finish() -> None:
    """Write the trace of this process, if one is profiled and not written yet.  A file that cannot be written is told of on stderr."""
    while _WHOLE:
        profiler, path, pid = _WHOLE.pop()
        if os.getpid() != pid:  # a forked child: its parent writes
            continue
        profiler.stop()
        try:
            profiler.save(path)
        except Error as error:
            print(f"warning: {VARIABLE}: {error.message}", file=sys.stderr)


def own_path(asked: str, rank: str | None, pid: int) -> Path:
    """Return the file of this process."""
    if PID in asked:
        return Path(asked.replace(PID, str(pid)))
    path = Path(asked)
    return path if rank is None else path.with_name(f"{path.stem}.rank{rank}{path.suffix}")


def path_of_children(asked: str) -> str:
    """Return what the variable says in processes that this one starts."""
    path = Path(asked)
    return asked if PID in asked else str(path.with_name(f"{path.stem}.{PID}{path.suffix}"))
