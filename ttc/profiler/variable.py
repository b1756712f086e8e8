"""TTC_PROFILE: a trace of a whole process, written when it ends.

`import ttc` begins it.  Processes that this one starts write files of their own beside, with their numbers in the names, and so do the
ranks of torchrun: trace.json, trace.4711.json; trace.rank0.json, trace.rank1.json.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from ttc.dialects.core.errors import Error, warn
from ttc.profiler.chrome import rank_of
from ttc.profiler.profile import Profiler

VARIABLE = "TTC_PROFILE"
_WHOLE: list[tuple[Profiler, Path, int]] = []
"""The profile of this process, with its file and the number of the process; at most one."""
PID = "{pid}"
"""The text in a file's name that stands for the number of a process."""


def begin() -> None:
    """Profile this process as the variable says.  A file that cannot be written is warned of, and nothing is profiled."""
    asked = os.environ.get(VARIABLE)
    if not asked:
        return
    path = own_path(asked, rank_of(os.environ), os.getpid())
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


def path_of_process(environ: Mapping[str, str]) -> Path | None:
    """Return the file that this process writes at its end, or would write if it were begun with these variables; None for none."""
    if _WHOLE:
        return _WHOLE[0][1]
    asked = environ.get(VARIABLE)
    return own_path(asked, rank_of(environ), os.getpid()) if asked else None


def own_path(asked: str, rank: int | None, pid: int) -> Path:
    """Return the file of a process."""
    if PID in asked:
        return Path(asked.replace(PID, str(pid)))
    return Path(asked) if rank is None else _with(asked, f"rank{rank}")


def path_of_children(asked: str) -> str:
    """Return the variable's value for processes that this one starts."""
    return asked if PID in asked else str(_with(asked, PID))


def _with(asked: str, part: str) -> Path:
    """A file with a part before the suffix of its name; a folder without a name (/ or .), which cannot be written, stays what it is."""
    path = Path(asked)
    return path.with_name(f"{path.stem}.{part}{path.suffix}") if path.name else path
