"""Values of inputs that a model is compiled for: read from .npy files or arrays, and back from what a module records."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import ml_dtypes  # noqa: F401  numpy knows bfloat16 by its name
import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import module_attr
from ttc.dialects.core.records import record
from ttc.inputs.files import require_input
from ttc.inputs.npy_files import read_header, reading_bundle
from ttc.passes.recorded_inputs import absent_inputs, fixed_inputs
from ttc.runtime.contract import ABSENT, MAX_ELEMENTS, known_values

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

_FORM = "it takes NAME=FILE.npy, a number or truth value NAME=16000, NAME=none or NAME=sequence, each name once"
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")
_TRUTH = {"true": True, "false": False}


@record
class InputValue:
    """What is known of one input.

    Args:
        name: of the input; `s[0]` for an item of a sequence.
        kind: numpy's name of the dtype, or one of ABSENT for an optional without an element and an empty sequence.
        shape: of the array.
        data: its bytes; empty where values never count: of floating-point inputs, and of more integers than a program can be made for.
    """

    name: str
    kind: str
    shape: tuple[int, ...] = ()
    data: bytes = b""

    @staticmethod
    def of(name: str, array: NDArray) -> InputValue:
        """Return the value of an input. Raises ValueError for elements that are no numbers."""
        if array.dtype.kind not in "iubfcV":
            raise ValueError(f"its elements are {array.dtype}, which are no numbers")
        dtype = array.dtype.newbyteorder("=")
        counts = dtype.kind in "iub" and array.size <= MAX_ELEMENTS
        return InputValue(name, str(dtype), tuple(array.shape), array.astype(dtype).tobytes() if counts else b"")

    def array(self) -> NDArray | None:
        """Return the array; zeros without memory where values do not count; None for what is absent."""
        if self.kind in ABSENT:
            return None
        dtype = np.dtype(self.kind)
        if dtype.kind in "iub" and len(self.data) == prod(self.shape) * dtype.itemsize:
            return np.frombuffer(self.data, dtype).reshape(self.shape)
        return np.broadcast_to(np.zeros((), dtype), self.shape)


def read_values(raw: Any) -> tuple[InputValue, ...]:
    """Return values by name: from `NAME=FILE.npy` and `NAME=16000` texts, or a mapping of names to arrays, paths, lists of these, and None.

    Raises ValueError, and E0102 or E0801 for a file.
    """
    if isinstance(raw, str):
        raw = raw.split(",")
    pairs = list(raw.items()) if isinstance(raw, Mapping) else [item if isinstance(item, InputValue) else _split(item) for item in raw]
    found = [value for pair in pairs for value in ([pair] if isinstance(pair, InputValue) else _values(*pair))]
    if len({value.name for value in found}) != len(found):
        raise ValueError(_FORM)
    return tuple(sorted(found, key=lambda value: value.name))


def values_of(given: Sequence[InputValue]) -> dict[str, NDArray | None]:
    """Return the values of inputs by name, as importers take them."""
    return {value.name: value.array() for value in given}


def recorded_values(module: ModuleOp) -> dict[str, NDArray | None]:
    """Return the values that a module was made for, as its attributes record them, so that its model can be imported again. Raises
    E0302.
    """
    items = module_attr(module, "item_inputs") or ()
    if not isinstance(items, tuple) or any(tuple(map(type, row)) != (str, tuple, str) for row in items):
        raise Error("E0302", 'ttc.item_inputs does not hold rows like ["s[0]", array<i64: 3>, "float32"]')
    try:
        found: dict[str, NDArray | None] = {name: np.broadcast_to(np.zeros((), dtype), shape) for name, shape, dtype in items}
    except (ValueError, TypeError) as error:
        raise Error("E0302", f"ttc.item_inputs holds a type that no tensor has: {error}") from None
    found.update({name: None for name, _ in absent_inputs(module_attr(module, "absent_inputs"))})
    return {**found, **known_values(fixed_inputs(module_attr(module, "fixed_inputs")))}


def _split(text: Any) -> tuple[str, str]:
    """`NAME=FILE`; either may hold `=`: of the ways to split it, the first whose file exists counts."""
    if not isinstance(text, str) or "=" not in text:
        raise ValueError(_FORM)
    places = [index for index, character in enumerate(text) if character == "=" and index]
    ways = [(text[:index], text[index + 1 :]) for index in places]
    if not ways:
        raise ValueError(_FORM)
    return next((way for way in ways if way[1] in ABSENT or _number(way[1]) is not None or Path(way[1]).is_file()), ways[0])


def _number(text: str) -> NDArray | None:
    """Return the array of rank 0 of a whole number or truth value; None for other text, which names a file."""
    if text in _TRUTH:
        return np.array(_TRUTH[text])
    return np.array(int(text), np.int64) if _NUMBER.fullmatch(text) else None


def _values(name: Any, value: Any) -> list[InputValue]:
    """Return the values of one name: several for a list, which is a sequence."""
    if not isinstance(name, str) or not name:
        raise ValueError(_FORM)
    if value is None or (isinstance(value, str) and value in ABSENT):
        return [InputValue(name, value or ABSENT[0])]
    if isinstance(value, list | tuple):
        return [item for i, x in enumerate(value) for item in _values(f"{name}[{i}]", x)] or [InputValue(name, ABSENT[1])]
    if isinstance(value, str):
        number = _number(value)
        return [InputValue.of(name, _read(Path(value)) if number is None else number)]
    return [InputValue.of(name, _read(value) if isinstance(value, Path) else np.asarray(value))]


def read_examples(files: Sequence[str], bundle: Path | None) -> dict[str, NDArray]:
    """Return example arrays by input name, as far as a compilation looks at them: shapes and types, and what few integers hold.

    Args:
        files: `NAME=FILE.npy` texts.
        bundle: an .npz file with one array an input.
    Raises: E0101, E0102, E0801.
    """
    found: dict[str, NDArray] = {}
    for text in files:
        try:
            name, path = _split(text)
        except ValueError:
            raise Error("E0101", f"--input cannot be '{text}'", hint="it takes NAME=FILE.npy") from None
        if name in found:
            raise Error("E0801", f"input '{name}' is given twice")
        with _opened(Path(path)) as file:
            found[name] = _example(file, path)
    for name, array in ({} if bundle is None else _bundled(bundle)).items():
        if name in found:
            raise Error("E0801", f"input '{name}' is given twice")
        found[name] = array
    return found


def _bundled(path: Path) -> dict[str, NDArray]:
    """Return the arrays of an .npz file, as `_example` gives them.  Raises E0102, E0801."""
    with reading_bundle(path) as archive:
        names = {info.filename: info.filename.removesuffix(".npy") for info in archive.infolist()}
        if len(set(names.values())) != len(archive.infolist()):
            raise Error("E0801", "an array stands in it twice", where=str(path))
        found: dict[str, NDArray] = {}
        for member, name in names.items():
            with archive.open(member) as file:
                found[name] = _example(file, f"{path}:{member}")
        return found


def _read(path: Path) -> NDArray:
    """Return the integers of a .npy file; of any other, its shape and type alone.  Raises ValueError, E0102, E0801."""
    with _opened(path) as file:
        array = _example(file, str(path))
    if array.dtype.kind in "iub" and array.size > MAX_ELEMENTS:
        raise ValueError(f"{path.name} holds {array.size} integers; a program can be made for at most {MAX_ELEMENTS} of one input")
    return array


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    try:
        with require_input(path).open("rb") as file:
            yield file
    except OSError as error:
        raise Error("E0102", f"cannot read {path}: {error.strerror}") from None


def _example(file: IO[bytes], where: str) -> NDArray:
    """Return the array of a .npy stream if it holds few integers; else zeros of its shape and type, without memory.  Raises E0801."""
    shape, fortran, dtype = read_header(file, where)
    if dtype.kind not in "iub" or prod(shape) > MAX_ELEMENTS:
        return np.broadcast_to(np.zeros((), dtype), shape)
    data = file.read(prod(shape) * dtype.itemsize)
    if len(data) != prod(shape) * dtype.itemsize:
        raise Error("E0801", "the file is cut short", where=where)
    return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")
