"""Ensembles of decision trees as an op of nn."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import INT, STR
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.nn.base import TENSOR, NNOp, require_float, same_dtype
from ttc.dialects.nn.shapes import tree as shapes


@irdl_op_definition
class TreeEnsembleOp(NNOp):
    """Decision trees: each leads a row to one of its leaves, and y[n, t] is the sum of their weights for target t.

    A node takes its first branch where x[n, feature] <= split, else its second; NaN takes the first where the node says so.  A branch is
    the number of a node further on, or ~l, which is leaf l.  Several branches may lead to one node.

    Args:    x: tensor[n, f], floating point.  nodes: tensor[m, 4], int32: feature, 1 where NaN takes the first branch (else 0), first
             branch, second branch.  splits: tensor[m], x's dtype.  roots: tensor[trees], int32, each a branch.
             weights: tensor[leaves, k], x's dtype.  targets: tensor[leaves, k], int32: what each weight is for, in [0, count), or -1
             where it is for none; absent: k is count, and column t is for target t.
             aggregate: sum, min or max of the weights, over trees in their order; a target that no leaf has a weight for is 0.
             count: of targets.
    Returns: y: tensor[n, count], x's dtype.
    Raises:  E0401 if shapes do not suit, E0402 for an unknown aggregate or a count out of range, E0403 for other dtypes.
             E0802 at run time for features, branches or targets that are not there, or branches that do not lead on.
    Source:  ONNX ai.onnx.ml TreeEnsemble-5; the importer writes all conditions in this form.
    """

    name = "nn.tree_ensemble"
    x = operand_def(TENSOR)
    nodes = operand_def(TENSOR)
    splits = operand_def(TENSOR)
    roots = operand_def(TENSOR)
    weights = operand_def(TENSOR)
    targets = opt_operand_def(TENSOR)
    aggregate = prop_def(STR)
    count = prop_def(INT)
    y = result_def(TENSOR)

    @classmethod
    def infer(
        cls, x: Spec, nodes: Spec, splits: Spec, roots: Spec, weights: Spec, targets: Spec | None = None, *, aggregate: str, count: int
    ) -> Spec:
        dtype = same_dtype(require_float(x), splits, weights)
        for index in (nodes, roots, targets):
            if index is not None and index.dtype != "int32":
                raise Error("E0403", f"nodes, roots and targets are int32, not {index.dtype}")
        operands = [None if operand is None else operand.shape for operand in (x, nodes, splits, roots, weights, targets)]
        return Spec(shapes.tree_ensemble(*operands, aggregate=aggregate, count=count), dtype)  # pyright: ignore[reportArgumentType]
