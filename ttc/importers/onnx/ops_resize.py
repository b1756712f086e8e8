"""Images sampled anew: Resize, and Upsample before it."""

from __future__ import annotations

from math import floor, isfinite
from typing import TypeAlias

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axis_in
from ttc.importers.common.builder import Builder
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.tables import MAPPINGS

Ints: TypeAlias = tuple[int, ...]
Floats: TypeAlias = tuple[float, ...]


@MAPPINGS.rule("Upsample-7")
def upsample_7(b: Builder, x: SSAValue, *, scales: Floats, mode: str = "nearest") -> SSAValue:
    return _upsample(b, x, scales, mode)


@MAPPINGS.rule("Upsample-9")
def upsample_9(b: Builder, x: SSAValue, scales: SSAValue, *, mode: str = "nearest") -> SSAValue:
    if b.known(scales) is None:
        return _resize_by(b, x, scales, None, mode, sizes=_declared(b, x), coordinates="asymmetric", rounding="floor")
    return _upsample(b, x, _floats(b, scales, "scales"), mode)


@MAPPINGS.rule("Resize-10")
def resize_10(b: Builder, x: SSAValue, scales: SSAValue, *, mode: str = "nearest") -> SSAValue:
    """Resize to the nearest sample up where an axis shrinks, as ONNX's example of this version and onnxruntime do; else as Upsample."""
    if b.known(scales) is None:
        one = b.scalar(1, scales)
        if mode == "nearest":
            x = _resize_by(b, x, b.nn("minimum", scales, one), None, mode, coordinates="asymmetric", rounding="ceil")
            scales = b.nn("maximum", scales, one)
        return _resize_by(b, x, scales, None, mode, coordinates="asymmetric", rounding="floor")
    factors = _floats(b, scales, "scales")
    if mode == "nearest" and min(factors, default=1.0) < 1:
        x = _upsample(b, x, tuple(min(f, 1.0) for f in factors), mode, rounding="ceil")
        factors = tuple(max(f, 1.0) for f in factors)
    return _upsample(b, x, factors, mode)


def _upsample(b: Builder, x: SSAValue, scales: Floats, mode: str, rounding: str = "floor") -> SSAValue:
    """Sample i lies at i / scale."""
    shape = b.shape(x)
    if len(scales) != len(shape):
        raise Error("E0402", f"{len(scales)} scales do not fit {b.spec(x)}")
    window = (0.0,) * len(shape) + (1.0,) * len(shape)
    return _resize(b, x, _scaled(shape, scales), scales, window, mode, coordinates="asymmetric", rounding=rounding)


@MAPPINGS.rule("Resize-11")
def resize_11(
    b: Builder,
    x: SSAValue,
    roi: SSAValue | None = None,
    scales: SSAValue | None = None,
    sizes: SSAValue | None = None,
    *,
    antialias: int = 0,
    axes: Ints | None = None,
    coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: str = "stretch",
    mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> SSAValue:
    """Resize to given scales, or sizes; both, and the region that tf_crop_and_resize reads, are those of the axes."""
    shape = b.shape(x)
    at = tuple(range(len(shape))) if axes is None else tuple(axis_in(a, len(shape)) for a in axes)
    options = {
        "coordinates": coordinate_transformation_mode,
        "rounding": nearest_mode,
        "cubic": cubic_coeff_a,
        "exclude_outside": bool(exclude_outside),
        "antialias": bool(antialias),
        "fill": extrapolation_value,
    }
    region = roi if coordinate_transformation_mode == "tf_crop_and_resize" else None
    crops = region is not None and b.known(region) is None
    if scales is not None and b.spec(scales).elements and (crops or b.known(scales) is None):
        return _resize_by(b, x, scales, region, mode, axes=at, sizes=_declared(b, x, at), **options)
    given = () if sizes is None else b.ints(sizes, "sizes")
    factors = _floats(b, scales, "scales") if scales is not None and not given else ()
    part = tuple(shape[a] for a in at)
    if len(given or factors) != len(at) or len(set(at)) != len(at):
        raise Error("E0402", f"scales {list(factors)} or sizes {list(given)} do not fit axes {list(at)} of {b.spec(x)}")
    if given:
        given, factors = _fitted(part, given, keep_aspect_ratio_policy)
        if crops:
            return _resize_by(b, x, b.constant(np.array(factors)), region, mode, axes=at, sizes=given, **options)
    else:
        given = _scaled(part, factors)
    return _resize(
        b,
        x,
        _by_axis(shape, at, given),
        _by_axis((1.0,) * len(shape), at, factors),
        _window(b, roi, at, len(shape), coordinate_transformation_mode),
        mode,
        **options,
    )


def _resize_by(
    b: Builder,
    x: SSAValue,
    scales: SSAValue,
    roi: SSAValue | None,
    mode: str,
    *,
    coordinates: str,
    rounding: str,
    axes: Ints | None = None,
    sizes: Ints | None = None,
    cubic: float = -0.75,
    exclude_outside: bool = False,
    antialias: bool = False,
    fill: float = 0.0,
) -> SSAValue:
    """By scales that are not known at import, of the axes or all."""
    return b.nn(
        "resize_by",
        x,
        scales,
        roi,
        axes=tuple(range(b.rank(x))) if axes is None else axes,
        sizes=sizes,
        mode=mode,
        coordinates=coordinates,
        rounding=rounding,
        cubic=cubic,
        exclude_outside=exclude_outside,
        antialias=antialias,
        fill=fill,
    )


def _declared(b: Builder, x: SSAValue, axes: Ints | None = None) -> Ints | None:
    """Return the sizes of the axes (None: all) that the model declares for the result, if it does, and only these differ from x."""
    shape, found = b.shape(x), b.declared.get(b.outputs[0], ())
    along = range(len(shape)) if axes is None else axes
    if len(found) != len(shape) or any(found[i] != size for i, size in enumerate(shape) if i not in along):
        return None
    return tuple(found[axis] for axis in along)


def _floats(b: Builder, value: SSAValue, what: str) -> Floats:
    return tuple(float(v) for v in b.need(value, what).ravel()[:64])


def _scaled(shape: Ints, scales: Floats) -> Ints:
    if not all(0 < s < 1 << 24 for s in scales):
        raise Error("E0402", f"scales {list(scales)} are not positive")
    return tuple(floor(d * s) for d, s in zip(shape, scales, strict=True))


def _fitted(shape: Ints, sizes: Ints, policy: str) -> tuple[Ints, Floats]:
    """Return sizes and scales that stretch to the sizes, or the largest (smallest) of one scale that are nowhere larger (smaller)."""
    if any(size < min(d, 1) or (size > 0) != (d > 0) for size, d in zip(sizes, shape, strict=True)):
        raise Error("E0402", f"sizes {list(sizes)} are not positive")
    scales = tuple(size / d if d else 1.0 for size, d in zip(sizes, shape, strict=True))
    if policy == "stretch":
        return sizes, scales
    if policy not in ("not_larger", "not_smaller"):
        raise Error("E0402", f"keep_aspect_ratio_policy '{policy[:40]}' is unknown")
    scale = min(scales) if policy == "not_larger" else max(scales)
    return tuple(floor(d * scale + 0.5) for d in shape), (scale,) * len(shape)


def _by_axis(values: tuple, axes: Ints, new: tuple) -> tuple:
    """Return the values with those of the axes replaced."""
    found = dict(zip(axes, new, strict=True))
    return tuple(found.get(i, v) for i, v in enumerate(values))


def _window(b: Builder, roi: SSAValue | None, axes: Ints, rank: int, coordinates: str) -> Floats:
    """Starts, then ends, of the region by dimension."""
    starts, ends = (0.0,) * rank, (1.0,) * rank
    if coordinates != "tf_crop_and_resize" or roi is None:
        return starts + ends
    values = _floats(b, roi, "roi")
    if len(values) != 2 * len(axes) or not all(isfinite(v) for v in values):
        raise Error("E0402", f"roi {list(values)} does not fit {len(axes)} axes")
    return _by_axis(starts, axes, values[: len(axes)]) + _by_axis(ends, axes, values[len(axes) :])


def _resize(
    b: Builder,
    x: SSAValue,
    sizes: Ints,
    scales: Floats,
    window: Floats,
    mode: str,
    *,
    coordinates: str,
    rounding: str,
    cubic: float = -0.75,
    exclude_outside: bool = False,
    antialias: bool = False,
    fill: float = 0.0,
) -> SSAValue:
    if mode not in ("nearest", "linear", "cubic"):
        raise Unsupported(f"mode {mode[:20]}")
    if 0 in b.shape(x):
        return b.constant(np.zeros(sizes, b.dtype(x)))
    return b.nn(
        "resize",
        x,
        sizes=sizes,
        scales=scales,
        window=window,
        mode=mode,
        coordinates=coordinates,
        rounding=rounding,
        cubic=cubic,
        exclude_outside=exclude_outside,
        antialias=antialias,
        fill=fill,
    )
