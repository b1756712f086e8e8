"""Elementwise functions: the matrix engine multiplies, the vector engine computes everything else in Float32."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.plain.interpret import kernel
from ttc.runtime.engines.exact import RULES
from ttc.runtime.engines.exact.core import Core


@RULES.rule("map")
def exact_map(core: Core, *xs: NDArray, fn: str, **attrs: Any) -> Any:
    """Return fn of the operands; a product by the op's fidelity, the first operand in SrcA."""
    if fn == "mul" and len(xs) == 2:
        return core.multiply(np.multiply, xs[0], xs[1])
    return kernel("tile.map")(*xs, fn=fn, **attrs)
