"""Errors of processes that wait for others: they say which one has ended, hangs or failed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from threading import Event
from time import monotonic, sleep

import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import _get_default_store

from ttc.dialects.core.errors import Error
from ttc.dist.processes import Mesh

NOTES_SECONDS = 5.0
"""How long a process that waited in vain waits for others to say that they did, too."""
COMPILING = timedelta(seconds=600)
"""How long, in seconds, processes wait for each other to compile."""
_OF_OTHERS = re.compile(r"connection (closed|reset|refused)|timed? ?out|broken pipe|gloo", re.IGNORECASE)
_WAITS = "waits"
_NOTED = Event()
"""Set while this process says of itself that it waits or failed."""


@contextmanager
def naming(mesh: Mesh, what: str) -> Iterator[None]:
    """Let communication that fails end with an error that names the process to blame, and others know of failures of this one.

    Raises: E0811 where another process has ended, hangs or failed.
    """
    _forget(mesh.rank)  # a script that goes on has dealt with what it failed in
    try:
        yield
    except Exception as error:
        if isinstance(error, Error) or not _OF_OTHERS.search(str(error)):
            _note(mesh.rank, f"failed in {what}: {error}"[:500])
            raise
        raise Error("E0811", _blame(mesh, what), hint="start all processes again: torchrun --max-restarts does") from error


def meet(mesh: Mesh, what: str) -> None:
    """Wait until all processes have come here, for as long as compiling may take.  Raises E0811."""
    store = _get_default_store()
    store.set(f"ttc/{what}/{mesh.rank}", "here")
    try:
        store.wait([f"ttc/{what}/{rank}" for rank in range(dist.get_world_size())], COMPILING)
    except RuntimeError as error:
        raise Error("E0811", f"not all processes have come to {what}") from error


@contextmanager
def together(mesh: Mesh, what: str, code: str, otherwise: str) -> Iterator[None]:
    """Let the block succeed in all processes, or end in an error in all.  Processes wait for as long as compiling may take."""
    failure: Exception | None = None
    try:
        yield
    except Exception as error:
        failure = error
    meet(mesh, what)
    failed = torch.tensor(0 if failure is None else 1)
    dist.all_reduce(failed)
    if failure is not None:
        raise failure
    if failed:
        raise Error(code, f"another process {otherwise}", hint="its own error says why")


def _forget(rank: int) -> None:
    if _NOTED.is_set():
        _NOTED.clear()
        with suppress(RuntimeError):  # the process that keeps the store has ended: the communication that follows says so
            _get_default_store().delete_key(f"ttc/notes/{rank}")


def _note(rank: int, text: str) -> None:
    _NOTED.set()
    with suppress(RuntimeError):  # the process that keeps the store has ended: there is nobody to tell
        _get_default_store().set(f"ttc/notes/{rank}", text)


def _blame(mesh: Mesh, what: str) -> str:
    """Return which process the failure of communication is due to, by what the others say of themselves."""
    _note(mesh.rank, _WAITS)
    others = [rank for rank in range(dist.get_world_size()) if rank != mesh.rank]
    end = monotonic() + NOTES_SECONDS
    try:
        store = _get_default_store()
        while monotonic() < end and not all(store.check([f"ttc/notes/{rank}"]) for rank in others):
            sleep(0.1)
        notes = {rank: store.get(f"ttc/notes/{rank}").decode() for rank in others if store.check([f"ttc/notes/{rank}"])}
    except RuntimeError:
        return f"process 0, which keeps the store of the run, has ended in {what}"
    for rank, note in notes.items():
        if note != _WAITS:
            return f"process {rank} {note}"
    silent = [str(rank) for rank in others if rank not in notes]
    if not silent:
        return f"all processes wait for each other in {what}"
    return f"process {', '.join(silent)} {'has' if len(silent) == 1 else 'have'} ended or hang{'s' if len(silent) == 1 else ''} in {what}"
