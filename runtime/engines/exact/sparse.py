"""Products with matrices that are mostly zero."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.kernels.epilogue import finish
from ttc.dialects.core.plain.interpret import kernel
from ttc.runtime.engines.exact import RULES
from ttc.runtime.engines.exact.core import Core
from ttc.runtime.engines.exact.reduce import times_one

RULES.add("sparse_matmul", lambda core, x, **attrs: kernel("tile.sparse_matmul")(times_one(core, x), **attrs))


@RULES.rule("depthwise")
def exact_depthwise(
    core: Core,
    a: NDArray,
    b: NDArray,
    bias: NDArray | None = None,
    *,
    activation: str | None = None,
    activation_args: tuple[float, ...] = (),
) -> NDArray:
    """activation(sum over z of a[z, r, c] * b[z, c], + bias): a in SrcB, b in SrcA, summed by blocks of taps."""
    y = core.accumulate(core.multiply(_product, part, image) for part, image in _blocks(core, a, b))
    return finish(y, bias, activation, activation_args)


def _product(b: NDArray, a: NDArray) -> NDArray:
    return np.asarray(kernel("tile.depthwise")(a, b))


def _blocks(core: Core, a: NDArray, b: NDArray) -> Iterator[tuple[NDArray, NDArray]]:
    """A tap is a tile of the inner dimension."""
    taps = len(a) if core.in_one_block else core.block_tiles
    for first in range(0, len(a), max(taps, 1)):
        yield b[first : first + taps], a[first : first + taps]
