"""How the hardware changes numbers between memory and result: unpacking into SrcA and SrcB, fidelity phases, rounding of results.

Source: tt-isa-documentation, Wormhole B0, Tensix coprocessor: SrcASrcB, MatrixUnit, MVMUL, Packers/FormatConversion.  All arrays are
float32 with as many mantissa bits set as the register at hand has.  Of HiFi4 on 11-bit mantissas the last bit of SrcA is lost: no phase
reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.formats.base import FACE
from ttc.dialects.core.formats.block import BlockFormat
from ttc.dialects.core.numerics import FIDELITIES

Product: TypeAlias = Callable[[NDArray, NDArray], NDArray]
"""A bilinear function of what is in SrcA and what is in SrcB."""

MANTISSA_BITS = 23
"""Explicit mantissa bits of float32."""
STORED_BITS = {"Tf32": 10, "Float16_b": 7, "Float16": 10, "Lf8": 2, "Fp8_e4m3": 3}
"""Explicit mantissa bits of the formats that are rounded element by element."""
SRC_A_HIGH, SRC_A_ALL = 4, 9
"""Explicit mantissa bits of SrcA that the even phases read, and that all phases read."""
SRC_B_HIGH = 6
"""Explicit mantissa bits of SrcB that phases 0 and 1 read; the others read the rest."""

_EXPONENT = np.uint32(0x7F800000)


def truncate(values: NDArray, bits: int) -> NDArray:
    """Return float32 values with all but the first explicit mantissa bits cleared; a NaN may become an infinity."""
    mask = np.uint32(0xFFFFFFFF << (MANTISSA_BITS - bits) & 0xFFFFFFFF)
    return (_bits(values) & mask).view(np.float32)


def unpack(values: NDArray, accumulate: str) -> NDArray:
    """Return what SrcA or SrcB holds of a tensor: Float32 loses mantissa bits, denormals are zero; all other formats fit.

    A destination register of Float32 takes operands as Tf32, one of 16 bits takes them in its own format.
    """
    if values.dtype != np.float32:
        return values
    if accumulate == "Float16":
        return format_named(accumulate).round(values, "truncate")
    kept = truncate(values, STORED_BITS["Tf32" if accumulate == "Float32" else accumulate])
    bits = kept.view(np.uint32)
    bits *= (bits & _EXPONENT) != 0
    return kept


def multiply(product: Product, a: NDArray, b: NDArray, fidelity: str) -> NDArray:
    """Return the phases of a fidelity, summed: product(a, b) with a from SrcA and b from SrcB.  Raises E0607 for an unknown fidelity.

    LoFi has 1 phase, HiFi2 2, HiFi3 3, HiFi4 4.  Phase 0 is a_high * b_high, phase 1 adds a_low * b_high, phase 2 a_high * b_low, phase 3
    a_low * b_low.  As the product is bilinear and highs and lows add up without rounding, phases that share an operand are one call.
    """
    if a.dtype != np.float32 or b.dtype != np.float32:
        return product(a, b)
    if fidelity not in FIDELITIES:
        raise Error("E0607", f"there is no fidelity '{fidelity}'", hint=nearest(fidelity, FIDELITIES))
    if fidelity == "LoFi":
        return product(truncate(a, SRC_A_HIGH), truncate(b, SRC_B_HIGH))
    a_all = truncate(a, SRC_A_ALL)
    if fidelity == "HiFi4":
        return product(a_all, b)
    b_high = truncate(b, SRC_B_HIGH)
    total = product(a_all, b_high)
    if fidelity == "HiFi3":
        with np.errstate(invalid="ignore"):
            total = total + product(_finite(truncate(a, SRC_A_HIGH)), _finite(b - b_high))
    return total


def narrow(values: NDArray, format: str, noise: np.random.Generator | None) -> NDArray:
    """Return values as a format holds them: to nearest, ties away from zero, or stochastically where there is a source of noise.

    Formats whose elements share an exponent know the nearest by themselves, as integers do.
    """
    held, kept = format_named(format), STORED_BITS.get(format)
    if kept is not None and values.dtype == np.float32:
        values = _to_mantissa(values, MANTISSA_BITS - kept, noise)
    elif isinstance(held, BlockFormat) and noise is not None and values.ndim and values.size:
        values = _to_blocks(values.astype(np.float32, copy=False), held.magnitude_bits, noise)
    return held.round(values)


def _to_mantissa(values: NDArray, dropped: int, noise: np.random.Generator | None) -> NDArray:
    """float32 values without their last `dropped` mantissa bits, rounded in magnitude; NaN stays."""
    bits = _bits(values)
    added = np.uint32(1 << (dropped - 1)) if noise is None else noise.integers(0, 1 << dropped, bits.shape, np.uint32)
    rounded = bits + added
    rounded &= np.uint32(0xFFFFFFFF << dropped & 0xFFFFFFFF)
    found = rounded.view(np.float32)
    nan = np.isnan(values)
    if nan.any():
        found[nan] = values[nan]
    return found


def _to_blocks(values: NDArray, magnitude_bits: int, noise: np.random.Generator) -> NDArray:
    """float32 values stochastically rounded to steps of the blocks of 16 that share an exponent along the last axis."""
    width = values.shape[-1]
    whole = np.zeros((values.size // width, -(-width // FACE) * FACE), np.float32)
    whole[:, :width] = values.reshape(-1, width)
    blocks = whole.reshape(-1, FACE)
    largest = np.abs(blocks).max(axis=1, keepdims=True)
    step = np.ldexp(np.float32(1), np.frexp(largest)[1] - magnitude_bits)
    most = (1 << magnitude_bits) - 1
    with np.errstate(all="ignore"):
        steps = np.clip(np.floor(blocks / step + noise.random(blocks.shape, np.float32)), -most, most)
        rounded = np.where(np.isfinite(largest), steps * step, blocks)
    return rounded.reshape(whole.shape)[:, :width].reshape(values.shape)


def _finite(values: NDArray) -> NDArray:
    """Return values with 0 in place of infinities, whose low parts are nothing."""
    finite = np.isfinite(values)
    return values if finite.all() else np.where(finite, values, np.float32(0))


def _bits(values: NDArray) -> NDArray:
    return np.ascontiguousarray(values).view(np.uint32).reshape(values.shape)
