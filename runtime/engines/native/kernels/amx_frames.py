"""Windows of images as rows at one stride, which tiles of AMX read where they lie: images in frames of zeros, cell by cell.

A frame numbers its cells image by image and row by row, in rows and columns of the result and as many more as zeros need: window g of the
frame meets, at each tap, the cell that lies a fixed number of cells behind g.  Windows of a stride s see every s-th pixel at one tap, so
that pixels are divided by their remainders, phases, each of which is a frame of its own.  Windows whose number is that of no result are
multiplied, too, and not stored.

    columns of a result of 4, filter 3, one zero before and behind:      - 0 1 2 3 - 0 1 2 3 -
    windows of the first row:                                            0 1 2 3 x
    windows of the next row:                                                       0 1 2 3 x

A task copies the cells that some of its groups of rows meet to scratch memory: by 32 channels and part a plane of 64 bytes a cell, phase
by phase.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ttc.runtime.engines.native.kernels.amx_parts import DEPTH, HEADER_BYTES
from ttc.runtime.engines.native.kernels.gemm_rows import AddressTable, WindowRows

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer
    from ttc.runtime.engines.native.kernels.words import Words

CELL_BYTES = 64
"""The bytes of a cell of a plane: 32 channels of one part."""


@dataclass(frozen=True)
class CellRows(WindowRows):
    """Rows that are windows of images, numbered as the cells of a frame; the addresses of those that are no result are 0.

    Words beside those of `WindowRows`: `y_pitch`, `x_pitch`: rows and columns of an image's frame.
    """

    def names(self, tensors: Sequence[str]) -> tuple[str, ...]:
        return (*super().names(tensors), "y_pitch", "x_pitch")

    def emit(self, f: Writer, words: Words, bases: dict[str, Value], span: tuple[Value, Value], table: AddressTable) -> None:
        """Write the addresses of the results, row by row of the frame."""
        first, count = span
        down, across = _pitches(words)
        end = first + count
        with f.loop(first // across, (end + across - 1) // across) as line:
            start, image, row = line * across, line // down, line % down
            begin, behind = f.larger(first - start, 0), f.smaller(end - start, across)
            result = f.select(row.is_within(words["y_windows"]), f.larger(f.smaller(behind, words["x_windows"]), begin), begin)
            for tensor, rows in table.tensors.items():
                address = f.at(bases[tensor], image * words[f"{tensor}_image"] + row * words[f"{tensor}_y"], "i8")
                with f.loop(begin, result) as column:
                    f.store(f.at(address, column * words[f"{tensor}_x"], "i8"), f.at(rows, start + column - first, "ptr"))
                with f.loop(result, behind) as column:
                    f.store(f.constant(0, "i64"), f.at(rows, start + column - first, "ptr"))

    @abstractmethod
    def emit_offsets(self, f: Writer, words: Words, offsets: Value) -> None:
        """Write for each tap the bytes from a window's cell to the one that it meets."""


@dataclass(frozen=True)
class FrameRows(CellRows):
    """Rows whose cells are copied to planes in scratch memory.

    Words beside those of `CellRows`: `y_lead`, `x_lead`: what is added to a tap's place, so that none lies before the first; `y_phases`,
    `x_phases`; `frame_groups`: groups whose cells are copied at once; `cells`: of these at most, a phase.
    """

    def names(self, tensors: Sequence[str]) -> tuple[str, ...]:
        own = (f"{axis}_{what}" for axis in ("y", "x") for what in ("lead", "phases"))
        return (*super().names(tensors), *own, "cells", "frame_groups")

    def left_row(self, f: Writer, words: Words, base: Value, first: Value, table: AddressTable, tap: Value, r: Value) -> Value:
        down, across = _pitches(words)
        line = (first + r) // across
        image, row, column = line // down, line % down, (first + r) % across
        y = row * words["y_stride"] + tap // words["x_taps"] * words["y_dilation"] + words["y_lead"] - words["y_before"]
        x = column * words["x_stride"] + tap % words["x_taps"] * words["x_dilation"] + words["x_lead"] - words["x_before"]
        inside = y.is_within(words["y_size"]) & x.is_within(words["x_size"])
        place = f.at(base, image * words["a_image"] + y * words["a_y"] + x * words["a_x"], "i8")
        return f.select(inside, place, table.zeros)

    def emit_offsets(self, f: Writer, words: Words, offsets: Value) -> None:
        """Write for each tap the bytes from a window's cell to the one that it meets, in the first plane."""
        with f.loop(0, words["y_taps"]) as y, f.loop(0, words["x_taps"]) as x:
            (down, y_phase), (across, x_phase) = (
                _step(words, axis, tap * words[f"{axis}_dilation"] + words[f"{axis}_lead"]) for axis, tap in (("y", y), ("x", x))
            )
            cell = (y_phase * words["x_phases"] + x_phase) * words["cells"] + down * words["x_pitch"] + across
            f.store(cell * CELL_BYTES, f.at(offsets, y * words["x_taps"] + x, "i64"))

    def emit_frame(self, f: Writer, words: Words, base: Value, span: tuple[Value, Value], planes: Planes) -> Value:
        """Copy the cells that windows [first, first + count) meet, row by row of the frame; return whether any of their pixels is marked
        (u32).
        """
        first, count = span
        down, across = _pitches(words)
        behind, beside = (_farthest(words, axis) for axis in ("y", "x"))
        last = first + count + behind * across + beside
        marks = f.variable(f.constant(0, "u32"))
        with f.loop(first // across, (last + across - 1) // across) as line:
            start = line * across
            run = (f.larger(first - start, 0), f.smaller(last - start, across))
            image = f.at(base, line // down * words["a_image"], "i8")
            with f.loop(0, words["y_phases"]) as y_phase:
                y = line % down * words["y_stride"] + y_phase - words["y_before"]
                row = f.at(image, y * words["a_y"], "i8")
                inside = y.is_within(words["y_size"])
                with f.loop(0, words["x_phases"]) as x_phase:
                    shift = words["x_before"] - x_phase
                    pixels = _clipped(f, words, shift, run, inside)
                    phase = (y_phase * words["x_phases"] + x_phase) * words["cells"]
                    target = f.at(planes.memory, (phase + start - first) * CELL_BYTES, "i8")
                    pixel = f.at(row, (pixels[0] * words["x_stride"] - shift) * words["a_x"], "i8")
                    planes.emit_run(f, (pixel, words["x_stride"] * words["a_x"]), target, (run, pixels), words["depth"])
                    if planes.parts > 1:
                        with f.loop(*pixels) as x:
                            place = f.at(pixel, (x - pixels[0]) * (words["x_stride"] * words["a_x"]), "i8")
                            marks.set(marks.get() | f.load(place, "u32"))
        return marks.get()


@dataclass(frozen=True)
class PlacedRows(CellRows):
    """Rows of images that lie in a frame of zeros already, or need none: tiles read their cells where these are.

    The channels of a tap are bfloat16, as many as whole tiles have, or fewer than one has, an even number; strides are 1.  `y_pitch` and
    `x_pitch` are what the strides of `a` say.  BLOCK - 1 cells behind the last are read, too.
    """

    has_borders: ClassVar[bool] = False

    def channels(self, f: Writer, words: Words) -> Value:
        """Return the channels of a tap that a tile holds."""
        return f.smaller(words["depth"], DEPTH)

    def left_row(self, f: Writer, words: Words, base: Value, first: Value, table: AddressTable, tap: Value, r: Value) -> Value:
        return f.at(base, (first + r) * words["a_x"] + f.load(f.at(table.taps, tap, "i64"), "i64"), "i8")

    def emit_offsets(self, f: Writer, words: Words, offsets: Value) -> None:
        with f.loop(0, words["y_taps"]) as y, f.loop(0, words["x_taps"]) as x:
            there = y * words["y_dilation"] * words["a_y"] + x * words["x_dilation"] * words["a_x"]
            f.store(there, f.at(offsets, y * words["x_taps"] + x, "i64"))


def _farthest(words: Words, axis: str) -> Value:
    """Return how many cells a window spans, less one."""
    return _step(words, axis, (words[f"{axis}_taps"] - 1) * words[f"{axis}_dilation"] + words[f"{axis}_lead"] * 2)[0]


def _clipped(f: Writer, words: Words, shift: Value, run: tuple[Value, Value], inside: Value) -> tuple[Value, Value]:
    """Return which cells of a run, of a row of a frame, are pixels of the image.  shift: pixels from the first one to that of cell 0,
    backwards.  inside: whether the row is one of the image.
    """
    begin, end = run
    stride = words["x_stride"]
    first, last = ((bound + shift + stride - 1) // stride for bound in (f.constant(0, "i64"), words["x_size"]))
    first = f.smaller(f.larger(first, begin), end)
    last = f.larger(f.smaller(last, end), first)
    return first, f.select(inside, last, first)


@dataclass(frozen=True)
class Planes:
    """Scratch memory for the cells of a frame, in planes of 32 channels each.

    Args:
        memory: address.
        plane_bytes: of the cells of all phases, for 32 channels of one part.
        parts: of operands.
    """

    memory: Value
    plane_bytes: Value
    parts: int

    def emit_run(
        self,
        f: Writer,
        source: tuple[Value, Value],
        target: Value,
        cells: tuple[tuple[Value, Value], tuple[Value, Value]],
        depth: Value,
    ) -> None:
        """Fill neighbouring cells, plane by plane: those that are pixels with their channels, others with zeros.

        source: address of the first pixel, bytes from pixel to pixel.  target: address of cell 0.  cells: of the run, and those that are
        pixels.
        """
        pixel, step = source
        (begin, end), (first, last) = cells
        chunks = (depth + (DEPTH - 1)) // DEPTH
        header = HEADER_BYTES if self.parts > 1 else 0
        zero = f.constant(0, "u16", DEPTH)
        with f.loop(0, chunks) as chunk:
            mask = f.mask(depth - chunk * DEPTH, DEPTH) if self.parts == 1 else None
            for p in range(self.parts):
                plane = f.at(target, (chunk * self.parts + p) * self.plane_bytes, "i8")
                channels = f.variable(f.at(pixel, (chunks * p + chunk) * CELL_BYTES + header, "i8"))
                for zeros in ((begin, first), (last, end)):
                    with f.loop(*zeros) as cell:
                        f.store(zero, f.at(plane, cell * CELL_BYTES, "i8"))
                with f.loop(first, last) as cell:
                    f.store(f.load(channels.get(), "u16", DEPTH, mask), f.at(plane, cell * CELL_BYTES, "i8"))
                    channels.set(f.at(channels.get(), step, "i8"))


def _pitches(words: Words) -> tuple[Value, Value]:
    return words["y_pitch"], words["x_pitch"]


def _step(words: Words, axis: str, place: Value) -> tuple[Value, Value]:
    """Return how many cells a place in pixels is ahead, and its phase."""
    return place // words[f"{axis}_stride"], place % words[f"{axis}_stride"]
