"""From users' arrays to entries of queues, and back: checks, conversions, microbatches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.batch_axis import OUTERMOST
from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.formats.text import STRING
from ttc.dialects.core.kernels.text import given_texts, widened
from ttc.dialects.core.plain.functions import TensorType
from ttc.dialects.netlist.model import Argument, Program
from ttc.runtime.machine.rings import Entries


def inputs_of(program: Program) -> list[Argument]:
    """Return the arguments that the user gives, in order."""
    return [a for a in program.arguments if a.kind == "input"]


def outputs_of(program: Program) -> list[Argument]:
    """Return the results that the user gets, in order."""
    return [r for r in program.results if r.kind == "output"]


def check_names(program: Program, given: Mapping[str, Any]) -> None:
    """Raises E0801 if an input is missing, a name is not one of an input, or there are no names."""
    names = [a.name for a in inputs_of(program)]
    if not isinstance(given, Mapping):
        message = f"inputs are arrays by name, not a {type(given).__name__}"
        raise Error("E0801", message, hint=f"a mapping of {', '.join(names)}; called itself, the program takes arrays in that order")
    unknown = [name for name in given if name not in names]
    if unknown:
        raise Error("E0801", f"program '{program.name}' has no input '{unknown[0]}'", hint=nearest(str(unknown[0]), names))
    missing = [name for name in names if name not in given]
    if missing:
        raise Error("E0801", f"program '{program.name}' lacks its input{'s' * (len(missing) > 1)} {', '.join(missing)}")


def entries_of(argument: Argument, queue: Entries) -> int:
    """Return how many entries of a queue make up the user's array, or the queue's share of it where several carry it.

    Raises: E0602 if no number of them does.
    """
    if -1 in argument.shape or -1 in queue.tensor.shape:
        return 1
    whole, entry = prod(argument.shape), prod(queue.tensor.shape) * argument.shares
    count = whole // entry if argument.streamed and entry else 1
    if count * entry != whole or count > queue.entries:
        shapes = f"{list(argument.shape)} into {queue.entries} of {list(queue.tensor.shape)}"
        raise Error("E0602", f"'{argument.name}' does not fit the entries of queue '{queue.name}': {shapes}")
    return count


def to_entries(argument: Argument, queue: Entries, value: Any) -> list[NDArray]:
    """Return a user's array as entries of a queue, in the compute dtype of its format.

    Args:    value: an array of exactly the argument's shape and dtype, or Python numbers (nested lists of them).
    Raises:  E0801 for another shape or dtype, E0802 for an integer that the queue's format cannot hold.
    """
    if -1 in queue.tensor.shape:
        return [widened(_converted(argument, queue.tensor, value))]
    count = entries_of(argument, queue) * argument.shares
    whole = widened(_converted(argument, queue.tensor, value))
    if not argument.streamed or count == 1:
        return [whole.reshape(queue.tensor.shape)]
    return [np.ascontiguousarray(part).reshape(queue.tensor.shape) for part in argument.batch.parts(whole, count)]


def entries_by_queue(argument: Argument, queues: Mapping[str, Entries], value: Any) -> dict[str, list[NDArray]]:
    """Return a user's array as entries of each queue that carries it.  Raises as `to_entries` does."""
    entries = to_entries(argument, queues[argument.queue], value)
    if argument.shares == 1:
        return dict.fromkeys(argument.queues, entries)
    each = len(entries) // argument.shares
    return {queue: entries[number * each : (number + 1) * each] for number, queue in enumerate(argument.queues)}


def to_entry(argument: Argument, entry: TensorType, value: Any) -> NDArray:
    """Return a user's array as the one entry of a queue that it makes up; text of numpy's own as it is.  Raises as `to_entries` does."""
    converted = _converted(argument, entry, value)
    return converted if -1 in entry.shape else converted.reshape(entry.shape)


def _converted(argument: Argument, entry: TensorType, value: Any) -> NDArray:
    return _to_format(argument.name, check_array(argument.name, value, argument.shape, argument.dtype), entry.format)


def from_entries(argument: Argument, entries: Sequence[NDArray]) -> NDArray:
    """Return entries as an array of the argument's shape and dtype that nobody else holds. Raises E0602 if they do not make one up."""
    whole = entries[0] if len(entries) == 1 else _joined(argument, entries)
    with np.errstate(over="ignore"):  # what a narrower float cannot hold is infinite
        value = np.array(whole, np.dtype(argument.dtype), order="C", copy=True)
    if -1 in argument.shape:
        return value
    if value.size != prod(argument.shape):
        raise Error("E0602", f"result '{argument.name}' has {value.size} elements, not {list(argument.shape)}")
    return value.reshape(argument.shape)


def _joined(argument: Argument, entries: Sequence[NDArray]) -> NDArray:
    """Return several entries as one array: microbatches stand where the argument holds them, if they make it up."""
    count, fits = len(entries), argument.batch.fits(argument.shape, len(entries))
    if argument.batch == OUTERMOST or not fits or sum(entry.size for entry in entries) != prod(argument.shape):
        return np.stack(entries)
    return argument.batch.joined([entry.reshape(argument.batch.resized(argument.shape, count, 1)) for entry in entries])


def check_array(name: str, value: Any, shape: Sequence[int], dtype: str) -> NDArray:
    """Return the value as a C-contiguous array of this shape (-1: any size) and dtype; text of numpy's own as it is.

    Arrays must have the dtype already; Python numbers take it if they are of its kind.  Raises E0801.
    """
    expected = np.dtype(dtype)
    if expected == STRING:
        return _fitting(name, given_texts(value, f"input '{name}'"), shape)
    array = _from_python(name, value, expected) if isinstance(value, bool | int | float | list | tuple) else np.asarray(value)
    if array.dtype.newbyteorder("=") != expected:
        raise Error("E0801", f"input '{name}' is of type {array.dtype}, not {dtype}", hint=f"convert it: array.astype('{dtype}')")
    return np.asarray(_fitting(name, array, shape), expected, order="C")


def _fitting(name: str, array: NDArray, shape: Sequence[int]) -> NDArray:
    if array.ndim != len(shape) or any(s not in (-1, n) for s, n in zip(shape, array.shape, strict=True)):
        raise Error("E0801", f"input '{name}' has shape {list(array.shape)}, not {_shape_text(shape)}")
    return array


def _from_python(name: str, value: Any, dtype: np.dtype) -> NDArray:
    try:
        array = np.asarray(value)
        if np.can_cast(array.dtype, dtype, "same_kind") or array.size == 0:
            return np.asarray(value, dtype)
    except (ValueError, TypeError, OverflowError) as error:
        raise Error("E0801", f"input '{name}' does not make an array of type {dtype}: {error}") from None
    return array


def _shape_text(shape: Sequence[int]) -> str:
    return "[" + ", ".join("?" if d == -1 else str(d) for d in shape) + "]"


def _to_format(name: str, array: NDArray, format: str) -> NDArray:
    """Return values as a queue of that format holds them.  Raises E0802 if an integer is out of its range."""
    if array.dtype.kind == "U":
        return array
    format_ = format_named(format)
    require_in_range(f"input '{name}'", array, format)
    with np.errstate(over="ignore"):  # what a narrower float cannot hold is infinite
        return format_.round(array.astype(format_.compute, copy=False))


def require_in_range(what: str, array: NDArray, format: str) -> None:
    """Raises E0802 if an integer is out of the range of the format that is to hold it."""
    dtype = format_named(format).compute
    if array.dtype.kind not in "iu" or dtype.kind not in "iu" or not array.size:
        return
    limits = np.iinfo(dtype)
    low, high = int(array.min()), int(array.max())
    if low < limits.min or high > limits.max:
        raise Error("E0802", f"{what} holds {low if low < limits.min else high}, which {format} cannot hold")
