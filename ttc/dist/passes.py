"""Passes that all processes begin together, so that those that compile nothing wait for one that does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from time import monotonic

import torch.distributed as dist
from torch.distributed.distributed_c10d import _get_default_store

from ttc.dist.failures import COMPILING
from ttc.dist.processes import Mesh

_NEW = 1 << 32
"""What a process adds to the count of those that came, beside 1, where it will compile."""


class SharedPasses:
    """Counts the processes that come to each pass, and tells all of them whether any will compile in it.

    They meet in the store of the run, not in a collective: one that fails in waiting is of no more use.

    Args:   name: of the model, which no other one of the processes has.
    """

    def __init__(self, mesh: Mesh, name: str) -> None:
        self._mesh, self._name, self._count = mesh, name, 0

    def begin(self, is_new: bool) -> bool:
        """Wait for all processes to come to a pass, and return whether one of them compiles in it.

        A process that compiles in a pass of its own, as in `alone`, is waited for as long as compiling may take, any other one for as
        long as the mesh is patient.

        Args:   is_new: whether this process compiles.
        Raises: RuntimeError of PyTorch, for a process that does not come.
        """
        world = dist.get_world_size()
        if world == 1:
            return is_new
        store = _get_default_store()
        self._count += 1
        here = f"ttc/{self._name}/pass {self._count}"
        come = store.add(here, 1 + _NEW * is_new)
        if come % _NEW == world:
            store.set(f"{here}/begins", str(int(come >= _NEW)))
            before = f"ttc/{self._name}/pass {self._count - 1}"  # which all have left
            for key in (before, f"{before}/begins"):
                store.delete_key(key)
        else:
            self._wait(store, f"{here}/begins")
        return store.get(f"{here}/begins") == b"1"

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let others know that this process compiles meanwhile in a pass that they may have no part in."""
        if dist.get_world_size() == 1:
            yield
            return
        store, key = _get_default_store(), f"ttc/compiles/{self._mesh.rank}"
        store.set(key, "alone")
        try:
            yield
        finally:
            store.delete_key(key)

    def _wait(self, store: dist.Store, key: str) -> None:  # pyright: ignore[reportPrivateImportUsage]
        end = monotonic() + COMPILING.total_seconds()
        while True:
            try:
                return store.wait([key], timedelta(seconds=self._mesh.patience))
            except RuntimeError:
                others = [f"ttc/compiles/{rank}" for rank in range(dist.get_world_size())]
                if monotonic() > end or not any(store.check([other]) for other in others):
                    raise
