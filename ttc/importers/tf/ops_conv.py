"""Convolutions and pools over two and three spatial dimensions, channels last or first."""

from __future__ import annotations

from typing import TypeAlias

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.records import record
from ttc.importers.common import images
from ttc.importers.common.builder import Builder
from ttc.importers.common.convolution import convolution, groups_of, lacking, pool, transposed_convolution
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.common.windows import SpatialWindow, same_totals, split_pads
from ttc.importers.tf.tables import Rows

Ints: TypeAlias = tuple[int, ...]


@record
class ImageLayout:
    """The places of dimensions of an image.  last: channels come last; rank: spatial dimensions."""

    last: bool
    rank: int

    def spatial(self, values: Ints, what: str) -> Ints:
        """Return the spatial entries of an attribute with one a dimension; those of batch and channels must be 1. Raises E0402,
        Unsupported.
        """
        if len(values) != self.rank + 2:
            raise Error("E0402", f"{what} {list(values)[:8]} does not fit {self.rank + 2} dimensions")
        at = 1 if self.last else 2
        found = values[at : at + self.rank]
        if values[:at] + values[at + self.rank :] != (1, 1):
            raise Unsupported(f"{what} {list(values)} over batch or channels")
        images.require_steps(what, found)
        return found

    def sizes(self, b: Builder, x: SSAValue) -> Ints:
        """Return the sizes of the spatial dimensions.  Raises E0401."""
        shape = b.shape(x)
        if len(shape) != self.rank + 2:
            raise Error("E0401", f"needs rank {self.rank + 2}, not {b.spec(x)}")
        return shape[1:-1] if self.last else shape[2:]

    def first(self, b: Builder, x: SSAValue) -> SSAValue:
        """Return x transposed so that channels come first."""
        return b.nn("transpose", x, perm=(0, self.rank + 1, *range(1, self.rank + 1))) if self.last else x

    def back(self, b: Builder, x: SSAValue) -> SSAValue:
        """Return x, whose channels come first, in this layout."""
        return b.nn("transpose", x, perm=(0, *range(2, self.rank + 2), 1)) if self.last else x


_LAYOUTS = {"NHWC": ImageLayout(True, 2), "NCHW": ImageLayout(False, 2), "NDHWC": ImageLayout(True, 3), "NCDHW": ImageLayout(False, 3)}


def layout_of(data_format: str) -> ImageLayout:
    """Return the layout that `data_format` names.  Raises Unsupported."""
    found = _LAYOUTS.get(data_format)
    if found is None:
        raise Unsupported(f"data_format {data_format[:20]}")
    return found


def paddings(sizes: Ints, flat: SpatialWindow, padding: str, explicit: Ints, layout: ImageLayout) -> Ints:
    """Return all beginnings, then all ends. Raises E0402."""
    if padding == "VALID":
        return (0,) * (2 * layout.rank)
    if padding == "SAME":
        return split_pads(same_totals(sizes, flat.kernel, flat.strides, flat.dilations), upper=True)
    if padding != "EXPLICIT" or len(explicit) != 2 * (layout.rank + 2) or min(explicit) < 0:
        raise Error("E0402", f"padding '{padding[:20]}' or explicit_paddings {list(explicit)[:12]} cannot be used")
    pairs = list(zip(explicit[::2], explicit[1::2], strict=True))
    at = 1 if layout.last else 2
    if any(p != (0, 0) for p in pairs[:at] + pairs[at + layout.rank :]):
        raise Unsupported("padding of batch or channels")
    inner = pairs[at : at + layout.rank]
    return (*(p[0] for p in inner), *(p[1] for p in inner))


def _window(
    b: Builder, x: SSAValue, layout: ImageLayout, kernel: Ints, strides: Ints, dilations: Ints, padding: str, explicit: Ints
) -> SpatialWindow:
    dilations = dilations or (1,) * (layout.rank + 2)
    flat = SpatialWindow(kernel, layout.spatial(strides, "strides"), layout.spatial(dilations, "dilations"), ())
    images.require_steps("kernel", kernel)
    return SpatialWindow(flat.kernel, flat.strides, flat.dilations, paddings(layout.sizes(b, x), flat, padding, explicit, layout))


def _kernel(b: Builder, w: SSAValue, rank: int) -> Ints:
    if b.rank(w) != rank + 2:
        raise Error("E0401", f"needs a filter of rank {rank + 2}, not {b.spec(w)}")
    return b.shape(w)[:rank]


def conv(
    b: Builder,
    input: SSAValue,
    filter: SSAValue,
    *,
    strides: Ints,
    padding: str,
    explicit_paddings: Ints = (),
    data_format: str = "NHWC",
    dilations: Ints = (),
) -> SSAValue:
    """Convolve with filter[height, width, in / groups, out]; groups follow from the channels."""
    layout = layout_of(data_format)
    win = _window(b, input, layout, _kernel(b, filter, layout.rank), strides, dilations, padding, explicit_paddings)
    if layout == _LAYOUTS["NHWC"]:
        return images.conv(b, input, filter, None, win.strides, win.dilations, win.pads)
    x = layout.first(b, input)
    w = b.nn("transpose", filter, perm=(layout.rank + 1, layout.rank, *range(layout.rank)))
    return layout.back(b, convolution(b, x, w, None, win, groups_of(b.shape(x)[1], b.shape(filter)[-2])))


def conv3d(
    b: Builder, input: SSAValue, filter: SSAValue, *, strides: Ints, padding: str, data_format: str = "NDHWC", dilations: Ints = ()
) -> SSAValue:
    return conv(b, input, filter, strides=strides, padding=padding, data_format=data_format, dilations=dilations)


def depthwise(
    b: Builder,
    input: SSAValue,
    filter: SSAValue,
    *,
    strides: Ints,
    padding: str,
    explicit_paddings: Ints = (),
    data_format: str = "NHWC",
    dilations: Ints = (),
) -> SSAValue:
    """Convolve with filter[height, width, in, m]: every channel has m filters of its own."""
    height, width = _kernel(b, filter, 2)
    inputs, factor = b.shape(filter)[2:]
    channels = b.shape(input)[-1 if layout_of(data_format).last else 1] if b.rank(input) == 4 else None
    if channels != inputs:
        raise Error("E0401", f"filter {b.spec(filter)} does not fit {b.spec(input)}")
    grouped = b.reshape(filter, height, width, 1, inputs * factor)
    return conv(
        b,
        input,
        grouped,
        strides=strides,
        padding=padding,
        explicit_paddings=explicit_paddings,
        data_format=data_format,
        dilations=dilations,
    )


def conv_transposed(
    b: Builder,
    input_sizes: SSAValue,
    filter: SSAValue,
    out_backprop: SSAValue,
    *,
    strides: Ints,
    padding: str,
    explicit_paddings: Ints = (),
    data_format: str = "NHWC",
    dilations: Ints = (),
) -> SSAValue:
    """Return the image of size input_sizes whose convolution gives out_backprop's shape; filter[height, width, out, in]."""
    layout = layout_of(data_format)
    shape = b.ints(input_sizes, "size of the result")
    if len(shape) not in (layout.rank, layout.rank + 2):
        raise Error("E0401", f"sizes {list(shape)} do not fit {layout.rank} spatial dimensions")
    sizes = shape if len(shape) == layout.rank else shape[1:-1] if layout.last else shape[2:]
    steps = layout.spatial(strides, "strides")
    apart = layout.spatial(dilations or (1,) * (layout.rank + 2), "dilations")
    if layout == _LAYOUTS["NHWC"] and padding in ("SAME", "VALID"):
        return images.conv_transpose(b, out_backprop, filter, None, sizes, steps, apart, padding)
    flat = SpatialWindow(_kernel(b, filter, layout.rank), steps, apart, ())
    images.require_steps("sizes", sizes)
    flat = SpatialWindow(flat.kernel, steps, apart, paddings(sizes, flat, padding, explicit_paddings, layout))
    x = layout.first(b, out_backprop)
    extra = lacking(b, out_backprop, layout.sizes(b, out_backprop), sizes, flat)
    w = b.nn("transpose", filter, perm=(layout.rank + 1, layout.rank, *range(layout.rank)))
    return layout.back(b, transposed_convolution(b, x, w, None, flat, extra, 1))


def conv3d_transposed(
    b: Builder,
    input_sizes: SSAValue,
    filter: SSAValue,
    out_backprop: SSAValue,
    *,
    strides: Ints,
    padding: str,
    data_format: str = "NDHWC",
    dilations: Ints = (),
) -> SSAValue:
    return conv_transposed(
        b, input_sizes, filter, out_backprop, strides=strides, padding=padding, data_format=data_format, dilations=dilations
    )


# ---- pools -----------------------------------------------------------------------------------------------------------------------------


def _pooled(b: Builder, op: str, x: SSAValue, ksize: Ints, strides: Ints, padding: str, explicit: Ints, data_format: str) -> SSAValue:
    layout = layout_of(data_format)
    win = _window(b, x, layout, layout.spatial(ksize, "ksize"), strides, (), padding, explicit)
    if layout == _LAYOUTS["NHWC"]:
        return images.pool(b, op, x, win.kernel, win.strides, win.pads)
    attrs = {"count_include_pad": False} if op == "avg_pool2d" else {}
    return layout.back(b, pool(b, op, layout.first(b, x), win, 0, **attrs))


def max_pool(
    b: Builder, input: SSAValue, *, ksize: Ints, strides: Ints, padding: str, explicit_paddings: Ints = (), data_format: str = "NHWC"
) -> SSAValue:
    return _pooled(b, "max_pool2d", input, ksize, strides, padding, explicit_paddings, data_format)


def max_pool_v2(b: Builder, input: SSAValue, ksize: SSAValue, strides: SSAValue, *, padding: str, data_format: str = "NHWC") -> SSAValue:
    return _pooled(b, "max_pool2d", input, b.ints(ksize, "ksize"), b.ints(strides, "strides"), padding, (), data_format)


def max_pool3d(b: Builder, input: SSAValue, *, ksize: Ints, strides: Ints, padding: str, data_format: str = "NDHWC") -> SSAValue:
    return _pooled(b, "max_pool2d", input, ksize, strides, padding, (), data_format)


def avg_pool(b: Builder, value: SSAValue, *, ksize: Ints, strides: Ints, padding: str, data_format: str = "NHWC") -> SSAValue:
    return _pooled(b, "avg_pool2d", value, ksize, strides, padding, (), data_format)


def avg_pool3d(b: Builder, input: SSAValue, *, ksize: Ints, strides: Ints, padding: str, data_format: str = "NDHWC") -> SSAValue:
    return _pooled(b, "avg_pool2d", input, ksize, strides, padding, (), data_format)


def bias_add(b: Builder, value: SSAValue, bias: SSAValue, *, data_format: str = "NHWC") -> SSAValue:
    """Add one number to each channel."""
    rank = b.rank(value)
    if data_format.startswith("NC") and rank > 2:
        bias = b.reshape(bias, b.spec(bias).elements, *(1,) * (rank - 2))
    return b.nn("add", value, bias)


def lrn(b: Builder, input: SSAValue, *, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5) -> SSAValue:
    return images.local_response_norm(b, input, depth_radius, bias, alpha, beta)


ROWS: Rows = {
    "Conv2D": conv,
    "Conv3D": conv3d,
    "DepthwiseConv2dNative": depthwise,
    "Conv2DBackpropInput": conv_transposed,
    "Conv3DBackpropInputV2": conv3d_transposed,
    "MaxPool": max_pool,
    "MaxPoolV2": max_pool_v2,
    "MaxPool3D": max_pool3d,
    "AvgPool": avg_pool,
    "AvgPool3D": avg_pool3d,
    "BiasAdd": bias_add,
    "BiasAddV1": bias_add,
    "LRN": lrn,
}
