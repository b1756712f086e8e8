"""Words of numeric settings, which options, rules, targets and netlists share; nothing else is loaded with them."""

from __future__ import annotations

FIDELITIES = ("LoFi", "HiFi2", "HiFi3", "HiFi4")
"""Of the device's multiplier, the coarsest first: it takes 1, 2, 3 or 4 passes."""

PRECISIONS = ("float32", "high", "bfloat16")
"""Of the multiplier on the CPU."""

ACCUMULATORS = ("Float32", "Float16", "Float16_b")
"""Formats in which a device accumulates floating-point numbers."""

KERNELS = ("fused", "buda")
"""Kernel sets of a device: whole composites, or the vocabulary of Buda netlists."""
