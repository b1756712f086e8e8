"""The choice of products of scaled integers, at precisions below `float32`: where the CPU multiplies 16-bit integers faster, and has no
AMX.

Measured on two cores of AMD Zen 3 beside other work, fastest runs, float32 and scaled integers, GFLOP/s (rows x depth x columns):

    128x768x3072    128x3072x768    49x2048x512    196x256x1024    784x512x128    784x128x512    3136x256x64    3136x64x256    1x2048x8192
      168 - 224       157 - 205       158 - 236      172 - 196      165 - 190      150 - 177      159 - 149      147 - 156       16 - 33
"""

from __future__ import annotations

from math import prod

from ttc.runtime.engines.native.codegen.features import Cpu
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs.lowering import Lowering

_LEAST_DEPTH, _LEAST_COLUMNS = 128, 128
"""Channels of a tap, and columns for all taps together, so that scaling the rows and adding up the runs pays."""


def are_scaled(n: Lowering, b: View, columns: int, depth: int, taps: int = 1) -> bool:
    """Return whether a product is one of scaled integers.

    b: the right operand [..., taps and channels, columns].  columns: of the result.  depth: channels of a tap.
    """
    precision = n.node.op.precision
    exact = precision == "float32" or (precision == "bfloat16" and n.cpu.multiplies_pairs)
    if exact or n.cpu.has_tiles or not _gains(n.cpu) or not b.is_constant or prod(b.shape[:-2]) != 1:
        return False
    return depth >= _LEAST_DEPTH and columns * taps >= _LEAST_COLUMNS


def _gains(cpu: Cpu) -> bool:
    """Return whether sums of products of 16-bit integers take less time than those of float32."""
    return cpu.has("avx512vnni") if cpu.vector_bytes == 64 else cpu.vector_bytes == 32
