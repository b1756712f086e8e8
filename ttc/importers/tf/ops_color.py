"""Colours of images: hue, saturation and value, contrast."""

from __future__ import annotations

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.tf.tables import Rows


def _channels(b: Builder, x: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Cut images into their three channels.  Raises E0401."""
    if not b.rank(x) or b.shape(x)[-1] != 3:
        raise Error("E0401", f"takes images of three channels, not {b.spec(x)}")
    first, second, third = b.nn_all("split", x, axis=b.rank(x) - 1, sizes=(1, 1, 1))
    return first, second, third


def _ratio(b: Builder, x: SSAValue, y: SSAValue) -> SSAValue:
    """x / y; 0 where y is not above 0."""
    above = b.nn("greater", y, b.scalar(0, y))
    return b.nn("where", above, b.nn("div", x, b.nn("where", above, y, b.scalar(1, y))), b.scalar(0, x))


def rgb_to_hsv(b: Builder, images: SSAValue) -> SSAValue:
    """Return hue (from 0 to 1, by which of red, green and blue is the largest), saturation and value."""
    red, green, blue = _channels(b, images)
    value = b.nn("maximum", red, b.nn("maximum", green, blue))
    span = b.nn("sub", value, b.nn("minimum", red, b.nn("minimum", green, blue)))

    def sector(x: SSAValue, y: SSAValue, start: float) -> SSAValue:
        return b.nn("add", _ratio(b, b.nn("sub", x, y), b.nn("mul", span, b.scalar(6, span))), b.scalar(start, span))

    hue = b.nn("where", b.nn("equal", green, value), sector(blue, red, 2 / 6), sector(red, green, 4 / 6))
    hue = b.nn("where", b.nn("equal", red, value), sector(green, blue, 0.0), hue)
    hue = b.nn("where", b.nn("greater", span, b.scalar(0, span)), hue, b.scalar(0, hue))
    hue = b.nn("where", b.nn("less", hue, b.scalar(0, hue)), b.nn("add", hue, b.scalar(1, hue)), hue)
    return b.nn("concat", hue, _ratio(b, span, value), value, axis=b.rank(images) - 1)


def hsv_to_rgb(b: Builder, images: SSAValue) -> SSAValue:
    """Return red, green and blue: value * (1 - saturation * (1 - how much of the hue's circle is theirs))."""
    hue, saturation, value = _channels(b, images)
    six = b.nn("mul", hue, b.scalar(6, hue))

    def share(middle: float, sign: float, offset: float) -> SSAValue:
        away = b.nn("abs", b.nn("sub", six, b.scalar(middle, six)))
        return b.nn("clip", b.nn("add", b.nn("mul", away, b.scalar(sign, six)), b.scalar(offset, six)), min=0.0, max=1.0)

    shares = share(3.0, 1.0, -1.0), share(2.0, -1.0, 2.0), share(4.0, -1.0, 2.0)
    rest = b.nn("sub", b.scalar(1, value), saturation)
    parts = [b.nn("mul", b.nn("add", b.nn("mul", saturation, x), rest), value) for x in shares]
    return b.nn("concat", *parts, axis=b.rank(images) - 1)


def adjust_hue(b: Builder, images: SSAValue, delta: SSAValue) -> SSAValue:
    """Return the hue turned by a part of the circle."""
    hue, saturation, value = _channels(b, rgb_to_hsv(b, images))
    turned = b.nn("add", hue, b.cast(b.reshape(delta), b.dtype(images)))
    turned = b.nn("sub", turned, b.nn("floor", turned))
    return hsv_to_rgb(b, b.nn("concat", turned, saturation, value, axis=b.rank(images) - 1))


def adjust_saturation(b: Builder, images: SSAValue, scale: SSAValue) -> SSAValue:
    hue, saturation, value = _channels(b, rgb_to_hsv(b, images))
    scaled = b.nn("clip", b.nn("mul", saturation, b.cast(b.reshape(scale), b.dtype(images))), min=0.0, max=1.0)
    return hsv_to_rgb(b, b.nn("concat", hue, scaled, value, axis=b.rank(images) - 1))


def adjust_contrast(b: Builder, images: SSAValue, contrast_factor: SSAValue) -> SSAValue:
    """Move elements away from the mean of each image and channel."""
    rank = b.rank(images)
    if rank < 3:
        raise Error("E0401", f"takes images, not {b.spec(images)}")
    mean = b.nn("reduce_mean", images, axes=(rank - 3, rank - 2), keepdims=True)
    factor = b.cast(b.reshape(contrast_factor), b.dtype(images))
    return b.nn("add", b.nn("mul", b.nn("sub", images, mean), factor), mean)


ROWS: Rows = {
    "RGBToHSV": rgb_to_hsv,
    "HSVToRGB": hsv_to_rgb,
    "AdjustHue": adjust_hue,
    "AdjustSaturation": adjust_saturation,
    "AdjustContrastv2": adjust_contrast,
}
