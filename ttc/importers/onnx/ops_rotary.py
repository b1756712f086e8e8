"""The row for ONNX RotaryEmbedding and what its forms share."""

from __future__ import annotations

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.onnx.tables import MAPPINGS


@MAPPINGS.rule("RotaryEmbedding-23")
def rotary_embedding_23(
    b: Builder,
    x: SSAValue,
    cos: SSAValue,
    sin: SSAValue,
    positions: SSAValue | None = None,
    *,
    interleaved: int = 0,
    num_heads: int = 0,
    rotary_embedding_dim: int = 0,
) -> SSAValue:
    """Rotate x[n, heads, s, d], or x[n, s, heads * d]; cos and sin have one number a pair: [n, s, r / 2], or [p, r / 2] read at the
    positions.
    """
    shape = b.shape(x)
    if len(shape) == 3 and (num_heads < 1 or shape[2] % num_heads):
        raise Error("E0402", f"{b.spec(x)} does not fall into {num_heads} heads")
    if len(shape) not in (3, 4):
        raise Error("E0401", f"takes rank 3 or 4, not {b.spec(x)}")
    flat = len(shape) == 3
    heads = b.reshape(x, *shape[:2], num_heads, shape[2] // num_heads) if flat else x
    width = rotary_embedding_dim or b.shape(heads)[-1]
    if width % 2 or not 0 < width <= b.shape(heads)[-1]:
        raise Error("E0402", f"{width} of the features of {b.spec(heads)} are not pairs")
    head_axis = 2 if flat else 1
    cos, sin = (_angles(b, v, positions, head_axis, bool(interleaved)) for v in (cos, sin))
    turned, rest = _split(b, heads, width)
    y = b.nn("rotary_embedding", turned, cos, sin, interleaved=bool(interleaved))
    y = y if rest is None else b.nn("concat", y, rest, axis=3)
    return b.reshape(y, *shape)


def _angles(b: Builder, cache: SSAValue, positions: SSAValue | None, head_axis: int, interleaved: bool) -> SSAValue:
    """Return one number a feature, with a dimension of 1 for the heads."""
    rows = cache if positions is None else b.nn("gather", cache, positions, axis=0)
    if b.rank(rows) != 3:
        raise Error("E0401", f"cos and sin are of rank 3, or of rank 2 with positions, not {b.spec(cache)}")
    n, s, pairs = b.shape(rows)
    if interleaved:
        wide = b.reshape(b.nn("expand", b.reshape(rows, n, s, pairs, 1), shape=(n, s, pairs, 2)), n, s, 2 * pairs)
    else:
        wide = b.nn("concat", rows, rows, axis=2)
    return b.reshape(wide, n, s, 1, 2 * pairs) if head_axis == 2 else b.reshape(wide, n, 1, s, 2 * pairs)


def _split(b: Builder, x: SSAValue, width: int) -> tuple[SSAValue, SSAValue | None]:
    """Return the features that are turned, and those that are not."""
    features = b.shape(x)[-1]
    if width == features:
        return x, None
    first, rest = b.nn_all("split", x, axis=3, sizes=(width, features - width))
    return first, rest
