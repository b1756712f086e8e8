"""What runs a model for `ttc.inference`: sessions of one program, which replicas share; or, in `ttc.pipeline`, stages on devices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from numpy.typing import NDArray

from ttc.runtime.machine.session import Session
from ttc.runtime.program import Program
from ttc.train.rows import parts
from ttc.train.updates import FORWARD

Named = Mapping[str, NDArray[Any]]


class Instances(Protocol):
    """A compiled model with its memory, once for each replica or once for all of them."""

    @property
    def sessions(self) -> list[Session]:
        """Return the sessions that have weights of their own."""
        ...

    def run(self, iterations: Iterable[Named]) -> list[list[Named]]:
        """Return for each iteration the outputs of every replica, which share its rows."""
        ...

    def close(self) -> None:
        """Give up memory, threads and processes."""
        ...


class Copies:
    """A session for each replica, in a thread of its own while it runs.

    Args:
        program: of the model.
        devices: of the replicas, as `Session` takes them.
    """

    def __init__(self, program: Program, devices: Sequence[int | None]) -> None:
        program.prepare()
        self.sessions = [Session(program, number=number) for number in devices]

    def run(self, iterations: Iterable[Named]) -> list[list[Named]]:
        """Return for each iteration the outputs of every replica, which share its rows."""
        return [self._iteration(rows) for rows in iterations]

    def close(self) -> None:
        """Give up the memory of all sessions."""
        for session in self.sessions:
            session.close()

    def _iteration(self, rows: Named) -> list[Named]:
        shares = list(parts(rows, len(self.sessions)))
        if len(self.sessions) == 1:
            return [self.sessions[0].call(FORWARD, shares[0])]
        with ThreadPoolExecutor(len(self.sessions), "ttc-replica") as pool:
            return list(pool.map(lambda pair: pair[0].call(FORWARD, pair[1]), zip(self.sessions, shares, strict=True)))
