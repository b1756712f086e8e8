"""Weights with which images are sampled anew, as TensorFlow's kernels compute them: [samples, elements] along one dimension."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.records import record
from ttc.importers.common.builder import Builder
from ttc.importers.common.tracking import MAX_ELEMENTS
from ttc.importers.common.unsupported import Unsupported

STEPS = 1024
"""How many places between two elements TensorFlow's table of cubic weights has."""
TINY = 1000.0 * float(np.finfo(np.float32).tiny)


@record
class ResamplingKernel:
    """A weight by distance, in elements, and the distance from which on it is 0."""

    radius: float
    weigh: Callable[[NDArray], NDArray]


def _lanczos(radius: float) -> ResamplingKernel:
    return ResamplingKernel(radius, lambda x: np.where(x > radius, 0.0, np.where(x <= 1e-3, 1.0, np.sinc(x) * np.sinc(x / radius))))


def _cubic(x: NDArray) -> NDArray:
    return np.where(x >= 2, 0.0, np.where(x >= 1, ((-0.5 * x + 2.5) * x - 4) * x + 2, ((1.5 * x - 2.5) * x) * x + 1))


def _mitchell(x: NDArray) -> NDArray:
    outer, inner = (((-7 / 18) * x + 2) * x - 10 / 3) * x + 16 / 9, (((7 / 6) * x - 2) * x) * x + 8 / 9
    return np.where(x >= 2, 0.0, np.where(x >= 1, outer, inner))


KERNELS: Mapping[str, ResamplingKernel] = MappingProxyType(
    {
        **{f"lanczos{n}": _lanczos(float(n)) for n in (1, 3, 5)},
        "gaussian": ResamplingKernel(1.5, lambda x: np.where(x >= 1.5, 0.0, np.exp(-(x**2) / (2 * 0.5**2)))),
        "box": ResamplingKernel(1.0, lambda x: np.where(x < 0.5, 1.0, np.where(x == 0.5, 0.5, 0.0))),
        "triangle": ResamplingKernel(1.0, lambda x: np.maximum(1 - x, 0.0)),
        "keyscubic": ResamplingKernel(2.0, _cubic),
        "mitchellcubic": ResamplingKernel(2.0, _mitchell),
    }
)


def require_table(samples: int, size: int) -> None:
    """Check the sizes of a table of samples and elements.  Raises E0402, Unsupported."""
    if samples < 1 or size < 1:
        raise Error("E0402", f"{samples} samples of {size} elements are not possible: there is at least 1 of each")
    if samples * size > MAX_ELEMENTS:
        raise Unsupported(f"{samples} samples of {size} elements")


def spans(samples: int, size: int, scale: float, offset: float, kernel: ResamplingKernel, *, antialias: bool) -> NDArray:
    """Return weights that add up to 1: sample i lies at (i + 1/2 - offset) / scale, and weighs 0 outside of the image.

    Places are float32, as TensorFlow's: kernels end abruptly.
    """
    require_table(samples, size)
    if not np.isfinite([scale, offset]).all() or scale <= 0:
        raise Error("E0402", f"a scale of {scale} and a translation of {offset} are not finite, or the scale is not above 0")
    half, radius = np.float32(0.5), np.float32(kernel.radius)
    step = np.float32(1) / np.float32(scale)
    wide = max(step, np.float32(1)) if antialias else np.float32(1)
    at = ((np.arange(samples, dtype=np.float32) + half) * step + -step * np.float32(offset))[:, None]
    first, last = (np.clip(v, 0, size - 1) for v in (np.ceil(at - radius * wide - half), np.floor(at + radius * wide - half)))
    places = np.arange(size, dtype=np.float32)[None, :]
    distances = np.abs((places + half - at) * (np.float32(1) / wide)).astype(np.float64)
    weights = np.where((places >= first) & (places <= last), kernel.weigh(distances), 0.0)
    total = weights.sum(1, keepdims=True)
    weights = np.where(np.abs(total) >= TINY, weights / np.where(total == 0, 1.0, total), weights)
    return np.where((at < 0) | (at > size), 0.0, weights)


def areas(samples: int, size: int, *, align_corners: bool) -> NDArray:
    """Return weights by which each sample is the mean of what it covers."""
    require_table(samples, size)
    step = (size - 1) / (samples - 1) if align_corners and samples > 1 else size / samples
    found = np.zeros((samples, size))
    for i in range(samples):
        low, high = i * step, (i + 1) * step
        for place in range(int(np.floor(low)), int(np.ceil(high))):
            found[i, min(max(place, 0), size - 1)] += (min(place + 1, high) - max(place, low)) / step
    return found


def cubics(samples: int, size: int, *, align_corners: bool, half_pixel: bool, steps: int | None = STEPS) -> NDArray:
    """Return weights of cubic interpolation: four elements a sample, at places rounded to steps, if any. Beyond the border is nothing, or
    the border again.
    """
    require_table(samples, size)
    step = np.float32((size - 1) / (samples - 1) if align_corners and samples > 1 else size / samples)
    count = np.arange(samples, dtype=np.float32)
    at = (count + np.float32(0.5)) * step - np.float32(0.5) if half_pixel else count * step
    whole = np.floor(at)
    rest = (at - whole).astype(np.float64)
    rest = rest if steps is None else np.rint(rest * steps) / steps
    a = -0.5 if half_pixel else -0.75

    def weight(x: NDArray) -> NDArray:
        near, far = ((a + 2) * x - (a + 3)) * x * x + 1, ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return np.where(x <= 1, near, far)

    found = np.zeros((samples, size))
    for tap in range(-1, 3):
        places, parts = whole.astype(np.int64) + tap, weight(np.abs(tap - rest))
        inside = np.clip(places, 0, size - 1)
        np.add.at(found, (np.arange(samples), inside), np.where(inside == places, parts, 0.0) if half_pixel else parts)
    return found / found.sum(1, keepdims=True) if half_pixel else found


def sampled(b: Builder, x: SSAValue, rows: NDArray, columns: NDArray) -> SSAValue:
    """Return images x[n, height, width, c] of floating point by weights of their rows and columns: two products of matrices."""
    n, height, width, channels = b.shape(x)
    high, wide = (b.constant(w.astype(b.dtype(x))) for w in (rows, columns))
    lines = b.nn("matmul", high, b.reshape(x, n, height, width * channels), None, transpose_a=False, transpose_b=False)
    lines = b.reshape(lines, n, len(rows), width, channels)
    return b.nn("matmul", wide, lines, None, transpose_a=False, transpose_b=False)
