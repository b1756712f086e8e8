"""Patches of images as Winograd's way multiplies them: cut out, and transformed.

A tile is m x m pixels of the result, its patch the (m + 2) x (m + 2) pixels of the image that they depend on.  Transformed patches lie by
point, tile and channel: each point is the left operand of a matrix product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.graph.tensors import ALIGNMENT
from ttc.runtime.engines.native.kernels.gemm_rows import POINTER_BYTES
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.shares import shares_of
from ttc.runtime.engines.native.kernels.windows import rounded_up
from ttc.runtime.engines.native.kernels.winograd_matrices import TAPS, Matrix, combined, matrices
from ttc.runtime.engines.native.kernels.words import Words

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import LocalVariable, Value
    from ttc.runtime.engines.native.ir.writer import Writer

IMAGE = ("a", "a_image", "a_y", "a_x", "y_size", "x_size", "y_before", "x_before", "y_tiles", "x_tiles", "channels")
"""The names of words that tell of an image and its tiles."""


@dataclass(frozen=True)
class WinogradTiles:
    """How images are cut into tiles of results and patches of pixels.

    Args:
        outputs: m.
        lanes: float32 of a vector.
        source: element type of images.
    """

    outputs: int
    lanes: int
    source: Storage

    @property
    def patch(self) -> int:
        """The pixels along each side of a patch."""
        return self.outputs + TAPS - 1

    @property
    def points(self) -> int:
        """The points of a patch, rows times columns."""
        return self.patch**2

    @property
    def pixels(self) -> int:
        """The pixels along each side of what is cut out for a tile."""
        return self.patch

    @property
    def matrix(self) -> Matrix:
        """The matrix that transforms pixels to points, along each side."""
        return matrices(self.outputs).bt

    @property
    def gap(self) -> int:
        """The elements between points: a cache line, so that all points of a tile do not meet in one set of the first-level cache."""
        return 0 if self.lanes == 16 else ALIGNMENT // 4

    def step(self, tiles: Value, width: Value | int) -> Value:
        """Return elements from one point to the next of so many tiles' rows, each of a width."""
        return tiles * width + self.gap

    def elements(self, tiles: int, width: int) -> int:
        """Return the elements of all points of so many tiles' rows."""
        return self.points * (tiles * width + self.gap)

    def chunk(self, words: Words, chunk: Value, first: Value) -> Value:
        """Return the address of prepared patches of a chunk, given its first tile."""
        return first.f.at(words.pointer("v"), (first * words["channels"] + chunk * self.gap) * self.points, "f32")

    def table_bytes(self, channels: int) -> int:
        """Return the bytes of a pixel of zeros, and of the addresses of a patch's pixels."""
        return channels * 4 + rounded_up(self.points * POINTER_BYTES)

    def emit_zeros(self, f: Writer, words: Words) -> None:
        """Write the pixel of zeros to the start of a thread's memory, in float32, which is enough for narrower types."""
        with f.loop(0, words["channels"]) as c:
            f.store(f.constant(0.0, "f32"), f.at(f.scratch, c, "f32"))

    def place(self, words: Words, tile: Value) -> dict[str, Value]:
        """Return the image of a tile, and its first pixel in the result."""
        across, down = words["x_tiles"], words["y_tiles"]
        line = tile // across
        return {"image": line // down, "y": line % down * self.outputs, "x": tile % across * self.outputs}

    def emit(
        self,
        f: Writer,
        words: Words,
        tile: Value,
        target: Value,
        step: Value,
        largest: LocalVariable,
        span: tuple[Value, Value] | None = None,
    ) -> None:
        """Emit the patch of a tile, transformed.

        target: address of its first channel at the first point.  step: elements from point to point.  largest: raised to the largest bits
        of a magnitude.  span: the first channel and the one behind the last, a multiple of the vector apart; None: all.
        """
        span = span or (f.constant(0, "i64"), words["channels"])
        place, size = self.place(words, tile), self.pixels
        image = f.at(words.pointer("a"), place["image"] * words["a_image"], "i8")
        corner = {axis: place[axis] - words[f"{axis}_before"] for axis in ("y", "x")}
        inside = [(corner[axis] >= 0) & (corner[axis] + size <= words[f"{axis}_size"]) for axis in ("y", "x")]
        down, across = words["a_y"], words["a_x"]
        pixels = f.at(f.scratch, words["channels"] * 4, "i8")
        with f.choice(inside[0] & inside[1]) as (inner, border):
            with inner:
                start = f.at(image, corner["y"] * down + corner["x"] * across, "i8")
                lines = [f.at(start, down * i, "i8") for i in range(size)]
                self._transform(f, span, target, step, largest, lambda i, j: f.at(lines[i], across * j, "i8"))
            with border:
                with f.loop(0, size) as i, f.loop(0, size) as j:
                    f.store(pixel_address(f, words, f.scratch, image, place, (i, j)), f.at(pixels, i * size + j, "ptr"))
                self._transform(f, span, target, step, largest, lambda i, j: f.load(f.at(pixels, i * size + j, "ptr"), "ptr"))

    def _transform(
        self, f: Writer, span: tuple[Value, Value], target: Value, step: Value, largest: LocalVariable, pixel: Callable[[int, int], Value]
    ) -> None:
        """The pixels of a patch, given their addresses, to the same channel at all points."""
        lanes, size, matrix = self.lanes, self.pixels, self.matrix
        with f.loop(*span, lanes) as c:
            columns: list[list[Value]] = []
            for j in range(size):
                column = [f.read(f.at(pixel(i, j), c, self.source), self.source, lanes) for i in range(size)]
                for value in column:
                    largest.set(f.larger(largest.get(), f.magnitude(value)))
                columns.append(combined(f, matrix, column))
            for i in range(len(matrix)):
                for j, value in enumerate(combined(f, matrix, [column[i] for column in columns])):
                    f.store(value, f.at(target, step * (i * len(matrix) + j) + (c - span[0]), "f32"))


@dataclass(frozen=True)
class CotangentTiles(WinogradTiles):
    """How cotangents of a convolution's result are cut into tiles of m x m pixels, for the gradient of its filter: they are the taps of a
    filter there, transformed as such to the points of a patch.
    """

    @property
    def pixels(self) -> int:
        return self.outputs

    @property
    def matrix(self) -> Matrix:
        return matrices(TAPS, self.outputs).g


@dataclass(frozen=True)
class WinogradPatches(JobKernel):
    """Writes the patches of all tiles: v[point, tile, channel] of each chunk of tiles, one chunk after the other.

    Tasks: (chunk, part of its tiles), the latter fastest.  Words: `names`; strides in bytes.  peaks: u32 for each task, the bits of the
    largest magnitude that it met.  a: as for `Winograd`.  Scratch: `WinogradTiles.table_bytes`.
    """

    tiles: WinogradTiles

    names: ClassVar[tuple[str, ...]] = (*IMAGE, "v", "peaks", "tiles", "chunks", "parts")

    def emit_job(self, f: Writer, words: Words) -> None:
        self.tiles.emit_zeros(f, words)
        channels, parts = words["channels"], words["parts"]
        chunks = shares_of(words["tiles"], words["chunks"])
        with f.loop(f.begin, f.end) as task:
            chunk = task // parts
            first, end = chunks.span(chunk)
            start, last = shares_of(end - first, parts).span(task % parts)
            patches = self.tiles.chunk(words, chunk, first)
            largest = f.variable(f.constant(0, "u32", self.tiles.lanes))
            with f.loop(start, last) as number:
                target = f.at(patches, number * channels, "f32")
                self.tiles.emit(f, words, first + number, target, self.tiles.step(end - first, channels), largest)
            f.store(f.folded("larger", largest.get()), f.at(words.pointer("peaks"), task, "u32"))


def pixel_address(f: Writer, words: Words, zeros: Value, image: Value, place: dict[str, Value], tap: tuple[Value, Value]) -> Value:
    """Return the address of the pixel that a tap of the window at `place` meets, or of zeros."""
    y, x = (place[axis] + offset - words[f"{axis}_before"] for axis, offset in zip(("y", "x"), tap, strict=True))
    inside = y.is_within(words["y_size"]) & x.is_within(words["x_size"])
    return f.select(inside, f.at(image, y * words["a_y"] + x * words["a_x"], "i8"), zeros)
