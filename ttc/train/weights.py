"""Weights that a module on the host and a session both have: which of the two has changed them, and how they are copied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from ttc.dialects.core.errors import Error, warn
from ttc.runtime.machine.session import Session
from ttc.train.host import HostModel, digest


class ModuleWeights:
    """Compares the tensors of a module with those of a session, and copies them one way or the other.

    Args:   host: the module.
    """

    def __init__(self, host: HostModel) -> None:
        self._host = host
        self._synced: dict[str, bytes] = {}
        self._version: tuple[int, ...] = ()

    def pull(self, session: Session, *, overwrite: bool = False) -> None:
        """Write parameters and buffers into the module's own tensors, where training has changed them.

        Args:   overwrite: write all of them, whatever was changed on the host.
        Raises: E0809 if the module's were changed, too, since they were last the same; E0101 for a model of a file.
        """
        here, there = (self._of(session), {}) if overwrite else self._differences(session)
        if here and there:
            raise _both(here)
        self._host.write(here)
        if not there:
            self.are_the_same(session)

    def push(self, session: Session) -> None:
        """Take parameters and buffers of the module, where they were changed on the host.

        Raises: E0809 if training has changed them, too, since they were last the same; E0101 for a model of a file.
        """
        here, there = self._differences(session)
        if here and there:
            raise _both(there)
        self._assign(session, there)
        if not here:
            self.are_the_same(session)

    def overwrite(self, session: Session) -> None:
        """Take all parameters and buffers of the module, whatever training has made of them.  Raises E0101 for a model of a file."""
        description = session.description
        self._assign(session, self._host.read({**description.parameters, **description.states}))
        self.are_the_same(session)

    def are_the_same(self, session: Session) -> None:
        """Remember that the module and the session have the same weights."""
        self._synced = digest(self._of(session))
        self._host.watch()
        self._version = self._host.version()

    def warn_of_changes(self) -> None:
        """Warn where the module's tensors were changed since the last time."""
        if self._version != self._host.version():
            self._version = self._host.version()
            warn("parameters of the module were changed on the host; push_weights() takes them, and nothing else does")

    def _assign(self, session: Session, values: Mapping[str, NDArray[Any]]) -> None:
        if values:
            parameters = session.description.parameters
            own = {name: value for name, value in values.items() if name in parameters}
            session.assign(own, {name: value for name, value in values.items() if name not in parameters})

    def _of(self, session: Session) -> dict[str, NDArray[Any]]:
        """Return what the session has of the module's tensors."""
        description = session.description
        names = self._host.read({**description.parameters, **description.states})
        found = {**session.parameters(), **session.states(name for name in description.states if name in names)}
        return {name: value for name, value in found.items() if name in names}

    def _differences(self, session: Session) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
        """Return what has changed here, and on the host, since both were the same; without what is the same again."""
        here = self._of(session) if self._host.is_module else {}
        there = self._host.read(here)
        mark_here, mark_there = digest(here), digest(there)
        names = [name for name in here if mark_here[name] != mark_there[name]]
        of_training = {name: here[name] for name in names if mark_here[name] != self._synced.get(name)}
        return of_training, {name: there[name] for name in names if mark_there[name] != self._synced.get(name)}


def _both(names: Mapping[str, Any]) -> Error:
    hint = "load_state_dict() sets those here; assigning to the module's sets those there"
    return Error("E0809", f"weights were changed by training and on the host: {', '.join(list(names)[:3])}", hint=hint)
