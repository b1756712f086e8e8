"""Images sampled anew on a regular grid."""

from __future__ import annotations

from typing import Any

from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def, result_def

from ttc.dialects.core.ir.attributes import BOOL, FLOAT, FLOATS, INTS, STR
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.nn.base import TENSOR, NNOp, require_float
from ttc.dialects.nn.elementwise import NUMERIC, require_kind
from ttc.dialects.nn.shape import ShapeOp
from ttc.dialects.nn.shapes import resize as shapes


@irdl_op_definition
class ResizeOp(ShapeOp):
    """x sampled anew along each dimension: sample i lies at the element that `coordinates` says, and is made of its neighbours.

    half_pixel: (i + 1/2) / scale - 1/2;  pytorch_half_pixel: the same, -1/2 for a single sample;  half_pixel_symmetric: the same, centred
    where sizes are not scales times x's;  asymmetric: i / scale;  align_corners: i * (d - 1) / (scale * d - 1);
    tf_crop_and_resize: the same within the window.

    Args:    x: tensor[d..], numbers; floating point unless mode is nearest.  sizes: of y; scales: y's over x's, one a dimension.
             window: starts, then ends of what tf_crop_and_resize reads, as parts of each dimension; 0 and 1 elsewhere.
             mode: nearest (rounding: round_prefer_floor, round_prefer_ceil, floor, ceil), linear or cubic (coefficient `cubic`).
             exclude_outside: neighbours beyond the border weigh nothing, instead of repeating it.
             antialias: the kernel is widened by 1 / scale where that is larger than 1.
             fill: value of samples beyond the window's image.
    Returns: y: tensor[sizes], x's dtype.
    Raises:  E0401 if x is empty or dynamic, E0402 for an attribute out of range, E0403 for another dtype.
    Source:  ONNX Resize-19 (sizes, policies and axes: the importer resolves them); torch.nn.functional.interpolate.
    """

    name = "nn.resize"
    sizes = prop_def(INTS)
    scales = prop_def(FLOATS)
    window = prop_def(FLOATS)
    mode = prop_def(STR)
    coordinates = prop_def(STR)
    rounding = prop_def(STR)
    cubic = prop_def(FLOAT)
    exclude_outside = prop_def(BOOL)
    antialias = prop_def(BOOL)
    fill = prop_def(FLOAT)

    @classmethod
    def infer(cls, x: Spec, **attrs: Any) -> Spec:
        _require_numbers(x, attrs)
        return Spec(shapes.resize(x.shape, **attrs), x.dtype)


@irdl_op_definition
class ResizeByOp(NNOp):
    """`nn.resize` by scales that are computed: the size of an axis becomes the largest whole number not above scale times it.

    Args:    x: tensor[d..], numbers; floating point unless mode is nearest.  scales: tensor[k], floating point: y's over x's, of the axes.
             roi: tensor[2 k], floating point: starts, then ends, of the window along the axes; absent: 0 and 1.
             axes: distinct, counted from the front.
             sizes: of y along the axes, which the scales must come to, to within one element; absent: they follow from the scales.
             mode, coordinates, rounding, cubic, exclude_outside, antialias, fill: as nn.resize has them.
    Returns: y: tensor[..., ? for each of the axes, or its size, ...], x's dtype.  Scales that are not positive
             or do not come to sizes, an empty x, and a result of more than 256 M elements are E0802 when the op runs.
    Raises:  E0401 if scales or roi do not fit the axes, E0402 for an attribute out of range, E0403 for another dtype.
    Source:  ONNX Resize-19, with scales as an input; torch.nn.functional.interpolate.
    """

    name = "nn.resize_by"
    x = operand_def(TENSOR)
    scales = operand_def(TENSOR)
    roi = opt_operand_def(TENSOR)
    axes = prop_def(INTS)
    sizes = opt_prop_def(INTS)
    mode = prop_def(STR)
    coordinates = prop_def(STR)
    rounding = prop_def(STR)
    cubic = prop_def(FLOAT)
    exclude_outside = prop_def(BOOL)
    antialias = prop_def(BOOL)
    fill = prop_def(FLOAT)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec, scales: Spec, roi: Spec | None = None, **attrs: Any) -> Spec:
        _require_numbers(x, attrs)
        window = None if roi is None else require_float(roi).shape
        return Spec(shapes.resize_by(x.shape, require_float(scales).shape, window, **attrs), x.dtype)


def _require_numbers(x: Spec, attrs: dict[str, Any]) -> None:
    """Raises E0403 unless x holds numbers, of floating point where they are interpolated."""
    require_kind(x, NUMERIC) if attrs["mode"] == "nearest" else require_float(x)
