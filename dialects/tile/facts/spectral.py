"""Facts of discrete Fourier transforms."""

from __future__ import annotations

from ttc.dialects.nn.shapes import spectral
from ttc.dialects.tile.facts.base import BOOL, INT, Role, rows_fact

rows_fact(Role.TRANSFORM, {"axis": INT, "size": INT, "inverse": BOOL, "onesided": BOOL})(spectral.fft)
rows_fact(Role.TRANSFORM, {"axis": INT, "size": INT})(spectral.irfft)
