"""Fourier transforms, and the ops that take complex numbers."""

from __future__ import annotations

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.complexes import Complex, apart, imaginary, magnitude, real
from ttc.importers.common.fourier import real_fourier
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.tflite import ops_parts, ops_shape
from ttc.importers.tflite.building import TfliteBuilder
from ttc.importers.tflite.tables import Rows

_MOVING = ("RESHAPE", "SQUEEZE", "EXPAND_DIMS", "TRANSPOSE", "CONCATENATION", "PACK", "UNPACK", "SPLIT", "SLICE", "STRIDED_SLICE", "GATHER")


def cast(b: TfliteBuilder, x: Complex, *, out_data_type: str) -> SSAValue:
    """Return the real parts as real numbers. Raises Unsupported between types of complex numbers."""
    if b.declared[0].kind == "c":
        raise Unsupported("between types of complex numbers")
    return b.cast(x.real, b.declared[0])


ROWS: Rows = {"RFFT2D": real_fourier(2)}
COMPLEX_ROWS: Rows = {
    "REAL": real,
    "IMAG": imaginary,
    "COMPLEX_ABS": magnitude,
    "CAST": cast,
    **{name: apart({**ops_parts.ROWS, **ops_shape.ROWS}[name]) for name in _MOVING},
}
