"""Normalizations with a scale, and a bias."""

from __future__ import annotations

from xdsl.irdl import AttrSizedOperandSegments, irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import BOOL, FLOAT, INT
from ttc.dialects.core.ir.spec import DYNAMIC, Spec
from ttc.dialects.core.shapes import axis_in
from ttc.dialects.nn.alignment import require_broadcastable
from ttc.dialects.nn.base import TENSOR, NNOp, require_float, same_dtype


@irdl_op_definition
class BatchNormOp(NNOp):
    """Normalization by given statistics, channel by channel: y = (x - mean) / sqrt(var + eps) * scale + bias.

    Args:    x: tensor[..., c, ...], floating point; c is dimension `axis`.  scale, bias, mean, var: tensor[c].
             eps: added to the variance.
    Returns: y: shape and dtype of x.
    Raises:  E0401 if a vector is not of c elements, E0403 for integers or differing dtypes, E0412 if axis is outside the rank.
    Source:  ONNX BatchNormalization-15 (inference); torch.nn.functional.batch_norm (training=False).
    """

    name = "nn.batch_norm"
    x = operand_def(TENSOR)
    scale = operand_def(TENSOR)
    bias = operand_def(TENSOR)
    mean = operand_def(TENSOR)
    var = operand_def(TENSOR)
    eps = prop_def(FLOAT)
    axis = prop_def(INT)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec, scale: Spec, bias: Spec, mean: Spec, var: Spec, *, eps: float, axis: int) -> Spec:
        channels = x.shape[axis_in(axis, x.rank)]
        vectors = {"scale": scale, "bias": bias, "mean": mean, "var": var}
        for role, vector in vectors.items():
            if vector.rank != 1 or (vector.shape[0] != channels and DYNAMIC not in (vector.shape[0], channels)):
                raise Error("E0401", f"{role} {vector} is not one number for each of {channels} channels")
        same_dtype(x, *vectors.values())
        return require_float(x)


@irdl_op_definition
class BatchNormTrainingOp(NNOp):
    """Normalization by the batch's own statistics, channel by channel, which move the running ones.

    y = (x - now) inverse scale + bias, for now and spread, mean and variance of the channel over the batch (divided by the count), and
    inverse = 1 / sqrt(spread + eps).  new_mean = (1 - momentum) mean + momentum now, and new_var likewise, from the variance of a sample
    (divided by the count less 1) where it is unbiased.

    Args:    x: tensor[..., c, ...], floating point; c is dimension `axis`.  scale, bias, mean, var: tensor[c].
             eps: added to the variance.  momentum: share of the batch in new running statistics.  unbiased: whether the running variance
             is that of samples.
    Returns: y: shape and dtype of x.  now, inverse, new_mean, new_var: tensor[c].
    Raises:  E0401 if a vector is not of c elements, E0403 for integers or differing dtypes, E0412 if axis is outside the rank.
    Source:  torch.nn.functional.batch_norm (training=True); ONNX BatchNormalization-15 (training_mode=1).
    """

    name = "nn.batch_norm_training"
    x = operand_def(TENSOR)
    scale = operand_def(TENSOR)
    bias = operand_def(TENSOR)
    mean = operand_def(TENSOR)
    var = operand_def(TENSOR)
    eps = prop_def(FLOAT)
    axis = prop_def(INT)
    momentum = prop_def(FLOAT)
    unbiased = prop_def(BOOL)
    y = result_def(TENSOR)
    now = result_def(TENSOR)
    inverse = result_def(TENSOR)
    new_mean = result_def(TENSOR)
    new_var = result_def(TENSOR)

    @classmethod
    def infer(
        cls, x: Spec, scale: Spec, bias: Spec, mean: Spec, var: Spec, *, eps: float, axis: int, momentum: float, unbiased: bool
    ) -> tuple[Spec, ...]:
        return BatchNormOp.infer(x, scale, bias, mean, var, eps=eps, axis=axis), *(mean,) * 4


@irdl_op_definition
class LayerNormOp(NNOp):
    """Normalization over dimensions axis..rank-1: y = (x - mean) / sqrt(variance + eps) * scale + bias.

    Args:    x: tensor[...], floating point.  scale, bias: broadcast to x.  axis: in [-rank, rank).
             eps: added to the variance, which is that of the whole (divided by the count).
    Returns: y: shape and dtype of x.
    Raises:  E0401 if scale or bias do not broadcast, E0403 for integers or differing dtypes, E0412 if axis is outside the rank.
    Source:  ONNX LayerNormalization-17; torch.nn.functional.layer_norm.
    """

    name = "nn.layer_norm"
    x = operand_def(TENSOR)
    scale = opt_operand_def(TENSOR)
    bias = opt_operand_def(TENSOR)
    axis = prop_def(INT)
    eps = prop_def(FLOAT)
    y = result_def(TENSOR)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def infer(cls, x: Spec, scale: Spec | None = None, bias: Spec | None = None, *, axis: int, eps: float) -> Spec:
        axis_in(axis, x.rank)
        same_dtype(x, scale, bias)
        require_broadcastable(scale, x.shape, "scale")
        require_broadcastable(bias, x.shape, "bias")
        return require_float(x)


@irdl_op_definition
class RmsNormOp(NNOp):
    """Root-mean-square normalization over dimensions axis..rank-1: y = x / sqrt(mean x^2 + eps) * scale.

    Args:    x: tensor[...], floating point.  scale: broadcasts to x.  axis: in [-rank, rank).  eps: added to the mean square.
    Returns: y: shape and dtype of x.
    Raises:  E0401 if scale does not broadcast, E0403 for integers or differing dtypes, E0412 if axis is outside the rank.
    Source:  ONNX RMSNormalization-23; torch.nn.functional.rms_norm.
    """

    name = "nn.rms_norm"
    x = operand_def(TENSOR)
    scale = operand_def(TENSOR)
    axis = prop_def(INT)
    eps = prop_def(FLOAT)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec, scale: Spec, *, axis: int, eps: float) -> Spec:
        axis_in(axis, x.rank)
        same_dtype(x, scale)
        require_broadcastable(scale, x.shape, "scale")
        return require_float(x)
