"""Images, channels first, read at positions that a tensor holds: places and weights of some points, then all channels of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, ClassVar

from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.words import Words

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

OFFSETS = {"nearest": (0,), "linear": (0, 1), "cubic": (-1, 0, 1, 2)}
"""The steps from a position, rounded down, to the elements that are read."""
PADDINGS = ("zeros", "border", "reflection")
_CUBIC = -0.75
_FAR = 1e300
"""The position that stands for infinite ones."""


@dataclass(frozen=True)
class GridSample(JobKernel):
    """Computes y[n, c, p] = the sum over the neighbours of position p of x[n, c, ...] times their weights.

    Args:
        source, grid, target: element types of x, the positions and y; f32, or narrower.
        dims: of an image.
        mode, padding, align_corners: see `tile.grid_sample`.

    Tasks: (image, `POINTS` positions).  Words: `names`; all tensors are dense.  Scratch: `scratch_bytes`.
    """

    POINTS: ClassVar[int] = 64
    source: Storage
    grid: Storage
    target: Storage
    dims: int
    mode: str
    padding: str
    align_corners: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the words of a job: addresses, `channels`, `points` of an image, `elements` of a channel, sizes of an image."""
        return ("x", "grid", "y", "channels", "points", "elements", *(f"size{i}" for i in range(self.dims)))

    @property
    def corners(self) -> int:
        """The number of elements that a position meets."""
        return len(OFFSETS[self.mode]) ** self.dims

    @property
    def scratch_bytes(self) -> int:
        """Return the bytes of scratch memory that one thread needs."""
        return self.POINTS * self.corners * (8 + 4)

    def emit_job(self, f: Writer, words: Words) -> None:
        """Emit the samples of an image, chunk by chunk of points; see `JobKernel.emit_job`."""
        points, channels, elements = words["points"], words["channels"], words["elements"]
        chunks = (points + (self.POINTS - 1)) // self.POINTS
        places, weights = f.scratch, f.at(f.scratch, self.POINTS * self.corners, "i64")
        with f.loop(f.begin, f.end) as task:
            image, first = task // chunks, task % chunks * self.POINTS
            count = f.smaller(points - first, self.POINTS)
            grid = f.at(words.pointer("grid"), (image * points + first) * self.dims, self.grid)
            with f.loop(0, count) as p:
                self._corners(f, words, f.at(grid, p * self.dims, self.grid), f.at(places, p, "i64"), f.at(weights, p, "f32"))
            with f.loop(0, channels) as c:
                plane = image * channels + c
                x = f.at(words.pointer("x"), plane * elements, self.source)
                y = f.at(words.pointer("y"), plane * points + first, self.target)
                with f.loop(0, count) as p:
                    self._sum(f, x, f.at(places, p, "i64"), f.at(weights, p, "f32"), f.at(y, p, self.target))

    def _corners(self, f: Writer, words: Words, grid: Value, places: Value, weights: Value) -> None:
        """Write the places, within a channel, and the weights of what one position meets, `POINTS` apart."""
        axes: list[list[tuple[Value, Value]]] = []
        for axis in range(self.dims):
            at = f.converted(f.read(f.at(grid, self.dims - 1 - axis, self.grid), self.grid), "f64")
            axes.append(self._neighbours(f, at, f.converted(words[f"size{axis}"], "f64")))
        for number, corner in enumerate(product(*axes)):
            place, weight = corner[0]
            for axis, (other, factor) in enumerate(corner[1:], 1):
                place, weight = place * words[f"size{axis}"] + other, weight * factor
            f.store(place, f.at(places, number * self.POINTS, "i64"))
            f.store(f.converted(weight, "f32"), f.at(weights, number * self.POINTS, "f32"))

    def _sum(self, f: Writer, x: Value, places: Value, weights: Value, y: Value) -> None:
        total = f.constant(0.0, "f32")
        for number in range(self.corners):
            place = f.load(f.at(places, number * self.POINTS, "i64"), "i64")
            weight = f.load(f.at(weights, number * self.POINTS, "f32"), "f32")
            total = f.fma(f.read(f.at(x, place, self.source), self.source), weight, total)
        f.write(total, y, self.target)

    # ---- one dimension -----------------------------------------------------------------------------------------------------------------

    def _neighbours(self, f: Writer, at: Value, size: Value) -> list[tuple[Value, Value]]:
        """Return places and weights, in float64, of what a position in [-1, 1] meets."""
        at = (at + 1.0) * 0.5 * (size - 1.0) if self.align_corners else ((at + 1.0) * size - 1.0) * 0.5
        at = f.whole("rint", at) if self.mode == "nearest" else at
        at = self._inside(f, f.smaller(f.larger(f.select(at.equals(at), at, -1.0), -_FAR), _FAR), size)
        base = f.whole("floor", at)
        found: list[tuple[Value, Value]] = []
        for offset in OFFSETS[self.mode]:
            place = base + float(offset)
            weight = self._weight(f, f.unary("fabs", place - at))
            if self.padding == "zeros":
                weight = f.select((place >= 0.0) & (place < size), weight, 0.0)
            elif self.padding == "reflection":
                place = f.select(self._is_outside(place, size), f.whole("trunc", self._reflected(f, place, size)), place)
            found.append((f.converted(f.smaller(f.larger(place, 0.0), size - 1.0), "i64"), weight))
        return found

    def _weight(self, f: Writer, distance: Value) -> Value:
        """Return the weight of an element at a distance from the position."""
        if self.mode == "nearest":
            return f.constant(1.0, "f64")
        if self.mode == "linear":
            return 1.0 - distance
        near = ((_CUBIC + 2.0) * distance - (_CUBIC + 3.0)) * distance * distance + 1.0
        far = ((_CUBIC * distance - 5.0 * _CUBIC) * distance + 8.0 * _CUBIC) * distance - 4.0 * _CUBIC
        return f.select(distance <= 1.0, near, f.select(distance < 2.0, far, 0.0))

    def _inside(self, f: Writer, at: Value, size: Value) -> Value:
        """Return a position beyond the border clamped or reflected; of a cubic one the neighbours are clamped."""
        if self.padding == "zeros" or (self.padding == "border" and self.mode == "cubic"):
            return f.smaller(f.larger(at, -4.0), size + 4.0)
        moved = self._reflected(f, at, size) if self.padding == "reflection" else f.smaller(f.larger(at, 0.0), size - 1.0)
        return f.select(self._is_outside(at, size), moved, at)

    def _limits(self, size: Value) -> tuple[float, Value]:
        return (0.0, size - 1.0) if self.align_corners else (-0.5, size - 0.5)

    def _is_outside(self, at: Value, size: Value) -> Value:
        low, high = self._limits(size)
        return (at < low) | (at > high)

    def _reflected(self, f: Writer, at: Value, size: Value) -> Value:
        """A position reflected at both ends until it is inside."""
        low, high = self._limits(size)
        span = high - low
        turn = span * 2.0
        far = at - low
        far = far - f.whole("floor", far / turn) * turn
        return f.select(span <= 0.0, low, f.select(far > span, turn - far, far) + low)
