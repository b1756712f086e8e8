"""Facts of matrix multiplication and of determinants."""

from __future__ import annotations

from ttc.dialects.core.errors import Error
from ttc.dialects.core.shapes import Shape, broadcast_shapes, require_broadcastable
from ttc.dialects.nn.shapes import linear
from ttc.dialects.tile.facts.base import BOOL, FLOATS, STR, Floats, Role, fact, optional, rows_fact

_ATTRS = {
    "transpose_a": BOOL,
    "transpose_b": BOOL,
    "accumulate": optional(BOOL),
    "activation": optional(STR),
    "activation_args": optional(FLOATS),
}


@fact(Role.CONTRACTION, _ATTRS)
def matmul(
    a: Shape,
    b: Shape,
    bias: Shape | None = None,
    *,
    transpose_a: bool,
    transpose_b: bool,
    accumulate: bool | None = False,
    activation: str | None = None,
    activation_args: Floats | None = (),
) -> Shape:
    """Return [..., m, n] for a[..., m, k] and b[..., k, n].  Raises E0401."""
    if len(a) < 2 or len(b) < 2:
        raise Error("E0401", f"a matmul needs operands of rank 2 or more, not {list(a)} and {list(b)}")
    m, k = reversed(a[-2:]) if transpose_a else a[-2:]
    k_of_b, n = reversed(b[-2:]) if transpose_b else b[-2:]
    if k != k_of_b:
        raise Error("E0401", f"a matmul sums over {k} elements of a but {k_of_b} of b")
    if accumulate and (min(len(a), len(b)) < 3 or a[-3] != b[-3] or a[-3] < 1):
        raise Error("E0401", f"products of {list(a)} and {list(b)} cannot be summed")
    outer = 3 if accumulate else 2
    shape = (*broadcast_shapes(a[:-outer], b[:-outer]), m, n)
    require_broadcastable(bias, shape)
    return shape


rows_fact(Role.TRANSFORM)(linear.det)
