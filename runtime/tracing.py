"""Records what happens when, for as long as somebody wants to know: runs and their jobs, compilations, waits, regions of the user.

    recording = Recording()
    recording.start()              # several may go on at a time
    with region("step"), span("compile", "model"):
        ...
    recording.stop()
    recording.events

While nobody records, a run costs nothing more: sessions watch their plans (`machine/watched.py`) only while somebody does.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ContextDecorator, contextmanager, nullcontext
from time import perf_counter_ns, time_ns
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ttc.dialects.core.records import record

if TYPE_CHECKING:
    from ttc.runtime.program import Program

Kind: TypeAlias = Literal["region", "run", "graph", "job", "compile", "load", "stall"]
MAX_EVENTS = 1_000_000
"""The most events that a recording keeps; later ones are only counted."""


@record(slots=True)
class Event:
    """Something that happened in a thread, and took time.

    Args:
        thread: in which it happened, as the system numbers threads.
        start_ns, end_ns: on the clock of `time.perf_counter_ns`.
        told: what else is known.
    """

    kind: Kind
    name: str
    thread: int
    start_ns: int
    end_ns: int
    told: Mapping[str, Any]


class Recording:
    """Events between a start and a stop; thread-safe."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.lost = 0
        """Events that came when there was no room for more."""
        self.threads: dict[int, str] = {}
        """Names of the threads in which something happened."""
        self.programs: dict[int, Program] = {}
        """Programs that ran, by the number that events of runs have."""
        self.start_ns = 0
        """When it began, on the clock of events."""
        self.since_1970_ns = 0
        """The same, as nanoseconds since 1970."""

    def start(self) -> None:
        """Begin to record, or go on with it."""
        global _RECORDINGS
        with _LOCK:
            if self not in _RECORDINGS:
                if not self.start_ns:
                    self.start_ns, self.since_1970_ns = perf_counter_ns(), time_ns()
                _RECORDINGS = (*_RECORDINGS, self)
        _tell()

    def stop(self) -> None:
        """Stop recording; what was recorded stays, and `start` goes on."""
        global _RECORDINGS
        with _LOCK:
            _RECORDINGS = tuple(each for each in _RECORDINGS if each is not self)
        _tell()

    def add(self, event: Event) -> None:
        """Keep an event, if there is room."""
        if len(self.events) >= MAX_EVENTS:
            self.lost += 1
            return
        if event.thread not in self.threads:
            self.threads[event.thread] = threading.current_thread().name
        self.events.append(event)


class region(ContextDecorator):  # noqa: N801  a function to its users
    """Name what happens inside, in traces: a context manager, or a decorator of functions.

    Args:
        name: of the region; regions lie in each other.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> region:
        _regions().append((self.name, perf_counter_ns()))
        return self

    def __exit__(self, *error: object) -> None:
        name, start_ns = _regions().pop()
        if _RECORDINGS:
            _note("region", name, start_ns, {})


def span(kind: Kind, name: str, **told: Any) -> AbstractContextManager[None]:
    """Record what is inside as one event, if somebody records."""
    return _span(kind, name, told) if _RECORDINGS else nullcontext()


@contextmanager
def _span(kind: Kind, name: str, told: Mapping[str, Any]) -> Iterator[None]:
    start = perf_counter_ns()
    try:
        yield
    finally:
        _note(kind, name, start, told)


def _note(kind: Kind, name: str, start_ns: int, told: Mapping[str, Any]) -> None:
    add(Event(kind, name, threading.get_native_id(), start_ns, perf_counter_ns(), told))


def recordings() -> Sequence[Recording]:
    """Return those that record now."""
    return _RECORDINGS


def on_change(told: Callable[[], None]) -> None:
    """Have a function called whenever somebody has begun or ended to record."""
    _TOLD.append(told)


def path_of_regions() -> str:
    """Return the names of the regions that this thread is in, the outermost first, with slashes between them."""
    return "/".join(name for name, _ in _regions())


def add(event: Event) -> None:
    """Give an event to all who record."""
    for recording in _RECORDINGS:
        if event.start_ns >= recording.start_ns:
            recording.add(event)


def _tell() -> None:
    for told in _TOLD:
        told()


def _regions() -> list[tuple[str, int]]:
    """The regions that this thread is in, the outermost first, with their starts."""
    try:
        return _HERE.regions
    except AttributeError:
        _HERE.regions = []
        return _HERE.regions


def _after_fork() -> None:
    """In a child: nothing is recorded, as nobody there would write it."""
    global _LOCK, _RECORDINGS
    _LOCK, _RECORDINGS = threading.Lock(), ()


_RECORDINGS: tuple[Recording, ...] = ()
_TOLD: list[Callable[[], None]] = []
_LOCK = threading.Lock()
_HERE = threading.local()
os.register_at_fork(after_in_child=_after_fork)
