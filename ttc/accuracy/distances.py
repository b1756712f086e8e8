"""How far two arrays are apart: largest difference, relative L2 error and correlation together, since each alone hides something."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.records import record


class Exactness(IntEnum):
    """How exact results can be: that of the least exact of what computes and keeps them."""

    FLOAT32 = 0
    HIGH = 1
    """The exactness of products computed at precision `high`."""
    BITS16 = 2
    """The exactness of formats of 16 bits and of those that, like Tf32, hardly have more."""
    BITS8 = 3
    """The exactness of formats of 8 bits or less."""

    @staticmethod
    def of_format(name: str) -> Exactness:
        """Return how exact numbers kept in a format are; integers lose nothing.  Raises E0607."""
        format_ = format_named(name)
        if not format_.is_float or name in ("Float32", "Float64"):
            return Exactness.FLOAT32
        return Exactness.BITS8 if format_.element_bits <= 8 else Exactness.BITS16

    @staticmethod
    def of_precision(precision: object) -> Exactness:
        """Return how exact products computed at a precision (float32, high or bfloat16) are."""
        return {"high": Exactness.HIGH, "bfloat16": Exactness.BITS16}.get(str(precision), Exactness.FLOAT32)


ABSOLUTE_BOUNDS = {Exactness.FLOAT32: 1e-4, Exactness.HIGH: 1e-3}
"""The largest difference allowed, relative to max(1, max|b|), by exactness."""
RELATIVE_L2_BOUNDS = {Exactness.BITS16: 2e-2, Exactness.BITS8: 0.1}
"""The relative L2 error allowed of what is kept in fewer bits, by exactness."""
COARSE_PCC_BOUND = 0.99
"""The least correlation, besides, of what is kept in 8 bits or less."""
CONSTANT = 1e-6
"""The share of their size by which numbers of a constant may vary: what is left is rounding."""


@record
class Comparison:
    """The figures of a comparison of `a` with the reference `b`.

    Args:
        max_abs: largest |a - b|; infinite where NaNs or infinities stand at different places.
        relative_l2: |a - b| / |b|, Euclidean.
        pcc: Pearson's correlation; NaN where there is none, as one side is constant or has less than two elements.
        scale: max(1, max|b|).
        exactness: whose bounds apply.
    """

    max_abs: float
    relative_l2: float
    pcc: float
    scale: float
    exactness: Exactness = Exactness.FLOAT32

    @property
    def bound(self) -> float:
        """The number that max_abs (Float32, `high`) or relative_l2 (others) must not exceed."""
        return RELATIVE_L2_BOUNDS[self.exactness] if self._is_relative else ABSOLUTE_BOUNDS[self.exactness] * self.scale

    @property
    def within(self) -> bool:
        """Whether the figures keep the bounds."""
        return self._bounded <= self.bound and (self.exactness < Exactness.BITS8 or not self.pcc < COARSE_PCC_BOUND)

    @property
    def of_bound(self) -> float:
        """The figure that the bound is for, as a multiple of the bound."""
        return self._bounded / self.bound

    @property
    def _is_relative(self) -> bool:
        return self.exactness in RELATIVE_L2_BOUNDS

    @property
    def _bounded(self) -> float:
        return self.relative_l2 if self._is_relative else self.max_abs

    def pcc_text(self, digits: int = 6) -> str:
        """Return the correlation as readers see it: `-` where there is none."""
        return pcc_text(self.pcc, digits)

    def __str__(self) -> str:
        figures = f"max abs {self.max_abs:.3g}, relative L2 {self.relative_l2:.3g}, PCC {self.pcc_text(7)}"
        what = "relative L2" if self._is_relative else "max abs"
        return f"{figures}: {'within' if self.within else 'OUT OF'} bound ({what} {self.bound:.3g})"

    def figures(self) -> dict[str, float | bool | str | None]:
        """Return all figures by name; those that are not finite become None."""
        numbers = {**asdict(self), "exactness": self.exactness.name.lower(), "bound": self.bound, "within": self.within}
        return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in numbers.items()}


def compare(a: NDArray, b: NDArray, exactness: Exactness = Exactness.FLOAT32) -> Comparison:
    """Compare an array with a reference of the same shape.  exactness: whose bounds apply.  Raises E0801 if shapes differ."""
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
        exactness=exactness,
    )


def correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Return Pearson's correlation of two vectors; NaN where there is none: one of them is constant, or has less than two elements."""
    if a.size < 2:
        return math.nan
    centred = a - a.mean(), b - b.mean()
    norms = [float(np.linalg.norm(x)) for x in centred]
    if any(norm <= CONSTANT * float(np.linalg.norm(x)) for norm, x in zip(norms, (a, b), strict=True)):
        return math.nan
    return 1.0 if np.array_equal(a, b) else float(centred[0] @ centred[1]) / (norms[0] * norms[1])


def lowest_pcc(comparisons: Iterable[Comparison]) -> float:
    """Return the lowest correlation of those that have one; NaN if none has."""
    return min((c.pcc for c in comparisons if not math.isnan(c.pcc)), default=math.nan)


def pcc_text(pcc: float, digits: int) -> str:
    """Return a correlation as readers see it: `-` where there is none."""
    return "-" if math.isnan(pcc) else f"{pcc:.{digits}f}"
