"""Reductions over dimensions."""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from ttc.dialects.nn.base import axes_in
from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.tables import Rows


def mean(b: TorchBuilder, x: SSAValue, dim: tuple[int, ...] | None, keepdim: bool = False, dtype: Any = None) -> SSAValue:
    """The mean over the dimensions, over all if there are none."""
    rank = len(b.shape(x))
    axes = axes_in(dim, rank) if dim else tuple(range(rank))
    return b.nn("reduce_mean", b.cast(x, b.result), axes=axes, keepdims=keepdim)


ROWS: Rows = {"aten.mean.dim": mean}
