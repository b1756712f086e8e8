"""Interpolation along one dimension: which elements make each sample, and with what weight."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MODES = ("nearest", "linear", "cubic")
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
COORDINATES = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize")


class ResampledAxis(NamedTuple):
    """How a dimension of `size` elements becomes one of `count` samples.

    Args:
        scale: samples an element; start, end: the part that tf_crop_and_resize reads, of the dimension's length.
        mode, coordinates, rounding: see MODES, COORDINATES, ROUNDINGS (of nearest).
        cubic: the coefficient of the cubic kernel.  exclude_outside: taps beyond the border weigh nothing; else they repeat it.
        antialias: widen the kernel where samples are fewer than elements.
    """

    size: int
    count: int
    scale: float
    start: float
    end: float
    mode: str
    coordinates: str
    rounding: str
    cubic: float
    exclude_outside: bool
    antialias: bool


class Taps(NamedTuple):
    """Sample i is the sum over k of weights[i, k] * x[places[i, k]]; outside[i]: it lies beyond what was asked for."""

    places: NDArray[np.int64]
    weights: NDArray[np.float64]
    outside: NDArray[np.bool_]


def taps(s: ResampledAxis) -> Taps:
    """Return the taps of all samples: places [count, k] inside the dimension, weights [count, k], outside [count]."""
    at = positions(s)
    base = np.ceil(at) - 1  # so that the fraction is in (0, 1]: an element hit exactly is its own right neighbour
    fraction = (at - base)[:, None]
    scale = min(s.scale, 1.0) if s.antialias and s.mode != "nearest" else 1.0
    reach = {"nearest": 1, "linear": 1, "cubic": 2}[s.mode] / scale
    first = int(np.floor(-reach)) + 1
    offsets = np.arange(first, 2 - first)
    weights = _weights(s, offsets, fraction, scale)
    places = base[:, None].astype(np.int64) + offsets
    if s.exclude_outside:
        weights = np.where((places >= 0) & (places < s.size), weights, 0.0)
        total = weights.sum(axis=1, keepdims=True)
        weights = weights / np.where(total == 0, 1.0, total)
    outside = (at < 0) | (at > s.size - 1) if s.coordinates == "tf_crop_and_resize" else np.zeros(s.count, bool)
    return Taps(np.clip(places, 0, s.size - 1), weights, outside)


def positions(s: ResampledAxis) -> NDArray[np.float64]:
    """Return where in the dimension each sample lies, in elements: [count]."""
    i = np.arange(s.count, dtype=np.float64)
    length = s.scale * s.size
    match s.coordinates:
        case "asymmetric":
            return i / s.scale
        case "align_corners":
            return i * 0 if length == 1 else i * (s.size - 1) / (length - 1)
        case "tf_crop_and_resize":
            span = (s.end - s.start) * (s.size - 1)
            return s.start * (s.size - 1) + (i * 0 + span / 2 if length == 1 else i * span / (length - 1))
        case "pytorch_half_pixel" if length == 1:
            return i * 0 - 0.5
        case "half_pixel_symmetric":
            return s.size / 2 * (1 - s.count / length) + (i + 0.5) / s.scale - 0.5
        case _:
            return (i + 0.5) / s.scale - 0.5


def _weights(s: ResampledAxis, offsets: NDArray, fraction: NDArray, scale: float) -> NDArray:
    """[count, k]: the kernel at the distances from each tap to the sample."""
    if s.mode == "nearest":
        return _nearest(s.rounding, fraction)
    distance = np.abs((offsets - fraction) * scale)
    weights = np.clip(1 - distance, 0, 1) if s.mode == "linear" else cubic_kernel(distance, s.cubic)
    return weights / weights.sum(axis=1, keepdims=True) if scale < 1 else weights


def _nearest(rounding: str, fraction: NDArray) -> NDArray:
    """[count, 2]: 1 for the left or the right neighbour."""
    right = {
        "round_prefer_floor": fraction > 0.5,
        "round_prefer_ceil": fraction >= 0.5,
        "floor": fraction == 1,
        "ceil": fraction > 0,
    }[rounding]
    return np.concatenate([~right, right], axis=1).astype(np.float64)


def cubic_kernel(distance: NDArray, a: float) -> NDArray:
    """Keys' cubic convolution kernel at distances of at least 0."""
    near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = ((distance - 5) * distance + 8) * distance * a - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0.0))
