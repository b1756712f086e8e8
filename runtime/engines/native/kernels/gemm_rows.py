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
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer
    from ttc.runtime.engines.native.kernels.words import Words

POINTER_BYTES = 8


@dataclass(frozen=True)
class GemmRows(ABC):
    """How a kernel finds the rows of its left operand and of the result.

    has_borders: whether rows may point at zeros.
    """

    has_borders: ClassVar[bool] = False

    @abstractmethod
    def names(self, tensors: Sequence[str]) -> tuple[str, ...]:
        """Return names of the words of a job that tell of these tensors' rows, `a` among them; all strides are in bytes."""

    @abstractmethod
    def emit(self, f: Writer, words: Words, bases: dict[str, Value], span: tuple[Value, Value], table: AddressTable) -> None:
        """Write addresses of rows [first, first + count) into a table.  bases: addresses of the tensors in this batch."""

    @abstractmethod
    def left(self, f: Writer, words: Words, base: Value, first: Value, count: int, table: AddressTable, tap: Value) -> list[Value]:
        """Return the addresses of the left operand's rows at a tap.  base: of the left operand in this batch."""

    @abstractmethod
    def left_row(self, f: Writer, words: Words, base: Value, first: Value, table: AddressTable, tap: Value, r: Value) -> Value:
        """Return the address of the left operand's row of number r."""


@dataclass(frozen=True)
class AddressTable:
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
class DenseRows(GemmRows):
    """Rows at a fixed stride."""

    def names(self, tensors: Sequence[str]) -> tuple[str, ...]:
        return tuple(f"{tensor}_row" for tensor in tensors)

    def emit(self, f: Writer, words: Words, bases: dict[str, Value], span: tuple[Value, Value], table: AddressTable) -> None:
        first, count = span
        for tensor, rows in table.tensors.items():
            stride = words[f"{tensor}_row"]
            start = f.at(bases[tensor], first * stride, "i8")
            with f.loop(0, count) as r:
                f.store(f.at(start, r * stride, "i8"), f.at(rows, r, "ptr"))

    def left(self, f: Writer, words: Words, base: Value, first: Value, count: int, table: AddressTable, tap: Value) -> list[Value]:
        stride = words["a_row"]
        start = f.at(base, first * stride, "i8")
        return [start, *(f.at(start, stride * r, "i8") for r in range(1, count))]

    def left_row(self, f: Writer, words: Words, base: Value, first: Value, table: AddressTable, tap: Value, r: Value) -> Value:
        return f.at(base, (first + r) * words["a_row"], "i8")


@dataclass(frozen=True)
class WindowRows(GemmRows):
    """Rows that are windows of images, numbered image by image and row by row."""

    has_borders: ClassVar[bool] = True
    SIZES: ClassVar[tuple[str, ...]] = ("size", "windows", "taps", "stride", "dilation", "before")

    def names(self, tensors: Sequence[str]) -> tuple[str, ...]:
        strides = (f"{tensor}_{axis}" for tensor in tensors for axis in ("image", "y", "x"))
        sizes = (f"{axis}_{what}" for axis in ("y", "x") for what in self.SIZES)
        return (*strides, *sizes)

    def emit(self, f: Writer, words: Words, bases: dict[str, Value], span: tuple[Value, Value], table: AddressTable) -> None:
        first, count = span
        walk = Walk(f, words, bases, tuple(table.tensors), first, (words["y_windows"], words["x_windows"]))
        with f.loop(0, count) as r:
            for tensor, rows in table.tensors.items():
                f.store(walk.pointers[tensor].get(), f.at(rows, r, "ptr"))
            self.emit_left(f, words, walk, table, r)
            walk.advance()

    def emit_left(self, f: Writer, words: Words, walk: Walk, table: AddressTable, r: Value) -> None:
        """Write addresses of the pixels that a window's taps meet."""
        _emit_taps(f, words, walk, table, r)

    def left(self, f: Writer, words: Words, base: Value, first: Value, count: int, table: AddressTable, tap: Value) -> list[Value]:
        row = f.at(table.taps, tap * table.rows, "ptr")
        return [f.load(f.at(row, r, "ptr"), "ptr") for r in range(count)]

    def left_row(self, f: Writer, words: Words, base: Value, first: Value, table: AddressTable, tap: Value, r: Value) -> Value:
        return f.load(f.at(table.taps, tap * table.rows + r, "ptr"), "ptr")


@dataclass(frozen=True)
class InnerRows(WindowRows):
    """Rows that are windows inside their images, each row of a window one run: taps are rows of the image, at a stride that all share."""

    has_borders: ClassVar[bool] = False

    def emit_left(self, f: Writer, words: Words, walk: Walk, table: AddressTable, r: Value) -> None:
        """Write the address of a window's first pixel."""
        f.store(walk.corner.get(), f.at(table.taps, r, "ptr"))

    def left(self, f: Writer, words: Words, base: Value, first: Value, count: int, table: AddressTable, tap: Value) -> list[Value]:
        offset = tap * (words["y_dilation"] * words["a_y"])
        return [f.at(f.load(f.at(table.taps, r, "ptr"), "ptr"), offset, "i8") for r in range(count)]

    def left_row(self, f: Writer, words: Words, base: Value, first: Value, table: AddressTable, tap: Value, r: Value) -> Value:
        return f.at(f.load(f.at(table.taps, r, "ptr"), "ptr"), tap * (words["y_dilation"] * words["a_y"]), "i8")


class Walk:
    """The way from window to window: where the window is, and where its pixel lies in each tensor; steps to the next window only add.

    y, x: of the window's first tap in the image, perhaps outside; `corner`: address of that pixel of the left operand.  sizes: rows and
    columns of windows that an image has.
    """

    def __init__(
        self, f: Writer, words: Words, bases: dict[str, Value], tensors: Sequence[str], first: Value, sizes: tuple[Value, Value]
    ) -> None:
        self.f, self.words, self.bases, self.sizes = f, words, bases, sizes
        down, across = sizes
        line = first // across
        self.column, self.row, self.image = (f.variable(v) for v in (first % across, line % down, line // down))
        self.pointers = {tensor: f.variable(bases[tensor]) for tensor in tensors}
        self.corner = f.variable(bases["a"])
        self.y, self.x = (f.variable(f.constant(0, "i64")) for _ in range(2))
        self._begin()

    def _begin(self) -> None:
        """Compute all places anew, for the current window."""
        f, words = self.f, self.words
        place = {"image": self.image.get(), "y": self.row.get(), "x": self.column.get()}
        for tensor, pointer in self.pointers.items():
            pointer.set(_address(f, words, self.bases[tensor], tensor, place))
        self.y.set(place["y"] * words["y_stride"] - words["y_before"])
        self.x.set(place["x"] * words["x_stride"] - words["x_before"])
        corner = {"image": place["image"], "y": self.y.get(), "x": self.x.get()}
        self.corner.set(_address(f, words, self.bases["a"], "a", corner))

    def advance(self) -> None:
        """Move on to the next window."""
        f, words = self.f, self.words
        self.column.set(self.column.get() + 1)
        self.x.set(self.x.get() + words["x_stride"])
        self.corner.set(f.at(self.corner.get(), words["x_stride"] * words["a_x"], "i8"))
        for tensor, pointer in self.pointers.items():
            pointer.set(f.at(pointer.get(), words[f"{tensor}_x"], "i8"))
        down, across = self.sizes
        with f.when(self.column.get().equals(across)):
            self.column.set(0)
            self.row.set(self.row.get() + 1)
            with f.when(self.row.get().equals(down)):
                self.row.set(0)
                self.image.set(self.image.get() + 1)
            self._begin()


def _address(f: Writer, words: Words, base: Value, tensor: str, place: dict[str, Value]) -> Value:
    offset = f.constant(0, "i64")
    for axis, index in place.items():
        offset = offset + index * words[f"{tensor}_{axis}"]
    return f.at(base, offset, "i8")


def _emit_taps(f: Writer, words: Words, walk: Walk, table: AddressTable, r: Value) -> None:
    """Addresses of the pixels that a window's taps meet."""
    y_step, x_step = words["y_dilation"] * words["a_y"], words["x_dilation"] * words["a_x"]
    y, line, place = (f.variable(v) for v in (walk.y.get(), walk.corner.get(), f.at(table.taps, r, "ptr")))
    with f.loop(0, words["y_taps"]):
        inside_y = y.get().is_within(words["y_size"])
        x, pixel = f.variable(walk.x.get()), f.variable(line.get())
        with f.loop(0, words["x_taps"]):
            inside = inside_y & x.get().is_within(words["x_size"])
            f.store(f.select(inside, pixel.get(), table.zeros), place.get())
            place.set(f.at(place.get(), table.rows, "ptr"))
            x.set(x.get() + words["x_dilation"])
            pixel.set(f.at(pixel.get(), x_step, "i8"))
        y.set(y.get() + words["y_dilation"])
        line.set(f.at(line.get(), y_step, "i8"))
