"""Images sampled anew on a regular grid."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def, traits_def
from xdsl.traits import Pure

from ttc.dialects.tile.base import TILE, SharedOp


class _Resize(SharedOp):
    x = operand_def(TILE)
    y = result_def(TILE)
    traits = traits_def(Pure())


@irdl_op_definition
class ResizeOp(_Resize):
    """x sampled anew along each dimension: sample i lies at the element that `coordinates` says, and is made of its neighbours.

    Args:    x: tile[d..].  sizes: of y; scales: y's over x's, one a dimension.  window: starts, then ends of what tf_crop_and_resize
             reads, as parts of each dimension.  mode: nearest, linear or cubic.  coordinates: half_pixel, half_pixel_symmetric,
             pytorch_half_pixel, asymmetric, align_corners or tf_crop_and_resize.  rounding: of nearest.  cubic: coefficient of the kernel.
             exclude_outside: neighbours beyond the border weigh nothing, instead of repeating it.
             antialias: the kernel is widened by 1 / scale where that is larger than 1.  fill: of samples beyond the window's image.
    Returns: y: tile[sizes].
    Raises:  E0401 if x is empty, E0402 for an attribute out of range.
    """

    name = "tile.resize"


@irdl_op_definition
class ResizeByOp(_Resize):
    """`tile.resize` by scales that are computed, to sizes that are known.

    Args:    x: tile[d..].  scales: tile[k]: y's over x's, of the axes, which must come to sizes, to within one element.
             roi: tile[2 k]: starts, then ends, of the window along the axes; absent: 0 and 1.  axes: distinct, counted from the front.
             sizes: of y along the axes.  mode, coordinates, rounding, cubic, exclude_outside, antialias, fill: as tile.resize has them.
    Returns: y: tile of the shape of x but along the axes.
    Raises:  E0401 if scales or roi do not fit the axes, E0402 for an attribute out of range.  E0802 at run time for other scales.
    """

    name = "tile.resize_by"
    x = operand_def(TILE)
    scales = operand_def(TILE)
    roi = opt_operand_def(TILE)
