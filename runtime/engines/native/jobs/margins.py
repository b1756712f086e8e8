"""Images with rows and columns of zeros around them, which convolutions read where they lie.

Zeros behind a row are those before the next one, and zeros below an image those above the next one:

    columns of images of 4, a margin of one:      - 0 1 2 3 - 0 1 2 3 -
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ttc.runtime.engines.native.graph.storage import STORAGE_BYTES, Storage
from ttc.runtime.engines.native.graph.tensors import PlanBuffer, View
from ttc.runtime.engines.native.jobs.builder import JobBuilder
from ttc.runtime.engines.native.jobs.convolutions import Images, WindowAxis
from ttc.runtime.engines.native.jobs.copies import fill


def with_margins(shape: Sequence[int], storage: Storage, margins: tuple[int, int]) -> View:
    """Return a place for images [count, height, width, channels] in memory of their own, with so many rows and columns of zeros around."""
    count, height, width, channels = shape
    above, beside = margins
    down, across = height + above, width + beside
    cells = (count * down + above) * across + beside
    strides = (down * across * channels, across * channels, channels, 1)
    buffer = PlanBuffer(cells * channels * STORAGE_BYTES[storage], margins=margins)
    return View(buffer, storage, tuple(shape), strides, (above * across + beside) * channels)


def margins_of(view: View) -> tuple[int, int]:
    """Return the rows and columns of zeros around a view; none if it is not all of the images that lie in memory with such."""
    margins = view.buffer.margins
    if margins == (0, 0) or len(view.shape) != 4:
        return 0, 0
    whole = with_margins(view.shape, view.storage, margins)
    return margins if (view.strides, view.offset) == (whole.strides, whole.offset) else (0, 0)


def fill_margins(n: JobBuilder, images: View) -> None:
    """Add the jobs that write the zeros around images, if there are any."""
    above, beside = margins_of(images)
    if above:
        image, line, *_ = images.strides
        fill(n, replace(images, shape=(images.shape[0] + 1, above * line), strides=(image, 1), offset=0), 0.0)
    if beside:
        count, height, _, channels = images.shape
        lines = count * (height + above) + above
        fill(n, replace(images, shape=(lines + 1, beside * channels), strides=(images.strides[1], 1), offset=0), 0.0)


def in_margins(view: View, axes: tuple[WindowAxis, WindowAxis], depth: int) -> Images | None:
    """Return images with the zeros around them that windows meet, if these are in memory; None if windows reach beyond them."""
    margins, found, seen = margins_of(view), list[WindowAxis](), view
    for dimension, (axis, margin) in enumerate(zip(axes, margins, strict=True), 1):
        size = axis.before + axis.size + margin
        found.append(replace(axis, size=size, before=0))
        if not 0 <= axis.before <= margin or not found[-1].is_inside:
            return None
        seen = seen.sliced(dimension, -axis.before, size)
    return None if margins == (0, 0) else Images(seen, found[0], found[1], depth)
