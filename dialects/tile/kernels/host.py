"""Numpy semantics of the borders between device and host; the caller rounds to the result's format."""

from __future__ import annotations

from ttc.dialects.tile.kernels import KERNELS

KERNELS.add("to_host", lambda x: x)
KERNELS.add("from_host", lambda x: x)
