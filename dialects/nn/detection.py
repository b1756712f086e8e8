"""Ops on boxes that a detector finds."""

from __future__ import annotations

import numpy as np
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import BOOL
from ttc.dialects.core.ir.spec import DYNAMIC, Spec
from ttc.dialects.nn.base import TENSOR, NNOp, require_float, require_rank, same_dtype
from ttc.dialects.nn.elementwise import require_kind


@irdl_op_definition
class NonMaxSuppressionOp(NNOp):
    """Boxes that no better one overlaps too much: by falling score, each box stays unless it overlaps one that stays.

    Args:    boxes: tensor[n, m, 4], floating point: two opposite corners, or with `centered` the centre and the extents.
             scores: tensor[n, c, m], boxes' dtype, of each class.  most: tensor[], int64: boxes a class and image.
             overlap: tensor[], floating point: intersection over union beyond which a box goes.
             least_score: tensor[], floating point: boxes need a higher one; absent: all do.
    Returns: y: tensor[?, 3], int64: image, class, box; by image and class, the best first.
    Raises:  E0401 if shapes do not suit, E0403 for integers or differing dtypes.
    Source:  ONNX NonMaxSuppression-11; torchvision.ops.batched_nms.
    """

    name = "nn.non_max_suppression"
    boxes = operand_def(TENSOR)
    scores = operand_def(TENSOR)
    most = operand_def(TENSOR)
    overlap = operand_def(TENSOR)
    least_score = opt_operand_def(TENSOR)
    centered = prop_def(BOOL)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, boxes: Spec, scores: Spec, most: Spec, overlap: Spec, least_score: Spec | None = None, *, centered: bool) -> Spec:
        same_dtype(require_float(require_rank(boxes, 3)), require_rank(scores, 3))
        if boxes.shape[2] != 4 or (scores.shape[0], scores.shape[2]) != boxes.shape[:2]:
            raise Error("E0401", f"scores {scores} are not those of boxes {boxes}")
        require_rank(require_kind(most, "iu"), 0)
        for limit in (overlap, least_score):
            if limit is not None:
                require_rank(require_float(limit), 0)
        return Spec((DYNAMIC, 3), np.dtype(np.int64))
