"""How far two arrays are apart: largest difference, relative L2 error and correlation together, since each alone hides something."""

from __future__ import annotations

import math
from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record

ABSOLUTE_BOUND = 1e-4
"""Largest difference allowed at Float32, relative to max(1, max|b|)."""
HIGH_BOUND = 1e-3
"""The same at precision `high`."""
RELATIVE_L2_BOUND = 2e-2
"""Relative L2 error allowed where values are kept in 16 bits."""
COARSE_L2_BOUND = 0.1
COARSE_PCC_BOUND = 0.99
"""Relative L2 error and correlation allowed where values are kept in 8 bits or less."""


@record
class Comparison:
    """Figures of `a` against the reference `b`.

    Args:
        max_abs: largest |a - b|; infinite where NaNs or infinities stand at different places.
        relative_l2: |a - b| / |b|, Euclidean.
        pcc: Pearson's correlation; 1 for two equal constants, 0 if only one is constant.
        scale: max(1, max|b|).
        low_precision: whether the bound of 16-bit formats applies.
        coarse: whether the bounds of formats of 8 bits and less apply.
        high: whether, of neither, the bound of precision `high` does.
    """

    max_abs: float
    relative_l2: float
    pcc: float
    scale: float
    low_precision: bool = False
    coarse: bool = False
    high: bool = False

    @property
    def bound(self) -> float:
        """What max_abs (Float32) or relative_l2 (others) must not exceed."""
        if self.coarse:
            return COARSE_L2_BOUND
        if self.low_precision:
            return RELATIVE_L2_BOUND
        return (HIGH_BOUND if self.high else ABSOLUTE_BOUND) * self.scale

    @property
    def within(self) -> bool:
        """Whether the figures keep the bound."""
        if self.coarse:
            return self.relative_l2 <= self.bound and self.pcc >= COARSE_PCC_BOUND
        return (self.relative_l2 if self.low_precision else self.max_abs) <= self.bound

    @property
    def of_bound(self) -> float:
        """What the bound is of, as a multiple of it."""
        return (self.relative_l2 if self.low_precision or self.coarse else self.max_abs) / self.bound

    def __str__(self) -> str:
        figures = f"max abs {self.max_abs:.3g}, relative L2 {self.relative_l2:.3g}, PCC {self.pcc:.7f}"
        what = "relative L2" if self.low_precision or self.coarse else "max abs"
        return f"{figures}: {'within' if self.within else 'OUT OF'} bound ({what} {self.bound:.3g})"

    def figures(self) -> dict[str, float | bool | None]:
        """All figures by name; those that are not finite become None."""
        numbers = {**asdict(self), "bound": self.bound, "within": self.within}
        return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in numbers.items()}


def compare(a: NDArray, b: NDArray, *, low_precision: bool = False, coarse: bool = False, high: bool = False) -> Comparison:
    """Compare an array with a reference of the same shape; which bound applies: see `Comparison`.  Raises E0801 if shapes differ."""
    if a.shape != b.shape:
        raise Error("E0801", f"shapes to compare differ: {list(a.shape)} and {list(b.shape)}")
    if a.dtype.kind == "O":  # text is the same or not
        a, b = np.asarray(a != b), np.zeros(b.shape, bool)
    left, right = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
    finite = np.isfinite(left) & np.isfinite(right)
    strange = ~finite
    alike = np.array_equal(left[strange], right[strange], equal_nan=True)
    left, right = left[finite], right[finite]
    difference = left - right
    largest = float(np.abs(difference).max(initial=0.0))
    norm = float(np.linalg.norm(right))
    error = float(np.linalg.norm(difference))
    return Comparison(
        max_abs=largest if alike else math.inf,
        relative_l2=(error / norm if norm else math.inf if error else 0.0) if alike else math.inf,
        pcc=correlation(left, right),
        scale=max(1.0, float(np.abs(right).max(initial=0.0))),
        low_precision=low_precision,
        coarse=coarse,
        high=high,
    )


def correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Pearson's correlation of two vectors; 1 if they are equal, 0 if only one is constant."""
    if np.array_equal(a, b):
        return 1.0
    a, b = a - a.mean(), b - b.mean()
    norms = float(np.linalg.norm(a)) * float(np.linalg.norm(b))
    return float(a @ b) / norms if norms else 0.0
