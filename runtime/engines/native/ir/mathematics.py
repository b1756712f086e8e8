"""Functions of real numbers, by polynomials; each says how far it may be off."""

from __future__ import annotations


class Mathematics:
    """What a `Writer` can compute of floating-point values beyond arithmetic."""
