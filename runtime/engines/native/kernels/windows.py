"""Windows of an image with channels last, by blocks: the elements that depthwise convolutions and pools meet.

A block is some windows side by side in a row of the result.  Its elements are found through a table of addresses, one for each element
[tap of the height, column], made once a block and read for each vector of channels: an element outside the image is the address of a row
of `neutral` elements, so that the loops over channels know of no border.  Where a row of the result is no multiple of a block, the last
block lies over the one before, and computes the same again.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from ttc.runtime.engines.native.graph.storage import STORAGE_BYTES, Storage
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.pixels import Pixels
from ttc.runtime.engines.native.kernels.words import Words
from ttc.runtime.pages import ALIGNMENT

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

POINTER_BYTES = 8
_UNROLLED = 64
"""Elements of a block up to which the loop over the height of a window is unrolled."""
Visit: TypeAlias = "Callable[[int, int, Value], None]"
AXIS = ("size", "windows", "stride", "dilation", "before")
"""The ends of the names of words that tell how windows move along a dimension; see `dialects.core.kernels.windows.Window`."""


@dataclass(frozen=True)
class WindowBlock:
    """Windows side by side, and how they overlap.

    Args:
        windows: of a block; at most those of a row.
        lanes: channels of a vector; at most those there are.
        taps: height and width of a window.
        stride, dilation: along the width.
    """

    windows: int
    lanes: int
    taps: tuple[int, int]
    stride: int
    dilation: int

    @property
    def columns(self) -> tuple[int, ...]:
        """The distinct columns that the windows meet, from the left end of the first one."""
        return tuple(sorted({w * self.stride + j * self.dilation for w in range(self.windows) for j in range(self.taps[1])}))

    def meets(self, column: int) -> Iterator[tuple[int, int]]:
        """Return (window, tap of its width) of all that meet a column."""
        for window in range(self.windows):
            tap, rest = divmod(column - window * self.stride, self.dilation)
            if rest == 0 and 0 <= tap < self.taps[1]:
                yield window, tap

    @property
    def elements(self) -> int:
        """The elements of a block: taps of the height times columns."""
        return self.taps[0] * len(self.columns)

    @property
    def tile_bytes(self) -> int:
        """The bytes of a vector of each window, of elements of any type."""
        return rounded_up(self.windows * self.lanes * POINTER_BYTES)

    @property
    def table_bytes(self) -> int:
        """The bytes of the addresses of a block's elements, and of what is known of its windows."""
        return rounded_up((self.elements + self.windows) * POINTER_BYTES)


@dataclass(frozen=True)
class BlockPlace:
    """Where a block is: numbers of its image, of its row of windows, and of the first of its windows."""

    image: Value
    y: Value
    x: Value


@dataclass(frozen=True)
class WindowKernel(JobKernel):
    """y[n, h, w, c] = region(some function of x[n, h * sh + i * dh - top, w * sw + j * dw - left, c] for all taps i, j; others...).

    Args:
        block: windows that are computed together.
        source: element type of x.
        pixels: the result.

    Tasks: (image, row of windows, part of the channels).  Words: `names`; strides in bytes.  Scratch: `scratch_bytes`.
    """

    OWN: ClassVar[tuple[str, ...]] = ()
    """Names of further words, which a kernel adds."""
    block: WindowBlock
    source: Storage
    pixels: Pixels

    @abstractmethod
    def neutral(self, f: Writer) -> Value:
        """Return what stands outside the image, as memory holds it."""

    @abstractmethod
    def values(self, f: Writer, words: Words, table: Value, channel: Value) -> list[Value]:
        """Return the function of each window of a block, for a vector of channels.  table: addresses of the block's elements."""

    def prepare(self, f: Writer, words: Words, place: BlockPlace, memory: Value) -> None:
        """Emit what is computed once a block; `memory` is after the table, and holds 8 bytes a window."""

    def outside(self, words: Words) -> Value:
        """Return how many elements stand for one outside the image."""
        return words["channels"]

    @property
    def names(self) -> tuple[str, ...]:
        x = ("source", "source_image", "source_y", "source_x")
        return (*x, "channels", "parts", *axis_names("y"), *axis_names("x"), *self.OWN, *self.pixels.names)

    def scratch_bytes(self, channels: int) -> int:
        """Return the bytes of scratch memory that one thread needs."""
        return self.block.tile_bytes + self.block.table_bytes + rounded_up(channels * STORAGE_BYTES[self.source])

    def emit_job(self, f: Writer, words: Words) -> None:
        """Emit the loop over blocks of windows; see `JobKernel.emit_job`."""
        tile, table = f.scratch, f.at(f.scratch, self.block.tile_bytes, "i8")
        row = f.at(table, self.block.table_bytes, "i8")
        value = self.neutral(f)
        with f.loop(0, self.outside(words)) as i:
            f.store(value, f.at(row, i, self.source))
        with each_block(f, words, self.block.windows) as (part, place):
            image = f.at(words.pointer("source"), place.image * words["source_image"], "i8")
            emit_table(f, words, self.block, (image, row), place, table)
            self.prepare(f, words, place, f.at(table, self.block.elements, "ptr"))
            bases = self.pixels.bases(f, words, (place.image, place.y, place.x))
            with each_vector(f, words, part, self.block.lanes) as channel:
                self.pixels.emit(f, words, bases, self.values(f, words, table, channel), channel, tile)


def rounded_up(size_bytes: int) -> int:
    """Return a size rounded up to whole cache lines."""
    return -(-size_bytes // ALIGNMENT) * ALIGNMENT


def axis_names(axis: str) -> tuple[str, ...]:
    """Return names of the words of a dimension, `y` or `x`."""
    return tuple(f"{axis}_{what}" for what in AXIS)


@contextmanager
def each_block(f: Writer, words: Words, windows: int) -> Iterator[tuple[Value, BlockPlace]]:
    """Yield (part of the channels, place) of every block of every task."""
    parts, rows, across = words["parts"], words["y_windows"], words["x_windows"]
    with f.loop(f.begin, f.end) as task:
        line = task // parts
        with f.loop(0, across, windows) as start:
            yield task % parts, BlockPlace(line // rows, line % rows, f.smaller(start, across - windows))


@contextmanager
def each_vector(f: Writer, words: Words, part: Value, lanes: int) -> Iterator[Value]:
    """Yield the first channels of the vectors of a part; the last one overlaps the one before if need be."""
    channels, parts = words["channels"], words["parts"]
    vectors = (channels + (lanes - 1)) // lanes
    with f.loop(part * vectors // parts, (part + 1) * vectors // parts) as v:
        yield f.smaller(v * lanes, channels - lanes)


def emit_table(f: Writer, words: Words, block: WindowBlock, bases: tuple[Value, Value], place: BlockPlace, table: Value) -> None:
    """Write the addresses of a block's elements.  bases: addresses of the image, and of the row of neutral elements."""
    image, neutral = bases
    columns = block.columns
    left = place.x * words["x_stride"] - words["x_before"]
    top = place.y * words["y_stride"] - words["y_before"]
    width, step = words["x_size"], words["source_x"]
    inside = (left >= 0) & (left + columns[-1] < width)
    with f.loop(0, block.taps[0]) as i:
        y = top + i * words["y_dilation"]
        row_inside = y.is_within(words["y_size"])
        line = f.at(image, y * words["source_y"] + left * step, "i8")
        entries = f.at(table, i * len(columns), "ptr")
        with f.choice(row_inside & inside) as (whole, part):
            with whole:
                for k, column in enumerate(columns):
                    f.store(f.at(line, step * column, "i8"), f.at(entries, k, "ptr"))
            with part:
                for k, column in enumerate(columns):
                    known = row_inside & (left + column).is_within(width)
                    f.store(f.select(known, f.at(line, step * column, "i8"), neutral), f.at(entries, k, "ptr"))


def emit_elements(f: Writer, block: WindowBlock, source: Storage, table: Value, channel: Value, row: Callable[[Value], Visit]) -> None:
    """Emit code that reads every element of a block once and hands it over.

    row: called with the number of each tap of the height; gives what is called with (window, tap of the width, vector of channels).
    """

    def emit_row(i: Value) -> None:
        visit = row(i)
        entries = f.at(table, i * len(block.columns), "ptr")
        for k, column in enumerate(block.columns):
            pixel = f.load(f.at(entries, k, "ptr"), "ptr")
            value = f.read(f.at(pixel, channel, source), source, block.lanes)
            for window, tap in block.meets(column):
                visit(window, tap, value)

    if block.elements <= _UNROLLED:
        for i in range(block.taps[0]):
            emit_row(f.constant(i, "i64"))
    else:
        with f.loop(0, block.taps[0]) as i:
            emit_row(i)
