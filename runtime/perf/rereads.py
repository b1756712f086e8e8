"""How often an op reads its first operand again because its buffer holds too little of it.

Where a window lies in no buffer as a whole, the pixels of each tap are read by themselves; rows that lie in none as a whole are read once
for each of their statistics and once for the result.
"""

from __future__ import annotations

from ttc.dialects.core.plain.functions import TensorType, Work
from ttc.dialects.netlist.model import Blocking, Op
from ttc.dialects.tile.facts import Role, fact_of, has_role, in_transit


def readings(op: Op, index: int, buffer_tiles: float) -> float:
    """Return how often each tile of an input passes into a core whose buffer for it, one copy of it, holds so many tiles."""
    if op.blocking is None or not op.work.works:
        return 1.0
    main = op.work.works[-1]
    if not has_role(main.op, Role.WINDOW, Role.NORMALIZATION) or not main.operands or _origin(op, main.operands[0]) != index:
        return 1.0
    image = op.work.value_types[main.operands[0]] if main.operands[0] is not None else None
    if image is None:
        return 1.0
    if has_role(main.op, Role.NORMALIZATION):
        return float(fact_of(main.op).passes) if buffer_tiles < op.blocking.mblock[1] * op.blocking.ublock[1] else 1.0
    kernel = _kernel(main, op.work.value_types)
    width = block_width(op, image, kernel[0] * kernel[1], main)
    if buffer_tiles >= window_tiles(main, image, main.results[0], op.blocking, kernel[0]) * width:
        return 1.0
    return max(kernel[0] * kernel[1] * pixels_met(main, image, main.results[0]), 1.0)


def pixels_met(main: Work, image: TensorType, result: TensorType) -> float:
    """Return the share of the image's pixels that one tap meets: as many as the result has, or for a transposed convolution those it comes
    from.
    """
    stride = _pair(main.attrs.get("strides"))
    if main.op.endswith("conv_transpose2d"):
        return 1.0 / (stride[0] * stride[1])
    (rows, columns), (rows_in, columns_in) = result.shape[1:3], image.shape[1:3]
    return min(rows * columns / max(rows_in * columns_in, 1), 1.0)


def window_tiles(main: Work, image: TensorType, result: TensorType, blocking: Blocking, kernel_h: int) -> int:
    """Return the tile rows of the image under the rows of one step of the result, a tile of channels wide."""
    if len(image.shape) < 4 or len(result.shape) < 4:
        return 0
    pixels = min(blocking.mblock[0] * blocking.ublock[0] * 32, result.shape[1] * result.shape[2])
    rows = -(-pixels // max(result.shape[2], 1))
    stride = _pair(main.attrs.get("strides"))[0]
    if main.op.endswith("conv_transpose2d"):
        rows = -(-rows // stride)
    else:
        dilation = _pair(main.attrs.get("dilations"))[0]
        rows = (rows - 1) * stride + (kernel_h - 1) * dilation + 1
    return -(-min(rows, image.shape[1]) * image.shape[2] // 32)


def block_width(op: Op, image: TensorType, taps: int, main: Work) -> int:
    """Return the tile columns of channels that the buffer holds: of a product those of a K block, which spans one tap or all of them."""
    channels = -(-image.shape[-1] // 32)
    if op.inner is None or op.blocking is None or main.op.endswith("pool2d"):
        return 1
    weight = op.work.value_types[main.operands[1]] if main.operands[1] is not None else None
    if weight is not None and len(weight.shape) == 4 and weight.shape[2] == 1:  # a filter a channel: those of the block's columns
        channels = min(channels, op.blocking.mblock[1] * op.blocking.ublock[1])
    outer, inner = op.inner
    if inner % taps == 0 and outer * (inner // taps) == channels:
        return inner // taps
    return min(inner, channels)


def _origin(op: Op, value: int | None) -> int | None:
    """Return the input that a value comes from through views."""
    number = len(op.work.inputs)
    owners: dict[int, Work] = {}
    for work in op.work.works:
        for _ in work.results:
            owners[number] = work
            number += 1
    while value is not None and value in owners:
        owner = owners[value]
        if not in_transit(owner.op) or not owner.operands:
            return None
        value = owner.operands[0]
    return value


def _kernel(main: Work, types: list[TensorType]) -> tuple[int, int]:
    """Height and width of the window."""
    if "kernel" in main.attrs:
        return _pair(main.attrs["kernel"])
    if len(main.operands) > 1 and main.operands[1] is not None and len(types[main.operands[1]].shape) == 4:
        height, width = types[main.operands[1]].shape[:2]
        return height, width
    return 1, 1


def _pair(value: object) -> tuple[int, int]:
    """Return a pair of numbers of at least 1; (1, 1) where there is none."""
    if isinstance(value, tuple) and len(value) >= 2 and all(isinstance(x, int) for x in value[:2]):
        return max(value[0], 1), max(value[1], 1)
    return 1, 1
