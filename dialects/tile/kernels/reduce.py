"""Numpy semantics of tile reductions."""

from __future__ import annotations

from ttc.dialects.core.plain.interpret import kernel
from ttc.dialects.tile.kernels import KERNELS

KERNELS.add("reduce", lambda x, *, fn, axes, keepdims: kernel(f"nn.reduce_{fn}")(x, axes=axes, keepdims=keepdims))
