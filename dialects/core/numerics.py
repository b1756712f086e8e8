"""Words of numeric settings, which options, rules, targets and netlists share; nothing else is loaded with them."""

from __future__ import annotations

FIDELITIES = ("LoFi", "HiFi2", "HiFi3", "HiFi4")
"""Levels of the device's multiplier, the coarsest first: they take 1, 2, 3 or 4 passes."""

PRECISIONS = ("float32", "high", "bfloat16")
"""Levels of precision of the multiplier on the CPU."""

ACCUMULATORS = ("Float32", "Float16", "Float16_b")
"""Formats in which a device accumulates floating-point numbers."""

DRAM_PLACEMENTS = ("traffic", "round_robin", "round_robin_flip_flop", "greatest_capacity", "closest")
"""How the DRAM channel of a queue's buffer is chosen.

By the bytes moved through each channel; in turn; in turn, in one half of the channels for even epochs and the other for odd ones; the one
with most room; the nearest on the NoC to who reads the queue.
"""

BATCH, PIPELINE, TENSOR = "batch", "pipeline", "tensor"
PARALLEL = (BATCH, PIPELINE, TENSOR)
"""What several chips divide: the batch, of which each chip computes a part; or the ops, of which each chip computes some for all of it."""

KERNELS = ("fused", "buda")
"""Kernel sets of a device: whole composites, or the vocabulary of Buda netlists."""
