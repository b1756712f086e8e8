"""Sliding windows over the two spatial dimensions of an image: what convolutions and pools agree on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from ttc.dialects.core.errors import Error

T = TypeVar("T")
LAYOUTS = ("nchw", "nhwc")


class Window(NamedTuple):
    """How a window moves along one dimension; all in elements.

    Args:
        kernel: taps; dilation: distance between taps; stride: distance between windows.
        before, after: padding at either end.
        ceil: whether a last window may reach past the padding, as long as it starts inside the input or the padding before it.
    """

    kernel: int
    stride: int
    dilation: int
    before: int
    after: int
    ceil: bool = False

    @property
    def extent(self) -> int:
        """Elements from the first tap to the last."""
        return (self.kernel - 1) * self.dilation + 1

    def count(self, size: int) -> int:
        """Windows over `size` elements: less than 1 if none fits; -1 if the size is dynamic."""
        if size < 0:
            return -1
        room = size + self.before + self.after - self.extent
        count = (-(-room // self.stride) if self.ceil else room // self.stride) + 1
        return count - 1 if self.ceil and (count - 1) * self.stride >= size + self.before else count

    def reach(self, count: int) -> int:
        """Return elements that the first `count` windows span."""
        return (count - 1) * self.stride + self.extent


def windows(
    kernel: Sequence[int], strides: Sequence[int], pads: Sequence[int], dilations: Sequence[int], ceil: bool = False
) -> tuple[Window, Window]:
    """Windows along height and width; pads are top, left, bottom, right.  Raises E0402."""
    for name, values, length, least in (
        ("kernel", kernel, 2, 1),
        ("strides", strides, 2, 1),
        ("dilations", dilations, 2, 1),
        ("pads", pads, 4, 0),
    ):
        if len(values) != length or min(values) < least:
            raise Error("E0402", f"{name} takes {length} numbers of at least {least}, not {list(values)}")
    top, left, bottom, right = pads
    return (
        Window(kernel[0], strides[0], dilations[0], top, bottom, ceil),
        Window(kernel[1], strides[1], dilations[1], left, right, ceil),
    )


def window_counts(sizes: tuple[int, int], moves: tuple[Window, Window]) -> tuple[int, int]:
    """Height and width of the result.  Raises E0401 where no window fits."""
    counts = (moves[0].count(sizes[0]), moves[1].count(sizes[1]))
    for size, move, count in zip(sizes, moves, counts, strict=True):
        if size >= 0 and count < 1:
            padded = size + move.before + move.after
            raise Error("E0401", f"a window of {move.extent} elements does not fit into {padded}, padding included")
    return counts


def transposed_counts(sizes: tuple[int, int], moves: tuple[Window, Window], output_padding: Sequence[int]) -> tuple[int, int]:
    """Height and width of the result of a transposed convolution, -1 where the size is dynamic.

    Raises: E0402 unless output_padding is two numbers of at least 0, E0401 where the padding, which is cut off, leaves nothing.
    """
    if len(output_padding) != 2 or min(output_padding) < 0:
        raise Error("E0402", f"output_padding takes 2 numbers of at least 0, not {list(output_padding)}")
    counts: list[int] = []
    for size, move, extra in zip(sizes, moves, output_padding, strict=True):
        count = move.reach(size) + extra - move.before - move.after
        if size >= 0 and count < 1:
            raise Error("E0401", f"pads of {move.before} and {move.after} elements leave nothing of the result")
        counts.append(-1 if size < 0 else count)
    return counts[0], counts[1]


def channels_last(dims: Sequence[T], layout: str) -> tuple[T, T, T, T]:
    """(n, h, w, c) of the dimensions of an image.  Raises E0402 for a layout that does not exist."""
    if layout not in LAYOUTS:
        raise Error("E0402", f"layout is nchw or nhwc, not '{layout}'")
    if layout == "nhwc":
        n, h, w, c = dims
    else:
        n, c, h, w = dims
    return n, h, w, c


def as_layout(n: int, h: int, w: int, c: int, layout: str) -> tuple[int, int, int, int]:
    """Return the dimensions of an image in the order of its layout."""
    return (n, h, w, c) if layout == "nhwc" else (n, c, h, w)
