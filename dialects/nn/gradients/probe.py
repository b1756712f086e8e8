"""The gradient of a probe, which is shown, too."""

from __future__ import annotations

from ttc.dialects.nn.gradients.base import Cotangents, GradientSite, OpMaker, gradient


@gradient("nn.probe")
def probe(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return dy, seen by a probe of its own."""
    return [b.nn("probe", site.dy, label=f"{site.attrs['label']}_gradient")]
