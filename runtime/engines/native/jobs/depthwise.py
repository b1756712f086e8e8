"""From views of images to jobs of depthwise convolutions; what these share with pools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ttc.dialects.core.kernels.windows import Window, windows
from ttc.runtime.engines.native.graph.region import Region
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.ir.regions import supported
from ttc.runtime.engines.native.jobs.copies import copied, copy
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.products import FLOATS
from ttc.runtime.engines.native.kernels.depthwise import Depthwise
from ttc.runtime.engines.native.kernels.pixels import Pixels, Varies
from ttc.runtime.engines.native.kernels.windows import AXIS, WindowBlock, WindowKernel

if TYPE_CHECKING:
    from ttc.runtime.engines.native.kernels.words import Word

_WIDEST = 64
"""Taps along the width of the widest window that is taken: code grows with them."""
_MOST_TAPS = 1 << 12
"""The most taps of a window: a thread holds as many addresses."""
_MOST_STEPS = 128
"""Taps along the width of all windows of a block."""
_TASKS = 12
"""Fewer rows of a result than this are divided further, by channels."""
_PART_BYTES = 2048
"""The least bytes of a pixel that a part has."""


def depthwise(n: Lowering, x: View, w: View, region: Region, views: Sequence[View]) -> None:
    """Add the jobs of a convolution [n, h, w, c] with a filter [kh, kw, 1, c]; bias, activation and region as `tile.conv2d` has them.

    Raises NotTaken for several results a channel, very wide filters, images of other types than floats of up to 32 bits and i8, u8, i16.
    """
    if x.storage not in (*FLOATS, "i8", "u8", "i16") or w.storage not in FLOATS:
        raise NotTaken(f"operands in {x.storage} and {w.storage}")
    if w.shape[3] != x.shape[3] or w.shape[2] != 1:
        raise NotTaken("several results a channel")
    depthwise_into(n, n.result(strided=True), rows_of(n, x), w, moves_of(n, w.shape[:2]), region, views)


def depthwise_into(
    n: Lowering, target: View, x: View, w: View, moves: tuple[Window, Window], region: Region, views: Sequence[View]
) -> None:
    """Add the jobs of a part of the result: windows of x, whose channels lie one after the other, with a filter [kh, kw, 1, c], through a
    region with further operands in the shape of the part.  Raises NotTaken.
    """
    lanes = lanes_for(n, x.shape[3])
    block = block_for(n, moves, lanes, target.shape[2])
    filter_ = filter_of(n, w)
    pixels, words = results_of(n, region, views, lanes, target)
    kernel = Depthwise(block, x.storage, pixels)
    words |= {"filter": filter_, **window_words(x, moves, target.shape)}
    taps = block.taps[0] * block.taps[1]
    submit(n, kernel, words, 2 * taps, target)


def filter_of(n: Lowering, w: View) -> View:
    """Return a filter in float32, its elements one after the other."""
    if w.storage == "f32":
        return n.densified(w)
    target = n.temp(w.shape, "f32")
    copy(n, w, target)
    return target


# ---- what pools need too ---------------------------------------------------------------------------------------------------------------


def are_small(kernel: Sequence[int]) -> bool:
    """Return whether windows of that height and width are taken."""
    return kernel[1] <= _WIDEST and kernel[0] * kernel[1] <= _MOST_TAPS


def moves_of(n: Lowering, kernel: Sequence[int]) -> tuple[Window, Window]:
    """Return how windows move, by the attributes of the op.  Raises NotTaken for very wide ones."""
    strides, pads, dilations = (_numbers(n, name) for name in ("strides", "pads", "dilations"))
    if not are_small(kernel):
        raise NotTaken(f"windows of {kernel[0]} x {kernel[1]} elements")
    return windows(kernel, strides, pads, dilations, bool(n.attr("ceil_mode", False)))


def _numbers(n: Lowering, name: str) -> tuple[int, ...]:
    found = n.attr(name)
    if not isinstance(found, tuple) or not all(isinstance(i, int) for i in found):
        raise NotTaken(f"{name} of another kind")
    return tuple(i for i in found if isinstance(i, int))


def lanes_for(n: Lowering, channels: int) -> int:
    """Return the channels of a vector: no more than there are."""
    lanes = max(n.cpu.vector_bytes // 4, 4)
    while lanes > channels:
        lanes //= 2
    return lanes


def block_for(n: Lowering, moves: tuple[Window, Window], lanes: int, across: int, sums: int = 0) -> WindowBlock:
    """Return the block for rows of so many windows: as many sums as registers hold, and few of them computed twice.

    sums: that registers hold, if these are not those left by a row of a filter.
    """
    rows, columns = moves
    most = sums or registers_of(n) // 2 - min(columns.kernel // 2, 4)
    most = min(most, max(_MOST_STEPS // columns.kernel, 1))
    count = min(range(1, min(most, across) + 1), key=lambda count: (-(-across // count) * (count + 1), -count))
    return WindowBlock(count, lanes, (rows.kernel, columns.kernel), columns.stride, columns.dilation)


def registers_of(n: Lowering) -> int:
    """Return how many registers for vectors the CPU has."""
    return 32 if n.cpu.vector_bytes == 64 else 16


def rows_of(n: Lowering, x: View) -> View:
    """Return an image whose channels lie one after the other."""
    return x if x.strides[3] == 1 or x.shape[3] == 1 else copied(n, x)


def window_words(x: View, moves: tuple[Window, Window], shape: tuple[int, ...]) -> dict[str, Word]:
    """Words about the image and the windows over it.  shape: of the result."""
    words: dict[str, Word] = {"source": x, "channels": x.shape[3]}
    words |= zip(("source_image", "source_y", "source_x"), (stride * x.item_bytes for stride in x.strides[:3]), strict=True)
    return words | axis_words(x, moves, shape)


def axis_words(x: View, moves: tuple[Window, Window], shape: tuple[int, ...]) -> dict[str, Word]:
    """Words about the dimensions of an image along which windows move.  shape: of the result."""
    words: dict[str, Word] = {}
    for i, (axis, move) in enumerate(zip(("y", "x"), moves, strict=True)):
        values = (x.shape[1 + i], shape[1 + i], move.stride, move.dilation, move.before)
        words |= {f"{axis}_{what}": value for what, value in zip(AXIS, values, strict=True)}
    return words


def results_of(
    n: Lowering, region: Region, views: Sequence[View], lanes: int, target: View | None = None
) -> tuple[Pixels, dict[str, Word]]:
    """Return the result of the node, or a part of it, and the operands of its region, [n, h, w, c] all, and words about them.

    Raises NotTaken for a region that holds what there is no code for.
    """
    reason = supported(region)
    if reason is not None:
        raise NotTaken(reason)
    found = [_readable(n, view) for view in views]
    pixels = Pixels(region, tuple(varies for _, varies in found), lanes)
    words = {}
    for name, view in zip(pixels.tensors, (target or n.result(strided=True), *(view for view, _ in found)), strict=True):
        strides = (stride * view.item_bytes for stride in view.strides[:3])
        words |= {name: view, **dict(zip((f"{name}_image", f"{name}_y", f"{name}_x"), strides, strict=True))}
    return pixels, words


def _readable(n: Lowering, view: View) -> tuple[View, Varies]:
    if view.strides[3] == 0 and view.shape[3] != 1:
        return view, "pixels"
    if view.strides[3] != 1 and view.shape[3] != 1:
        view = copied(n, view)
    return view, "all" if any(view.strides[:3]) else "channels"


def submit(n: Lowering, kernel: WindowKernel, words: dict[str, Word], operations: int, part: View | None = None) -> None:
    """Add the job of a kernel over windows.  operations: of arithmetic, an element of the result.  part: of the result; default: all."""
    target = part or n.results[0]
    lines = target.shape[0] * target.shape[1]
    pixel = target.shape[3] * target.item_bytes
    words["parts"] = parts = max(min(-(-_TASKS // lines), pixel // _PART_BYTES), 1)
    moved = sum(view.elements * view.item_bytes for view in words.values() if isinstance(view, View))
    n.job(
        kernel,
        words,
        tasks=lines * parts,
        written=[target],
        scratch=kernel.scratch_bytes(target.shape[3]),
        flops=operations * target.elements,
        moved_bytes=moved,
    )
