"""Scaled dot-product attention as an op of nn."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import BOOL, FLOAT
from ttc.dialects.core.ir.spec import DYNAMIC, Spec
from ttc.dialects.core.shapes import broadcast_shapes
from ttc.dialects.nn.alignment import require_broadcastable
from ttc.dialects.nn.base import TENSOR, NNOp, require_float, same_dtype


@irdl_op_definition
class AttentionOp(NNOp):
    """Scaled dot-product attention over the last two dimensions: y = softmax(q k^T * scale + mask) v.

    Args:    q: tensor[..., s, d].  k: tensor[..., t, d].  v: tensor[..., t, e]; leading dimensions broadcast; floating point.
             mask: additive, broadcasts to [..., s, t].  scale: factor of the scores.
             zero_masked: rows whose scores are all -inf give 0 instead of NaN.
    Returns: y: tensor[..., s, e] of q's dtype.
    Raises:  E0401 if the shapes do not fit, E0403 for integers or differing dtypes.
    Source:  torch.nn.functional.scaled_dot_product_attention (which zeroes masked rows); ONNX Attention-23.
    """

    name = "nn.attention"
    q = operand_def(TENSOR)
    k = operand_def(TENSOR)
    v = operand_def(TENSOR)
    mask = opt_operand_def(TENSOR)
    scale = prop_def(FLOAT)
    zero_masked = prop_def(BOOL)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, q: Spec, k: Spec, v: Spec, mask: Spec | None = None, *, scale: float, zero_masked: bool) -> Spec:
        dtype = same_dtype(q, k, v, mask)
        require_float(q)
        if min(q.rank, k.rank, v.rank) < 2:
            raise Error("E0401", f"attention takes operands of rank 2 or more, not {q}, {k} and {v}")
        _require_equal(q.shape[-1], k.shape[-1], "features of q and k")
        _require_equal(k.shape[-2], v.shape[-2], "positions of k and v")
        lead = broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
        require_broadcastable(mask, (*lead, q.shape[-2], k.shape[-2]), "mask")
        return Spec((*lead, q.shape[-2], v.shape[-1]), dtype)


def _require_equal(left: int, right: int, role: str) -> None:
    """Raises E0401 unless the sizes are equal or one is dynamic."""
    if left != right and DYNAMIC not in (left, right):
        raise Error("E0401", f"{role} differ: {left} and {right}")
