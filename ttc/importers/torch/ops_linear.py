"""Products of matrices."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.tables import Rows


def linear(b: TorchBuilder, x: SSAValue, weight: SSAValue, bias: SSAValue | None) -> SSAValue:
    """x[..., i] with weight[o, i] and bias[o]."""
    return b.nn("matmul", x, weight, bias, transpose_a=False, transpose_b=True)


ROWS: Rows = {"aten.linear.default": linear}
