"""IEEE half precision by integers and float32, for CPUs that cannot convert it: LLVM would call a library that is not there."""

from __future__ import annotations

from ttc.runtime.engines.native.ir.instructions import Instructions
from ttc.runtime.engines.native.ir.values import Value

_MAGNITUDE = 0x7FFF
_INFINITY, _NAN = 0x7C00, 0x7E00
_SMALLEST, _TOO_LARGE = 0x38800000, 0x47800000
"""Patterns in float32 of 2^-14, the smallest normal half, and of 2^16."""
_HALF_ULP = 0x3F000000
"""The float32 bits of 1/2, whose last bit has the weight of the last bit of small halves: adding it rounds to them."""


def converts_half(f: Instructions) -> bool:
    """Return whether the CPU has instructions that convert half precision."""
    return f.cpu.arch != "x86-64" or f.cpu.has("f16c")


def widened_half(f: Instructions, patterns: Value) -> Value:
    """Return half-precision numbers, given as u16 patterns, in float32."""
    bits = f.converted(patterns, "u32")
    magnitude = (bits & _MAGNITUDE) << 13
    number = f.bits(f.bits(magnitude, "f32") * 2.0**112, "u32")
    found = f.select(magnitude >= _INFINITY << 13, magnitude | 0x7F800000, number)
    return f.bits(found | ((bits & 0x8000) << 16), "f32")


def narrowed_half(f: Instructions, a: Value) -> Value:
    """Return float32 as half-precision patterns (u16), rounded to nearest, ties to even."""
    bits = f.bits(a, "u32")
    magnitude = bits & 0x7FFFFFFF
    normal = (magnitude + ((magnitude >> 13) & 1) + (0xFFF - (112 << 23) + (1 << 32))) >> 13
    small = f.bits(f.bits(magnitude, "f32") + 0.5, "u32") - _HALF_ULP
    large = f.select(magnitude > 0x7F800000, f.constant(_NAN, "u32"), f.constant(_INFINITY, "u32"))
    number = f.select(magnitude < _SMALLEST, small, f.select(magnitude >= _TOO_LARGE, large, normal))
    return f.converted(number | ((bits >> 16) & 0x8000), "u16")
