"""Numpy semantics of the elementwise ops of one operand: arithmetic, rounding, predicates, casts.  erf is in `erf.py`."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ttc.dialects.core.formats.text import STRING
from ttc.dialects.core.kernels import text
from ttc.dialects.nn.kernels import KERNELS, of_one

KERNELS.add("identity", lambda x: x)


@KERNELS.rule("cast")
def cast(x: NDArray, *, dtype: DTypeLike) -> NDArray:
    """x as another dtype; numbers as text, and text as numbers."""
    if np.dtype(dtype) == STRING or x.dtype == STRING:
        return text.cast(x, np.dtype(dtype))
    return x.astype(dtype, copy=False)


KERNELS.add("rsqrt", lambda x: 1 / np.sqrt(x))
KERNELS.add("reciprocal", lambda x: 1 / x)
of_one("abs", np.abs)
of_one("neg", np.negative)
of_one("sign", np.sign)
of_one("exp", np.exp)
of_one("log", np.log)
of_one("sqrt", np.sqrt)
of_one("floor", np.floor)
of_one("ceil", np.ceil)
of_one("round", np.rint)
of_one("sin", np.sin)
of_one("cos", np.cos)
of_one("not", np.logical_not)
of_one("is_nan", np.isnan)
of_one("is_inf", np.isinf)
