"""Marks that models carry for ttc: probes, and what is part of the loss."""

from __future__ import annotations

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.tables import Rows


def probe(b: TorchBuilder, x: SSAValue, name: str) -> SSAValue:
    """A probe; further ones of a name have numbers."""
    return b.nn("probe", x, label=b.label(name))


def mark_loss(b: TorchBuilder, x: SSAValue, reduction: str) -> SSAValue:
    """The reduced value, which is noted."""
    if reduction not in ("none", "mean", "sum"):
        raise Unsupported(f"reduction '{reduction[:40]}' of a loss")
    axes = tuple(range(len(b.spec(x).shape)))
    found = x if reduction == "none" or not axes else b.nn(f"reduce_{reduction}", x, axes=axes, keepdims=False)
    b.marked.append(found)
    return found


ROWS: Rows = {"ttc.probe.default": probe, "ttc.mark_loss.default": mark_loss}
