"""Elementwise ops with the numeric variants of Buda's reference semantics; `tile.map` has those of the sources of models."""

from __future__ import annotations

from math import isfinite
from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.ir.attributes import FLOAT, INTS, STR
from ttc.dialects.tile.base import TILE, Tile, TileOp
from ttc.dialects.tile.kernels.sfpu import MAX_EXPONENT
from ttc.dialects.tile.manipulation import tiles_in


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

    FUNCTIONS: ClassVar[tuple[str, ...]] = (
        *("abs", "cosine", "dropout", "exp", "gelu", "gelu_derivative", "log", "lrelu"),
        *("power", "reciprocal", "sigmoid", "sine", "sqrt", "square", "tanh"),
    )

    name = "tile.sfpu"
    x = operand_def(TILE)
    fn = prop_def(STR)
    parameter = opt_prop_def(FLOAT)
    vector = opt_prop_def(STR)
    rest = opt_prop_def(STR)
    tile = opt_prop_def(INTS)
    y = result_def(TILE)
    traits = traits_def(Pure())

    @classmethod
    def infer(
        cls, x: Tile, *, fn: str, parameter: float = 0.0, vector: str = "rc", rest: str = "zero", tile: tuple[int, ...] = (32, 32)
    ) -> tuple[int, ...]:
        if fn not in cls.FUNCTIONS:
            raise Error("E0402", f"there is no sfpu function '{fn}'", hint=nearest(fn, cls.FUNCTIONS))
        if vector not in ("r", "c", "rc") or rest not in ("zero", "input"):
            raise Error("E0402", f"there is no vector mode '{vector}' beside '{rest}'")
        most = {"power": MAX_EXPONENT, "dropout": 1.0}.get(fn, float("inf"))
        if not isfinite(parameter) or (fn in ("power", "dropout") and not 0 <= parameter <= most):
            raise Error("E0402", f"the parameter {parameter} of {fn} is out of range")
        if vector != "rc" or fn == "dropout":
            tiles_in(x.shape, tile)
        return x.shape


@irdl_op_definition
class BinaryOp(TileOp):
    """One function of two operands of one shape in float32; a product with zero is zero, also where the other factor is infinite.

    Args:    a, b: tiles.  fn: add, subtract, multiply or maximum.
    Returns: y: tile of the shape of a.
    Raises:  E0401 if the shapes differ.  E0402 for another fn.
    Source:  binary ops of Buda netlists.
    """

    FUNCTIONS: ClassVar[tuple[str, ...]] = ("add", "subtract", "multiply", "maximum")

    name = "tile.binary"
    a = operand_def(TILE)
    b = operand_def(TILE)
    fn = prop_def(STR)
    y = result_def(TILE)
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, a: Tile, b: Tile, *, fn: str) -> tuple[int, ...]:
        if fn not in cls.FUNCTIONS:
            raise Error("E0402", f"there is no binary function '{fn}'", hint=nearest(fn, cls.FUNCTIONS))
        return _same(a, b)


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
    mode = prop_def(STR)
    threshold = prop_def(FLOAT)
    y = result_def(TILE)
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, x: Tile, *, mode: str, threshold: float) -> tuple[int, ...]:
        if mode not in ("min", "max") or not isfinite(threshold):
            raise Error("E0402", f"there is no relu of mode '{mode}' at {threshold}")
        return x.shape


@irdl_op_definition
class RescaleOp(TileOp):
    """The steps between real numbers and integers: y = x * scale + zero_point, or y = (x - zero_point) * scale for `dequantization`.

    What follows rounds the result to the integers.

    Args:    x, scale: tiles of one shape.  kind: quantization, requantization or dequantization.  zero_point: a number.
    Returns: y: tile of the shape of x.
    Raises:  E0401 if the shapes differ.  E0402 for another kind.
    Source:  the quantization ops of Buda netlists, and the attributes requant and dequant of matmuls.
    """

    KINDS: ClassVar[tuple[str, ...]] = ("quantization", "requantization", "dequantization")

    name = "tile.rescale"
    x = operand_def(TILE)
    scale = operand_def(TILE)
    kind = prop_def(STR)
    zero_point = prop_def(FLOAT)
    y = result_def(TILE)
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, x: Tile, scale: Tile, *, kind: str, zero_point: float) -> tuple[int, ...]:
        if kind not in cls.KINDS or not isfinite(zero_point):
            raise Error("E0402", f"there is no '{kind}' with zero point {zero_point}", hint=nearest(kind, cls.KINDS))
        return _same(x, scale)


def _same(a: Tile, b: Tile) -> tuple[int, ...]:
    if a.shape != b.shape:
        raise Error("E0401", f"{list(a.shape)} and {list(b.shape)} are not of one shape")
    return a.shape
