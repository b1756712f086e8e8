"""Keeps account of all sessions of this process: for metrics, for children that are forked, and for what watches runs."""

from __future__ import annotations

import os
from threading import Lock
from typing import Protocol
from weakref import WeakSet

from ttc.runtime.machine.values import InitialValues
from ttc.runtime.metrics import gauge
from ttc.runtime.tracing import on_change


class OpenSession(Protocol):
    """What is known here of a session: `ttc.runtime.machine.session.Session`."""

    values: InitialValues

    def forget_plans(self) -> None:
        """Look for each plan again at its next run."""
        ...

    def renew(self) -> None:
        """Do without locks of threads that do not exist in a forked process."""
        ...


_SESSIONS: WeakSet[OpenSession] = WeakSet()
"""All sessions that somebody holds."""
_LOCK = Lock()
"""Held where the set is changed or read: a session may open in any thread meanwhile."""


def opened(session: OpenSession) -> None:
    """Keep account of a session for as long as somebody holds it."""
    with _LOCK:
        _SESSIONS.add(session)


def sessions() -> list[OpenSession]:
    """Return all sessions that somebody holds."""
    with _LOCK:
        return list(_SESSIONS)


def forget_plans() -> None:
    """Have every session look for its plans again, which may be watched now."""
    for session in sessions():
        session.forget_plans()


def _variable_bytes() -> int:
    return sum(variable.value.nbytes for session in sessions() for variable in list(session.values.variables.values()))


def _after_fork() -> None:
    global _LOCK
    _LOCK = Lock()  # another thread may have held it, which is not there
    for session in sessions():
        session.renew()


on_change(forget_plans)
gauge("sessions", lambda: len(sessions()))
gauge("variable_bytes", _variable_bytes)
os.register_at_fork(after_in_child=_after_fork)
