"""Sums and means as products with ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.plain.interpret import kernel
from ttc.runtime.engines.exact import RULES
from ttc.runtime.engines.exact.core import Core

ONE = np.ones((), np.float32)
SUMMING = frozenset({"sum", "mean"})


@RULES.rule("reduce")
def exact_reduce(core: Core, x: NDArray, *, fn: str, **attrs: Any) -> Any:
    """Return the reduction; what a sum or mean adds up has gone through the multiplier."""
    return kernel("tile.reduce")(times_one(core, x) if fn in SUMMING else x, fn=fn, **attrs)


RULES.add("avg_pool2d", lambda core, x, **attrs: kernel("tile.avg_pool2d")(times_one(core, x), **attrs))


def times_one(core: Core, x: NDArray) -> NDArray:
    """Return x after it went from SrcA through the multiplier."""
    return core.multiply(np.multiply, x, ONE)
