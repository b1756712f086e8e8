"""Bounds on sums relative to the sum of the magnitudes of their terms: a sum itself may cancel to nothing, its rounding errors do not."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def close(found: NDArray, expected: ArrayLike, magnitudes: ArrayLike, share: float) -> None:
    """Fail where a result differs from the expected one by more than a share of its sum of magnitudes.

    Args:
        magnitudes: the same computation on the magnitudes of all operands, as `abs(a) @ abs(b)` for `a @ b`; its shape is broadcast.
        share: of them; float32 adds with errors of 2**-24 of what it has so far.

    What is expected not to be finite is found the same; numbers below the smallest normal one of float32 count as 0.
    """
    wanted = np.asarray(expected).astype(np.float64)
    assert found.shape == wanted.shape
    finite = np.isfinite(wanted)
    np.testing.assert_array_equal(found[~finite], wanted[~finite])
    with np.errstate(invalid="ignore"):
        allowed = (share * np.asarray(magnitudes).astype(np.float64) + np.finfo(np.float32).tiny + np.zeros(wanted.shape))[finite]
        shares = np.abs(found[finite].astype(np.float64) - wanted[finite]) / allowed
    assert not shares.size or shares.max() <= 1, f"{shares.max() * share:.3g} of the sum of magnitudes, {share:.3g} allowed"
