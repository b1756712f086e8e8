"""Shapes and order of dimensions."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.tables import Rows


def view(b: TorchBuilder, x: SSAValue, size: tuple[int, ...]) -> SSAValue:
    """The elements in another shape; one size may be -1."""
    if -1 in size:
        rest = prod(d for d in size if d != -1)
        size = tuple(b.spec(x).elements // max(rest, 1) if d == -1 else d for d in size)
    return b.reshape(x, *size)


def permute(b: TorchBuilder, x: SSAValue, dims: tuple[int, ...]) -> SSAValue:
    """Dimension i of the result is dimension dims[i]."""
    return b.nn("transpose", x, perm=tuple(d % len(dims) for d in dims)) if dims else x


ROWS: Rows = {"aten.view.default": view, "aten.reshape.default": view, "aten.permute.default": permute}
