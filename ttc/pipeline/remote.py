"""A session in a process of its own: messages go through a socket, arrays through shared memory.

The process is started on an archive, without the caller's `__main__`, and ends with its socket: when the session is closed, and when the
caller ends, however it does.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.passes.nn.training_notes import SAVED
from ttc.pipeline.arena import SharedArena, room_for
from ttc.pipeline.device import Device
from ttc.pipeline.messages import error_of_data, receive, send
from ttc.runtime.arguments import inputs_of, outputs_of
from ttc.runtime.program import Program

START_SECONDS = 120.0
"""How many seconds a process may take to load its archive."""
END_SECONDS = 2.0
"""How many seconds a process may take to end before it is killed."""
_RUNS = (
    "import sys; sys.path[:] = {path!r}; from ttc.pipeline.served import main; main({socket}, {memory}, {size}, {archive!r}, {options!r})"
)


class RemoteSession:
    """Runs a program in another process; one thread at a time calls it.

    Args:
        stage: whose program it is, as errors say it.
        options: of the session; threads: that it may use if they do not say.
    Raises: E0104 where there is no shared memory or no process, and what loading an archive raises.
    """

    def __init__(self, stage: str, program: Program, device: Device, threads: int) -> None:
        options = device.running
        self._stage = stage
        self._lock = Lock()
        self._closed = False
        self._sent = SharedArena.new(_room(program, sent=True))
        self._got = SharedArena.new(_room(program, sent=False))
        self._socket, theirs = socket.socketpair()
        chosen = {
            "threads": options.threads or threads,
            "engine": options.engine if "engine" in options.given else None,
            "exact": options.exact,
            "stochastic_rounding": options.stochastic_rounding,
            "device": device.number,
        }
        self._process: subprocess.Popen[bytes] | None = None
        try:
            with theirs, tempfile.TemporaryDirectory(prefix="ttc-stage-") as folder:
                archive = Path(folder) / "stage.tti"
                program.save(archive)
                self._process = self._start(theirs, str(archive), chosen)
                theirs.close()
                self._socket.settimeout(START_SECONDS)
                self._answer()
                self._socket.settimeout(None)
        except BaseException:
            self.close()
            raise

    @property
    def process(self) -> int:
        """The number of the process."""
        assert self._process is not None
        return self._process.pid

    def call(self, name: str, inputs: Mapping[str, Any], *, keep: int | None = None, take: int | None = None) -> dict[str, NDArray[Any]]:
        """Run a program once; see `KeepingSession.call`: what is kept stays in the process.  Raises E0811 if the process has ended."""
        return self._ask("call", {name: np.asarray(value) for name, value in inputs.items()}, program=name, keep=keep, take=take)

    def drop(self) -> None:
        """Give up all that is kept of microbatches.  Raises as `call` does."""
        self._ask("drop", {})

    def states(self, names: Sequence[str] | None = None) -> dict[str, NDArray[Any]]:
        """Return copies of states by name; None: all.  Raises as `call` does."""
        return self._ask("states", {}, names=None if names is None else list(names))

    def parameters(self) -> dict[str, NDArray[Any]]:
        """Return copies of the parameters by name.  Raises as `call` does."""
        return self._ask("parameters", {})

    def assign(self, parameters: Mapping[str, NDArray[Any]], states: Mapping[str, NDArray[Any]] | None = None) -> None:
        """Give parameters and states new values; see `Session.assign`."""
        given = {**{f"p:{name}": v for name, v in parameters.items()}, **{f"s:{name}": v for name, v in (states or {}).items()}}
        self._ask("assign", given)

    def check(self) -> None:
        """Raise E0811 if the process has ended."""
        if not self._closed and (self._process is None or self._process.poll() is not None):
            raise self._dead()

    def close(self) -> None:
        """End the process, and give up the shared memory."""
        if self._closed:
            return
        self._closed = True
        self._socket.close()
        if self._process is not None:
            try:
                self._process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._sent.close()
        self._got.close()

    # ---- inside --------------------------------------------------------------------------------------------------------------------

    def _start(self, theirs: socket.socket, archive: str, options: dict[str, Any]) -> subprocess.Popen[bytes]:
        passed = (theirs.fileno(), self._sent.descriptor, self._got.descriptor)
        text = _RUNS.format(
            path=sys.path,
            socket=passed[0],
            memory=(passed[1], passed[2]),
            size=(self._sent.size_bytes, self._got.size_bytes),
            archive=archive,
            options=options,
        )
        command = [sys.executable, "-c", text]
        try:
            return subprocess.Popen(command, pass_fds=passed, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
        except OSError as error:
            raise Error("E0104", f"no process can be started: {error.strerror}", where=f"stage '{self._stage}'") from None

    def _ask(self, what: str, arrays: Mapping[str, NDArray[Any]], **more: Any) -> dict[str, NDArray[Any]]:
        with self._lock:
            if self._closed:
                raise Error("E0803", "this session is closed")
            rows = self._sent.write(arrays)
            try:
                send(self._socket, {"do": what, "arrays": rows, **more})
            except OSError:
                raise self._dead() from None
            return self._got.read(self._answer(), copied=True)

    def _answer(self) -> list[list[Any]]:
        try:
            answer = receive(self._socket)
        except TimeoutError:
            raise Error("E0811", f"the process does not start within {START_SECONDS:g} s", where=f"stage '{self._stage}'") from None
        except OSError:
            answer = None
        if answer is None:
            raise self._dead()
        if "error" in answer:
            raise error_of_data(answer["error"])
        return answer["arrays"]

    def _dead(self) -> Error:
        status = None
        if self._process is not None:
            try:
                status = self._process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                pass
        how = "" if status is None else f" by signal {-status}" if status < 0 else f" with status {status}"
        return Error(
            "E0811", f"its process has ended{how}", where=f"stage '{self._stage}'", hint="shut the pipeline down, and make a new one"
        )


def _room(program: Program, *, sent: bool) -> int:
    """Return bytes of what is sent at once at most, or of what comes back: the arrays of one call, or all variables."""
    entries = program.netlists.surface.programs.values()
    calls = [inputs_of(entry) if sent else outputs_of(entry) for entry in entries]
    passed = [[item for item in items if not item.name.startswith(SAVED)] for items in calls]  # what is kept stays in the process
    sizes = [room_for({item.name: _size(item.shape, item.dtype) for item in items}) for items in passed]
    variables = {**program.description.parameters, **program.description.states}
    return max([room_for({name: _size(item.shape, item.dtype) for name, item in variables.items()}), *sizes])


def _size(shape: Sequence[int], dtype: str) -> int:
    """Return bytes of an array.  Raises E0101 where that depends on data."""
    if any(size < 0 for size in shape) or not hasattr(np.dtype(dtype), "itemsize"):
        raise Error("E0101", "results whose shapes depend on data cannot pass between processes", hint="take mode threads")
    return prod(shape) * np.dtype(dtype).itemsize


def threads_of_each(processes: int) -> int:
    """Return the threads that each of several processes may use, so that all CPUs are used once."""
    return max(len(os.sched_getaffinity(0)) // max(processes, 1), 1)
