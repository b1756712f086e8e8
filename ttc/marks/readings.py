"""Values of probes as they are shown: to the standard error output, a file, or a function."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.dialects.nn.kernels.probe import OUTPUT


@record(eq=False)
class ProbeReading:
    """A value that a probe has seen.

    Args:
        name: of the probe; that of a gradient ends in `_gradient`.
        value: as it was; a copy.
        microbatch: since the last update, counted from 0, and in pipelines since the start; None in PyTorch itself, outside of pipelines.
        replica, stage: likewise.
    """

    name: str
    value: NDArray[Any]
    microbatch: int | None = None
    replica: int | None = None
    stage: int | None = None

    @property
    def nans(self) -> int:
        """The number of elements that are NaN."""
        return int(np.isnan(self.value).sum()) if self.value.dtype.kind in "fV" else 0

    @property
    def infinities(self) -> int:
        """The number of elements that are infinite."""
        return int(np.isinf(self.value).sum()) if self.value.dtype.kind in "fV" else 0

    def __str__(self) -> str:
        places = [f"{what} {at}" for what in ("microbatch", "replica", "stage") if (at := getattr(self, what)) is not None]
        bad = [f"{count} {what}" for count, what in ((self.nans, "NaN"), (self.infinities, "infinite")) if count]
        head = ", ".join([f"{self.name}: {self.value.dtype}{list(self.value.shape)}", *places, *bad])
        return f"{head}\n{np.array2string(self.value, threshold=1000, edgeitems=3)}"


Sink: TypeAlias = "Callable[[ProbeReading], None] | str | os.PathLike[str]"
"""Takes readings: `print`, a function, or the path of a file that lines are added to."""


@record(slots=True)
class Watch:
    """The watch on a probe: what is done with its readings.

    Args:
        sink: that gets them.
        only_bad: whether it gets those alone that hold a NaN or an infinity.
    """

    sink: Sink
    only_bad: bool = False


WATCHES: dict[str, Watch] = {}
"""The watch of each probe by its name, as the model's code was last run or traced; a name has one in a process."""


def watch(name: str, sink: Sink, *, only_bad: bool) -> None:
    """Note what is done with the readings of a probe.  Raises E0101 for a name or sink that cannot be."""
    if not isinstance(name, str) or not name or any(c in name for c in "#\n"):
        raise Error("E0101", f"a probe cannot be called {name!r}", hint="a name is text without '#'")
    if not (callable(sink) or isinstance(sink, str | os.PathLike)):
        raise Error("E0101", f"a {type(sink).__name__} is no sink", hint="'print', a function of a reading, or the path of a file")
    WATCHES[name] = Watch(sink, only_bad)


_NOWHERE: Mapping[str, int] = MappingProxyType({})
_PLACE: ContextVar[Mapping[str, int]] = ContextVar("place", default=_NOWHERE)
"""Where the model that PyTorch computes now stands: stage and microbatch."""


@contextmanager
def reading_at(**place: int) -> Iterator[None]:
    """Let readings in PyTorch itself, inside the block, say their microbatch and stage."""
    before = _PLACE.set(place)
    try:
        yield
    finally:
        _PLACE.reset(before)


def show(reading: ProbeReading) -> None:
    """Give a reading to the sink of its probe; one that nobody watches is printed.  Raises E0103 for a file that cannot be written."""
    if reading.microbatch is None and _PLACE.get():
        reading = replace(reading, **_PLACE.get())
    found = WATCHES.get(_probe_of(reading.name), Watch("print"))
    if found.only_bad and not reading.nans and not reading.infinities:
        return
    if callable(found.sink):
        found.sink(reading)
    elif found.sink == "print":
        print(reading, file=sys.stderr)
    else:
        path = Path(found.sink)
        try:
            with path.open("a", encoding="utf-8") as file:
                file.write(f"{reading}\n")
        except OSError as error:
            raise Error("E0103", f"cannot write {path}: {error.strerror}") from None


def _probe_of(name: str) -> str:
    """Return the name that a probe was given: gradients, and further probes of the name, have more behind it."""
    plain = name.removesuffix("_gradient")
    head, _, number = plain.rpartition(".")
    return next((known for known in (name, plain, head if number.isdigit() else plain) if known in WATCHES), plain)


def show_outputs(
    outputs: Mapping[str, NDArray[Any]], *, microbatch: int, replica: int | None = None, stage: int | None = None
) -> dict[str, NDArray[Any]]:
    """Show what outputs of a run are values of probes, in their order, and return the others."""
    for name, value in outputs.items():
        if name.startswith(OUTPUT):
            label, _, number = name.removeprefix(OUTPUT).partition("#")
            show(ProbeReading(label, np.array(value), microbatch + int(number or 0), replica, stage))
    return {name: value for name, value in outputs.items() if not name.startswith(OUTPUT)}
