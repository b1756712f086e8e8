"""Where the rows of a matrix product lie: rows at a fixed stride, or the windows of an image.

A product computes rows 0 ... of a matrix c from those of a.  `DenseRows`: row r of every tensor is at r times its stride, and of one run of
channels.  `WindowRows`: row r is the window (image, y, x) of a convolution over images with channels last, and each of its taps a run of
channels; a tap outside the image points at zeros.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value, Variable
    from ttc.runtime.engines.native.ir.writer import Writer
    from ttc.runtime.engines.native.kernels.words import Words

POINTER_BYTES = 8


@dataclass(frozen=True)
class Rows(ABC):
    """How rows are found.

    has_borders: whether rows may point at zeros.
    """

    has_borders: ClassVar[bool] = False

    @abstractmethod
    def names(self, tensors: Sequence[str]) -> tuple[str, ...]:
        """Of the words of a job that tell of these tensors' rows, `a` among them; all strides in bytes."""

    @abstractmethod
    def emit(self, f: Writer, words: Words, bases: dict[str, Value], span: tuple[Value, Value], table: Table) -> None:
        """Write addresses of rows [first, first + count) into a table.  bases: addresses of the tensors in this batch."""

    @abstractmethod
    def left(self, f: Writer, words: Words, base: Value, first: Value, count: int, table: Table, tap: Value) -> list[Value]:
        """Addresses of the left operand's rows at a tap.  base: of the left operand in this batch."""


@dataclass(frozen=True)
class Table:
    """Memory for addresses: of rows of tensors, and of the left operand's rows a tap.

    Args:
        tensors: addresses of `rows` pointers each, by tensor.
        taps: address of `rows` pointers a tap.
        zeros: address of as many zeros as a tap has channels.
        rows: of a block at most.
    """

    tensors: dict[str, Value]
    taps: Value
    zeros: Value
    rows: int


@dataclass(frozen=True)
class DenseRows(Rows):
    """Rows at a fixed stride."""

    def names(self, tensors: Sequence[str]) -> tuple[str, ...]:
        return tuple(f"{tensor}_row" for tensor in tensors)

    def emit(self, f: Writer, words: Words, bases: dict[str, Value], span: tuple[Value, Value], table: Table) -> None:
        first, count = span
        for tensor, rows in table.tensors.items():
            stride = words[f"{tensor}_row"]
            start = f.at(bases[tensor], first * stride, "i8")
            with f.loop(0, count) as r:
                f.store(f.at(start, r * stride, "i8"), f.at(rows, r, "ptr"))

    def left(self, f: Writer, words: Words, base: Value, first: Value, count: int, table: Table, tap: Value) -> list[Value]:
        stride = words["a_row"]
        start = f.at(base, first * stride, "i8")
        return [start, *(f.at(start, stride * r, "i8") for r in range(1, count))]


@dataclass(frozen=True)
class WindowRows(Rows):
    """Rows are windows of images, numbered image by image and row by row."""

    has_borders: ClassVar[bool] = True
    SIZES: ClassVar[tuple[str, ...]] = ("size", "windows", "taps", "stride", "dilation", "before")

    def names(self, tensors: Sequence[str]) -> tuple[str, ...]:
        strides = (f"{tensor}_{axis}" for tensor in tensors for axis in ("image", "y", "x"))
        sizes = (f"{axis}_{what}" for axis in ("y", "x") for what in self.SIZES)
        return (*strides, *sizes)

    def emit(self, f: Writer, words: Words, bases: dict[str, Value], span: tuple[Value, Value], table: Table) -> None:
        first, count = span
        across, down = words["x_windows"], words["y_windows"]
        line = first // across
        x, y, image = (f.variable(v) for v in (first % across, line % down, line // down))
        with f.loop(0, count) as r:
            place = {"image": image.get(), "y": y.get(), "x": x.get()}
            for tensor, rows in table.tensors.items():
                f.store(_address(f, words, bases[tensor], tensor, place), f.at(rows, r, "ptr"))
            _emit_taps(f, words, bases["a"], place, table, r)
            _advance(f, words, (image, y, x))

    def left(self, f: Writer, words: Words, base: Value, first: Value, count: int, table: Table, tap: Value) -> list[Value]:
        row = f.at(table.taps, tap * table.rows, "ptr")
        return [f.load(f.at(row, r, "ptr"), "ptr") for r in range(count)]


def _address(f: Writer, words: Words, base: Value, tensor: str, place: dict[str, Value]) -> Value:
    offset = f.constant(0, "i64")
    for axis, index in place.items():
        offset = offset + index * words[f"{tensor}_{axis}"]
    return f.at(base, offset, "i8")


def _emit_taps(f: Writer, words: Words, base: Value, place: dict[str, Value], table: Table, r: Value) -> None:
    """Addresses of the pixels that a window's taps meet."""
    image = f.at(base, place["image"] * words["a_image"], "i8")
    top, left = (place[axis] * words[f"{axis}_stride"] - words[f"{axis}_before"] for axis in ("y", "x"))
    across = words["x_taps"]
    with f.loop(0, words["y_taps"]) as i:
        y = top + i * words["y_dilation"]
        inside_y = _inside(y, words["y_size"])
        line = f.at(image, y * words["a_y"], "i8")
        with f.loop(0, across) as j:
            x = left + j * words["x_dilation"]
            inside = inside_y & _inside(x, words["x_size"])
            pixel = f.select(inside, f.at(line, x * words["a_x"], "i8"), table.zeros)
            f.store(pixel, f.at(table.taps, (i * across + j) * table.rows + r, "ptr"))


def _inside(index: Value, size: Value) -> Value:
    f = index.f
    return f.converted(index, "u64") < f.converted(size, "u64")


def _advance(f: Writer, words: Words, place: tuple[Variable, Variable, Variable]) -> None:
    """To the next window."""
    image, y, x = place
    x.set(x.get() + 1)
    with f.when(x.get().equals(words["x_windows"])):
        x.set(0)
        y.set(y.get() + 1)
        with f.when(y.get().equals(words["y_windows"])):
            y.set(0)
            image.set(image.get() + 1)
