"""Matrix products with activations that they cannot apply themselves."""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from ttc.dialects.core.kernels.epilogue import activation_attrs
from ttc.dialects.tile.base import tile_of
from ttc.dialects.tile.buda import is_epilogue
from ttc.dialects.tile.linear import MatmulOp
from ttc.passes.tile.expand import EXPANSIONS
from ttc.passes.tile.expand.expansion import Expansion


@EXPANSIONS.rule("matmul")
def expand_matmul(op: MatmulOp, to: Expansion) -> SSAValue:
    """Expand a product: the left operand is transposed by itself, the activation comes after the product."""
    attrs = op.plain_attrs()
    activation, args = attrs.pop("activation", None), tuple(attrs.pop("activation_args", None) or ())
    a = op.a
    if attrs.pop("transpose_a"):
        a = to.map("identity", to.swap(to.reshape(a, tile_of(a).shape)), format=tile_of(a).format)
    if is_epilogue(activation, args):
        y = to.matmul(a, op.b, op.bias, fold=to.result.fold, format=to.result.format, **epilogue(activation, args), **attrs)
    else:
        y = activated(to.matmul(a, op.b, op.bias, fold=to.result.fold, **attrs), activation, args, to)
    return to.reshape(y, to.result.shape, to.result.fold)


def epilogue(activation: str | None, args: tuple[float, ...]) -> dict[str, Any]:
    """Return the attributes of a product that name an activation."""
    return {} if activation is None else {"activation": activation, "activation_args": args or None}


def activated(y: SSAValue, activation: str | None, args: tuple[float, ...], to: Expansion) -> SSAValue:
    """Return the activation of y by itself, in the format of the result."""
    if activation is None:
        return y
    return to.map(activation, y, format=to.result.format, **activation_attrs(activation, args))
