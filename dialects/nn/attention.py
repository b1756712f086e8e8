"""Scaled dot-product attention as an op of nn, as training computes it, and its gradient."""

from __future__ import annotations

import numpy as np
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


@irdl_op_definition
class AttentionTrainingOp(NNOp):
    """Attention that also gives what its gradient needs: y = softmax(scores) v and log_sums = ln sum exp(scores), row by row.

    The scores are q k^T * scale + mask.

    Args:    q: tensor[..., s, d].  k: tensor[..., t, d].  v: tensor[..., t, e]; leading dimensions broadcast; floating point.
             mask: additive, broadcasts to [..., s, t].  scale: factor of the scores.
             zero_masked: rows whose scores are all -inf give 0 in y and in log_sums instead of NaN.
    Returns: y: tensor[..., s, e] of q's dtype.  log_sums: tensor[..., s], float32, or float64 for q in float64.
    Raises:  E0401 if the shapes do not fit, E0403 for integers or differing dtypes.
    Source:  aten._scaled_dot_product_flash_attention_for_cpu.
    """

    name = "nn.attention_training"
    q = operand_def(TENSOR)
    k = operand_def(TENSOR)
    v = operand_def(TENSOR)
    mask = opt_operand_def(TENSOR)
    scale = prop_def(FLOAT)
    zero_masked = prop_def(BOOL)
    y = result_def(TENSOR)
    log_sums = result_def(TENSOR)

    @classmethod
    def infer(cls, q: Spec, k: Spec, v: Spec, mask: Spec | None = None, *, scale: float, zero_masked: bool) -> tuple[Spec, Spec]:
        y = AttentionOp.infer(q, k, v, mask, scale=scale, zero_masked=zero_masked)
        return y, Spec(y.shape[:-1], sums_dtype(q.dtype))


@irdl_op_definition
class AttentionGradientOp(NNOp):
    """Gradient of attention from its result and the logarithms of its sums: probabilities are computed again, part by part.

    With p = exp(q k^T * scale + mask - log_sums) and r = p (dy v^T - sum(dy y)), dq = r k * scale, dk = r^T q * scale, dv = p^T dy.

    Args:    q: tensor[..., s, d].  k: tensor[..., t, d].  v: tensor[..., t, e]; leading dimensions broadcast; floating point.
             y: the result, of all leading dimensions.  log_sums: as `nn.attention_training` gives them.  dy: the cotangent of y.
             mask: additive, broadcasts to [..., s, t].  scale: factor of the scores.
    Returns: dq: tensor[..., s, d].  dk: tensor[..., t, d].  dv: tensor[..., t, e]: of all leading dimensions, in q's dtype; the sums over
             those that an operand was broadcast along are left to the reader.
    Raises:  E0401 if the shapes do not fit, E0403 for integers or differing dtypes.
    Source:  aten._scaled_dot_product_flash_attention_for_cpu_backward.
    """

    name = "nn.attention_gradient"
    q = operand_def(TENSOR)
    k = operand_def(TENSOR)
    v = operand_def(TENSOR)
    y = operand_def(TENSOR)
    log_sums = operand_def(TENSOR)
    dy = operand_def(TENSOR)
    mask = opt_operand_def(TENSOR)
    scale = prop_def(FLOAT)
    dq = result_def(TENSOR)
    dk = result_def(TENSOR)
    dv = result_def(TENSOR)

    @classmethod
    def infer(
        cls, q: Spec, k: Spec, v: Spec, y: Spec, log_sums: Spec, dy: Spec, mask: Spec | None = None, *, scale: float
    ) -> tuple[Spec, Spec, Spec]:
        result = AttentionOp.infer(q, k, v, mask, scale=scale, zero_masked=False)
        sums = Spec(result.shape[:-1], sums_dtype(q.dtype))
        for role, found, wanted in (("result", y, result), ("cotangent", dy, result), ("sums", log_sums, sums)):
            if found.dtype != wanted.dtype:
                raise Error("E0403", f"{role} {found} of attention is not {wanted}")
            if found.shape != wanted.shape and found.is_static and wanted.is_static:
                raise Error("E0401", f"{role} {found} of attention is not {wanted}")
        lead = result.shape[:-2]
        return Spec((*lead, *q.shape[-2:]), q.dtype), Spec((*lead, *k.shape[-2:]), q.dtype), Spec((*lead, *v.shape[-2:]), q.dtype)


def sums_dtype(dtype: np.dtype) -> np.dtype:
    """Return the dtype in which logarithms of sums of scores of a dtype are held: float32 at least."""
    return np.dtype(np.float64 if dtype == np.float64 else np.float32)


def _require_equal(left: int, right: int, role: str) -> None:
    """Raises E0401 unless the sizes are equal or one is dynamic."""
    if left != right and DYNAMIC not in (left, right):
        raise Error("E0401", f"{role} differ: {left} and {right}")
