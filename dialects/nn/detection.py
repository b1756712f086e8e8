"""Ops on boxes that a detector finds."""

from __future__ import annotations

from math import isnan

import numpy as np
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from ttc.dialects.core.attributes import BOOL, FLOAT, INT
from ttc.dialects.core.errors import Error
from ttc.dialects.core.spec import DYNAMIC, Spec
from ttc.dialects.nn.base import TENSOR, NNOp, require_float, require_rank, same_dtype


@irdl_op_definition
class NonMaxSuppressionOp(NNOp):
    """Boxes that no better one overlaps too much: by falling score, each box stays unless it overlaps one that stays.

    Args:    boxes: tensor[n, m, 4], floating point: two opposite corners, or with `centered` the centre and the extents.
             scores: tensor[n, c, m], boxes' dtype, of each class.  most: boxes a class and image.
             overlap: intersection over union beyond which a box goes.  least_score: boxes need a higher one; absent: all do.
    Returns: y: tensor[?, 3], int64: image, class, box; by image and class, the best first.
    Raises:  E0401 if shapes do not suit, E0402 if an attribute is out of range, E0403 for integers or differing dtypes.
    Source:  ONNX NonMaxSuppression-11 (constant limits); torchvision.ops.batched_nms.
    """

    name = "nn.non_max_suppression"
    boxes = operand_def(TENSOR)
    scores = operand_def(TENSOR)
    centered = prop_def(BOOL)
    most = prop_def(INT)
    overlap = prop_def(FLOAT)
    least_score = opt_prop_def(FLOAT)
    y = result_def(TENSOR)
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, boxes: Spec, scores: Spec, *, centered: bool, most: int, overlap: float, least_score: float | None = None) -> Spec:
        same_dtype(require_float(require_rank(boxes, 3)), require_rank(scores, 3))
        if boxes.shape[2] != 4 or (scores.shape[0], scores.shape[2]) != boxes.shape[:2]:
            raise Error("E0401", f"scores {scores} are not those of boxes {boxes}")
        if most < 0 or isnan(overlap) or (least_score is not None and isnan(least_score)):
            raise Error("E0402", f"{most} boxes, an overlap of {overlap} or a score of {least_score} is out of range")
        return Spec((DYNAMIC, 3), np.dtype(np.int64))
