"""Probabilities of classes from those of pairs of them."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from ttc.dialects.core.ir.attributes import INT
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.nn.base import TENSOR, NNOp, require_float
from ttc.dialects.nn.shapes import coupling as shapes


@irdl_op_definition
class CoupleProbabilitiesOp(NNOp):
    """Probabilities p of classes that fit those of pairs best: the least sum over pairs i, j of (r_ji p_i - r_ij p_j)^2.

    They are found step by step, from equal ones on, until no error exceeds 0.005 / classes, or after 100 rounds.

    Args:    r: tensor[n, pairs], floating point: that it is class i if it is i or j, for the pairs (0, 1), (0, 2), ..., (1, 2), ...
             classes: their number, so that pairs is classes (classes - 1) / 2.
    Returns: p: tensor[n, classes], r's dtype.
    Raises:  E0401 if pairs are not those of the classes, E0402 for fewer than 2 classes or too many, E0403 for integers.
    Source:  Wu, Lin and Weng, Probability estimates for multi-class classification by pairwise coupling, 2004, section 4.2;
             ONNX ai.onnx.ml SVMClassifier-1.
    """

    name = "nn.couple_probabilities"
    r = operand_def(TENSOR)
    classes = prop_def(INT)
    p = result_def(TENSOR)

    @classmethod
    def infer(cls, r: Spec, *, classes: int) -> Spec:
        return Spec(shapes.couple_probabilities(require_float(r).shape, classes=classes), r.dtype)
