"""Keeps account of all sessions of this process: for metrics, for children that are forked, and for what watches runs."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet

from ttc.runtime.machine.values import Values
from ttc.runtime.metrics import gauge
from ttc.runtime.tracing import on_change


class OpenSession(Protocol):
    """What is known here of a session: `ttc.runtime.machine.session.Session`."""

    values: Values

    def forget_plans(self) -> None:
        """Look for each plan again at its next run."""
        ...

    def renew(self) -> None:
        """In a forked process: do without locks of threads that are not there."""
        ...


SESSIONS: WeakSet[OpenSession] = WeakSet()
"""All sessions that somebody holds."""


def forget_plans() -> None:
    """Have every session look for its plans again, which may be watched now."""
    for session in list(SESSIONS):
        session.forget_plans()


def _variable_bytes() -> int:
    return sum(variable.value.nbytes for session in list(SESSIONS) for variable in list(session.values.variables.values()))


def _after_fork() -> None:
    for session in SESSIONS:
        session.renew()


on_change(forget_plans)
gauge("sessions", lambda: len(SESSIONS))
gauge("variable_bytes", _variable_bytes)
os.register_at_fork(after_in_child=_after_fork)
