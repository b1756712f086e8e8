"""What was compiled for each set of shapes that calls have had; those used longest ago are given up."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from numpy.typing import NDArray

from ttc.dialects.core.errors import Error

KEPT = 8
"""The most signatures whose programs are kept."""
T = TypeVar("T")


class Signatures(Generic[T]):
    """Programs by the signature of the arrays that they are for.

    Args:
        recompile: `again`: another signature compiles again; `error`: it is an error.
        drop: is called with what is given up.
    """

    def __init__(self, recompile: str, drop: Callable[[T], None]) -> None:
        self._recompile = recompile
        self._drop = drop
        self._known: OrderedDict[Hashable, T] = OrderedDict()
        self.compilations = 0
        """How often something was compiled."""

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what was made for a signature, or make it.  Raises E0801 for another signature than the first where that is an error."""
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        if self._known and self._recompile == "error":
            hint = "recompile='again' compiles for each signature"
            raise Error("E0801", f"arrays are {_text(key)}, not {_text(next(iter(self._known)))} as in the first call", hint=hint)
        made = self._known[key] = make()
        self.compilations += 1
        if len(self._known) > KEPT:
            self._drop(self._known.popitem(last=False)[1])
        return made

    def clear(self) -> None:
        """Give up what was made for all signatures."""
        while self._known:
            self._drop(self._known.popitem()[1])


class CompiledByCalls(Generic[T]):
    """What executors share that compile for the calls they get: programs by signature, which closing gives up."""

    def __init__(self, recompile: str, drop: Callable[[T], None]) -> None:
        """recompile, drop: as `Signatures` takes them."""
        self._known: Signatures[T] = Signatures(recompile, drop)
        self._closed = False

    @property
    def compilations(self) -> int:
        """How often the model was compiled."""
        return self._known.compilations

    def close(self) -> None:
        """Give up the memory of all sessions; further calls raise E0803."""
        self._known.clear()
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def signature_of(arrays: Mapping[str, NDArray[Any]] | list[NDArray[Any]], pieces: int) -> tuple[tuple[tuple[int, ...], Any], ...]:
    """Return shapes and dtypes of one microbatch of arrays that hold so many."""
    values = arrays.values() if isinstance(arrays, Mapping) else arrays
    return tuple(((x.shape[0] // pieces, *x.shape[1:]) if x.ndim else (), x.dtype) for x in values)


def _text(key: Any) -> str:
    return ", ".join(f"{dtype}{list(shape)}" for shape, dtype in key)
