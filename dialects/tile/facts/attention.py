"""Facts of the op that computes attention."""

from __future__ import annotations

from ttc.dialects.core.errors import Error
from ttc.dialects.core.shapes import Shape, broadcast_shapes, require_broadcastable
from ttc.dialects.tile.facts.base import BOOL, FLOAT, Role, fact


@fact(Role.CONTRACTION, {"scale": FLOAT, "zero_masked": BOOL}, as_nn=True)
def attention(q: Shape, k: Shape, v: Shape, mask: Shape | None = None, *, scale: float, zero_masked: bool) -> Shape:
    """Return [..., s, e] for q[..., s, d], k[..., t, d] and v[..., t, e].  Raises E0401."""
    if min(map(len, (q, k, v))) < 2 or q[-1] != k[-1] or k[-2] != v[-2]:
        raise Error("E0401", f"attention over {list(q)}, {list(k)} and {list(v)}: inner sizes differ")
    lead = broadcast_shapes(q[:-2], k[:-2], v[:-2])
    require_broadcastable(mask, (*lead, q[-2], k[-2]))
    return (*lead, q[-2], v[-1])
