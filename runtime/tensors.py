"""Where the values of stored tensors come from, and how they turn into stored bytes and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import prod
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.formats import Format, format_named
from ttc.dialects.core.plain.weights import Weight
from ttc.dialects.core.records import record

_CHUNK_BYTES = 1 << 23


def _keep() -> None:
    """What releasing a source does that cannot be loaded again."""


@record
class TensorSource:
    """A tensor of a program, loaded when it is needed.

    Args:
        shape: elements a dimension.
        format: name of the data format that it is stored in.
        load: its value, in any dtype that the format converts from; an array of the storage dtype is taken as it is: the value packed.
        release: called when the value will not be needed soon.
    """

    shape: tuple[int, ...]
    format: str
    load: Callable[[], NDArray]
    release: Callable[[], None] = _keep

    @staticmethod
    def of_weight(weight: Weight, format: str) -> TensorSource:
        """Return a weight of a compile session, to be stored in a format."""
        return TensorSource(weight.shape, format, weight.value, weight.release)

    @staticmethod
    def of_array(value: NDArray, format: str) -> TensorSource:
        """Return a value at hand, to be stored in a format."""
        return TensorSource(value.shape, format, lambda: value)

    @property
    def size_bytes(self) -> int:
        """The bytes of the stored value."""
        return format_named(self.format).size_bytes(self.shape)

    def chunks(self) -> Iterator[memoryview]:
        """Yield the stored bytes, in pieces of bounded size.  Raises E0901 if the value is not of the shape announced."""
        format_ = format_named(self.format)
        value = self._loaded(format_)
        in_rows = format_.is_block and value.dtype != format_.storage and value.ndim > 0
        columns = max(value.shape[-1], 1) if in_rows else 1
        rows = value.reshape(value.size // columns, columns)
        step = max(_CHUNK_BYTES // (columns * max(format_.storage.itemsize, rows.dtype.itemsize)), 1)
        for start in range(0, len(rows), step):
            yield format_.pack(rows[start : start + step]).reshape(-1).view(np.uint8).data
        del value, rows
        self.release()

    def repeated(self) -> bytes | None:
        """Return the stored bytes of one element if all are the same, bit by bit; None if they differ, share exponents, or there is only
        one.
        """
        format_ = format_named(self.format)
        if format_.is_block or prod(self.shape) < 2:
            return None
        first: bytes | None = None
        for chunk in self.chunks():
            elements = np.frombuffer(chunk, np.uint8).reshape(-1, format_.storage.itemsize)
            if first is None:
                first = bytes(elements[0])
            if not (elements == np.frombuffer(first, np.uint8)).all():
                return None
        return first

    def value(self) -> NDArray:
        """Return the value as engines hold it: rounded to the format, in its compute dtype; read-only."""
        format_ = format_named(self.format)
        loaded = self._loaded(format_)
        found = _unpack(format_, loaded, self.shape) if loaded.dtype == format_.storage else format_.round(loaded)
        value = np.asarray(found).view()  # numpy gives scalars for arrays of rank 0
        value.flags.writeable = False
        return value

    def _loaded(self, format_: Format) -> NDArray:
        value = self.load()
        announced = format_.stored_shape(self.shape) if value.dtype == format_.storage else self.shape
        if value.shape != announced:
            raise Error("E0901", f"a tensor has shape {list(value.shape)} where {list(announced)} was announced")
        return value


def _unpack(format_: Format, stored: NDArray, shape: tuple[int, ...]) -> NDArray:
    """Stored elements in the compute dtype; bytes of a Bool other than 0 and 1 count as true."""
    return stored.view(np.uint8) != 0 if stored.dtype == np.bool_ else format_.unpack(stored, shape)


class Constants:
    """Values of a program's tensors by key, as engines hold them; each is unpacked once, when first asked for.  Thread-safe."""

    def __init__(self, sources: Mapping[str, TensorSource], values: Mapping[str, NDArray] | None = None) -> None:
        self.sources = dict(sources)
        self._values: dict[str, NDArray] = dict(values or {})
        self._lock = Lock()

    def __contains__(self, key: str) -> bool:
        return key in self.sources

    def __getitem__(self, key: str) -> NDArray:
        with self._lock:
            found = self._values.get(key)
            if found is None:
                found = self._values[key] = self._source(key).value()
            return found

    def narrow(self, key: str) -> NDArray:
        """Return a value in the dtype it is stored in where numpy computes with that, such as bfloat16: a view of the archive; else as
        `[key]`.
        """
        format_ = format_named(self._source(key).format)
        if not format_.is_float or format_.storage.names is not None or format_.storage == format_.compute:
            return self[key]
        stored = self._source(key).load()
        return stored if stored.dtype == format_.storage else self[key]

    def release(self, key: str) -> None:
        """Forget a value that will not be needed soon; it is loaded again when it is."""
        with self._lock:
            self._values.pop(key, None)
        self._source(key).release()

    def replaced(self, changes: Mapping[str, TensorSource]) -> Constants:
        """Return these constants with some of them changed; the values of all others are shared."""
        with self._lock:
            kept = {k: v for k, v in self._values.items() if k not in changes}
        return Constants({**self.sources, **changes}, kept)

    def _source(self, key: str) -> TensorSource:
        found = self.sources.get(key)
        if found is None:
            raise Error("E0304", f"the program holds no tensor '{key}'", hint=nearest(key, self.sources))
        return found
