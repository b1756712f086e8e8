"""Windows of convolutions and pools over any number of spatial dimensions."""

from __future__ import annotations

from ttc.dialects.core.records import record


@record
class SpatialWindow:
    """A window by spatial dimension: one entry each; pads are all beginnings, then all ends: of two dimensions top, left, bottom, right."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[int, ...]

    def reach(self) -> tuple[int, ...]:
        """Return elements from a window's first to its last, by dimension."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True))
