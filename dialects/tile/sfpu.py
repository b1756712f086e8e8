"""Elementwise ops with the numeric variants of Buda's reference semantics; `tile.map` has those of the sources of models."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, result_def

from ttc.dialects.tile.base import TILE, TileOp


@irdl_op_definition
class SfpuOp(TileOp):
    """One function of one operand in float32, as Buda's reference has it: y[i] = fn(x[i]).

    exp is at most the largest number, log 0 = log eps, 1 / 0 = 1 / eps, roots of negative numbers are NaN, gelu is the form with tanh,
    gelu_derivative its usual approximation, power multiplies `parameter` times, lrelu has slope `parameter`, dropout drops with probability
    `parameter`: each tile draws anew from a Mersenne twister of the default seed.

    Args:    x: tile.  fn: abs, cosine, dropout, exp, gelu, gelu_derivative, log, lrelu, power, reciprocal, sigmoid, sine, sqrt, square or
             tanh.  parameter: see above.  vector: `rc` (default), or `r` (only the first 4 rows of every tile are computed), `c` (only its
             first 16 columns), unless tiles have at most 16 rows or columns.  rest: what the rest of such tiles holds: `zero` (default), or
             `input`, the elements of x.  tile: height and width of a tile in elements.
    Returns: y: tile of the shape of x.
    Raises:  E0401 if x does not consist of whole tiles.  E0402 for other functions, modes and parameters.
    Source:  sfpu ops of Buda netlists.
    """

    name = "tile.sfpu"
    x = operand_def(TILE)
    y = result_def(TILE)


@irdl_op_definition
class BinaryOp(TileOp):
    """One function of two operands of one shape in float32; a product with zero is zero, also where the other factor is infinite.

    Args:    a, b: tiles.  fn: add, subtract, multiply or maximum.
    Returns: y: tile of the shape of a.
    Raises:  E0401 if the shapes differ.  E0402 for another fn.
    Source:  binary ops of Buda netlists.
    """

    name = "tile.binary"
    a = operand_def(TILE)
    b = operand_def(TILE)
    y = result_def(TILE)


@irdl_op_definition
class ReluOp(TileOp):
    """A threshold: mode `min` keeps what reaches it and makes the rest 0, mode `max` keeps what lies between 0 and it and clips the rest.

    Args:    x: tile.  mode: min or max.  threshold: see above.
    Returns: y: tile of the shape of x; what is no number becomes 0.
    Raises:  E0402 for another mode, or a threshold that is no number.
    Source:  the attributes relu_en, relu_mode and relu_threshold of Buda netlists.
    """

    name = "tile.relu"
    x = operand_def(TILE)
    y = result_def(TILE)


@irdl_op_definition
class RescaleOp(TileOp):
    """The steps between real numbers and integers: y = x * scale + zero_point, or y = (x - zero_point) * scale for `dequantization`.

    What follows rounds the result to the integers.

    Args:    x, scale: tiles of one shape.  kind: quantization, requantization or dequantization.  zero_point: a number.
    Returns: y: tile of the shape of x.
    Raises:  E0401 if the shapes differ.  E0402 for another kind.
    Source:  the quantization ops of Buda netlists, and the attributes requant and dequant of matmuls.
    """

    name = "tile.rescale"
    x = operand_def(TILE)
    scale = operand_def(TILE)
    y = result_def(TILE)
