"""Marks that models carry for ttc: probes, and what is part of the loss."""

from __future__ import annotations

from collections.abc import Sequence

from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.nn.kernels.host_call import type_text
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.tables import Rows


def probe(b: TorchBuilder, x: SSAValue, name: str) -> SSAValue:
    """Return a probe; further ones of a name have numbers."""
    return b.nn("probe", x, label=b.label(name))


def mark_loss(b: TorchBuilder, x: SSAValue, reduction: str) -> SSAValue:
    """Return the reduced value, which is noted."""
    if reduction not in ("none", "mean", "sum"):
        raise Unsupported(f"reduction '{reduction[:40]}' of a loss")
    axes = tuple(range(len(b.spec(x).shape)))
    found = x if reduction == "none" or not axes else b.nn(f"reduce_{reduction}", x, axes=axes, keepdims=False)
    b.marked.append(found)
    return found


def host_call(b: TorchBuilder, xs: Sequence[SSAValue], function: str, count: int) -> tuple[SSAValue, ...]:
    """Return a call of a function of Python, whose results are as PyTorch's tracing has found them."""
    shapes = [tuple(y.shape) for y in b.expected]
    if any(type(size) is not int for shape in shapes for size in shape):
        raise Unsupported("results of a function of Python whose shapes change")
    types = tuple(type_text(dtype, shape) for shape, dtype in zip(shapes, b.dtypes, strict=True) if dtype is not None)
    return b.nn_all("host_call", *xs, function=function, count=count, types=types)


ROWS: Rows = {"ttc.probe.default": probe, "ttc.mark_loss.default": mark_loss, "ttc.host_call.default": host_call}
