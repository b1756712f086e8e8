"""Exponentials of the vector engine, exact and approximate."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.kernels.attend import Exponential
from ttc.dialects.core.plain.interpret import kernel
from ttc.runtime.engines.exact import RULES
from ttc.runtime.engines.exact.core import Core

LOG2_E = np.float32(1.442695)
"""1 / ln 2, as the engine has it."""
FRACTION = np.float32(1 << 16)
"""Steps between two powers of two."""
LEAST = np.float32(-42.0)
"""What is below has an exponential of 0."""


def exponential(core: Core) -> Exponential:
    """Return how a core computes exponentials."""
    return approximate_exp if core.approximate else np.exp


def approximate_exp(x: NDArray, out: NDArray) -> NDArray:
    """Write exp(x) of numbers that are at most 0 to `out`, as the vector engine approximates it; returns `out`.

    The engine adds 192 to x / ln 2, which leaves 16 bits of its fraction in a float32, and takes these for the first bits of a mantissa:
    2^n (1 + f) stands for 2^(n + f).  It is 1 to 1.062 times the exponential.

    Source: tt-llk, tt_llk_wormhole_b0/common/inc/sfpu/ckernel_sfpu_exp.h (`_calculate_exponential_approx_`).
    """
    steps = np.rint(np.maximum(x, LEAST) * LOG2_E * FRACTION) / FRACTION
    whole = np.floor(steps)
    found = np.ldexp(1 + (steps - whole), whole.astype(np.int32))
    np.copyto(out, np.where(x < LEAST, 0, found), casting="same_kind")
    return out


@RULES.rule("softmax")
def exact_softmax(core: Core, x: NDArray, *, axis: int) -> Any:
    """Softmax in Float32 along an axis, with the exponentials that the op asks for."""
    return kernel("tile.softmax")(x, axis=axis, exp=exponential(core))
