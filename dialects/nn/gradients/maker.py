"""Makes the ops of gradients at the end of a block."""

from __future__ import annotations

from functools import lru_cache

from xdsl.ir import Attribute, Block

from ttc.dialects.core.ir.locations import location_of, source_names
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.nn.block_maker import BlockMaker

PREFIX = "grad."
"""What the names of gradients begin with: of inputs, outputs and parameters, and of the sources of ops."""


@lru_cache(maxsize=1 << 14)
def gradient_location(location: Attribute) -> Attribute:
    """Return the location of the gradient of what is at a location: the same source names, the first marked as that of a gradient."""
    first, *rest = source_names(location) or ("op",)
    return location_of((first if first.startswith(PREFIX) else f"{PREFIX}{first}", *rest))


class GradientMaker(BlockMaker):
    """Makes ops at the end of a block, located at the gradient of what `enter` was told."""

    def __init__(self, block: Block, weights: WeightStore) -> None:
        super().__init__(block, weights)
        self.enter(location_of(()))

    def enter(self, location: Attribute) -> None:
        """Place all further ops at the gradient of what is at this location."""
        super().enter(gradient_location(location))
