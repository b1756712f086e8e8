"""Shapes of the results of attention."""

from __future__ import annotations

from ttc.dialects.core.errors import Error
from ttc.dialects.core.shapes import Shape, broadcast_shapes, require_broadcastable


def attention(q: Shape, k: Shape, v: Shape, mask: Shape | None = None, *, scale: float, zero_masked: bool) -> Shape:
    """Return [..., s, e] for q[..., s, d], k[..., t, d] and v[..., t, e].  Raises E0401."""
    if min(map(len, (q, k, v))) < 2 or q[-1] != k[-1] or k[-2] != v[-2]:
        raise Error("E0401", f"attention over {list(q)}, {list(k)} and {list(v)}: inner sizes differ")
    lead = broadcast_shapes(q[:-2], k[:-2], v[:-2])
    require_broadcastable(mask, (*lead, q[-2], k[-2]))
    return (*lead, q[-2], v[-1])


def attention_training(q: Shape, k: Shape, v: Shape, mask: Shape | None = None, *, scale: float, zero_masked: bool) -> list[Shape]:
    """Return [..., s, e], and [..., s].  Raises E0401."""
    y = attention(q, k, v, mask, scale=scale, zero_masked=zero_masked)
    return [y, y[:-1]]


def attention_gradient(
    q: Shape, k: Shape, v: Shape, y: Shape, log_sums: Shape, dy: Shape, mask: Shape | None = None, *, scale: float
) -> list[Shape]:
    """Return [..., s, d], [..., t, d] and [..., t, e], of all leading dimensions.  Raises E0401."""
    wanted = attention(q, k, v, mask, scale=scale, zero_masked=False)
    if y != wanted or dy != wanted or log_sums != wanted[:-1]:
        raise Error("E0401", f"{list(y)}, {list(log_sums)} and {list(dy)} are not of the result {list(wanted)} of attention")
    return [(*wanted[:-2], *x[-2:]) for x in (q, k, v)]
