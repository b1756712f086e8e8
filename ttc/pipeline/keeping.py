"""A session that keeps what backward programs read of forward programs, until they are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from ttc.passes.nn.training_notes import SAVED
from ttc.runtime.machine.session import Session


class KeepingSession:
    """A session whose results `saved.N` stay with it, under the number of their microbatch; nobody else uses it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._kept: dict[int, dict[str, NDArray[Any]]] = {}

    def call(self, name: str, inputs: Mapping[str, Any], *, keep: int | None = None, take: int | None = None) -> dict[str, NDArray[Any]]:
        """Run a program once; see `Session.call`.

        Args:
            keep: microbatch whose saved results are kept; they are not returned.
            take: microbatch whose kept results are inputs, too, and are given up.
        """
        given = {**inputs, **self._kept.pop(take, {})} if take is not None else inputs
        found = self._session.call(name, given)
        if keep is None:
            return found
        self._kept[keep] = {key: value for key, value in found.items() if key.startswith(SAVED)}
        return {key: value for key, value in found.items() if not key.startswith(SAVED)}

    def drop(self) -> None:
        """Give up all that is kept."""
        self._kept.clear()

    def states(self, names: Sequence[str] | None = None) -> dict[str, NDArray[Any]]:
        """Return copies of states by name; None: all."""
        return self._session.states(names)

    def parameters(self) -> dict[str, NDArray[Any]]:
        """Return copies of the parameters by name."""
        return self._session.parameters()

    def assign(self, parameters: Mapping[str, NDArray[Any]], states: Mapping[str, NDArray[Any]] | None = None) -> None:
        """Give parameters and states new values; see `Session.assign`."""
        self._session.assign(parameters, states)

    def close(self) -> None:
        """Give up the memory of the stage, and what it keeps for backward passes."""
        self.drop()
        self._session.close()
