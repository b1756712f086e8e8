"""Rotary position embedding as an op of nn."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import BOOL
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.nn.alignment import require_broadcastable
from ttc.dialects.nn.base import TENSOR, NNOp, require_float, same_dtype


@irdl_op_definition
class RotaryEmbeddingOp(NNOp):
    """Rotation of pairs of features by angles of their position: y = x * cos + rotated(x) * sin.

    Feature i is paired with i + d / 2, and rotated(x) = (-x[d/2:], x[:d/2]); interleaved: 2i with 2i + 1, (-x[1], x[0], -x[3], x[2], ...).

    Args:    x: tensor[..., d], floating point, d even.  cos, sin: broadcast to x, one number for each feature, not each pair.
             interleaved: which features are a pair.
    Returns: y: shape and dtype of x.
    Raises:  E0401 if d is odd or cos or sin do not broadcast, E0403 for integers or differing dtypes.
    Source:  transformers' apply_rotary_pos_emb; ONNX RotaryEmbedding-23 (whose cos and sin have one number a pair).
    """

    name = "nn.rotary_embedding"
    x = operand_def(TENSOR)
    cos = operand_def(TENSOR)
    sin = operand_def(TENSOR)
    interleaved = prop_def(BOOL)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec, cos: Spec, sin: Spec, *, interleaved: bool) -> Spec:
        same_dtype(x, cos, sin)
        if x.rank == 0 or x.shape[-1] % 2 or x.shape[-1] < 0:
            raise Error("E0401", f"{x} has no even number of features")
        require_broadcastable(cos, x.shape, "cos")
        require_broadcastable(sin, x.shape, "sin")
        return require_float(x)
