"""Gradients of recurrent layers: backward through time.

States of all steps but the cell's own are in the layer's result, so that the products of all steps are computed again at once, or kept by
the layer; going back, each step takes the products' cotangents to the step before it, and those of the weights are products over all steps
together.
"""

from __future__ import annotations

from ttc.dialects.nn.gradients.base import Cotangents, GradientSite, gradient, no_gradient
from ttc.dialects.nn.gradients.recurrent_factors import ByFactors
from ttc.dialects.nn.gradients.recurrent_layer import summed
from ttc.dialects.nn.making import OpMaker, zeros

no_gradient("second derivatives of recurrent layers are not taken", "nn.recurrent_gradient")

MAX_STEPS = 1 << 12
"""The most steps, of both directions together, whose cells are computed again one by one."""


@gradient("nn.rnn", "nn.gru", "nn.lstm", "nn.lstm_training")
def recurrent(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return cotangents of a recurrent layer, each direction by itself, by `nn.recurrent_gradient`."""
    steps, samples, _ = b.shape(site.operand(0))
    directions = b.shape(site.operand(1))[0]
    if any(x is not None for x in site.cotangents[3:]):
        site.refuse(b, "its sums and cells are for its own gradient alone")
    if site.name == "nn.lstm" and steps * directions > MAX_STEPS:
        site.refuse(b, f"{steps} steps are too many to be written out; at most {MAX_STEPS} are")
    if not steps * samples * b.shape(site.y)[-1]:
        return [None if x is None or not wanted else zeros(b, x) for x, wanted in zip(site.operands, site.wanted, strict=True)]
    found = [ByFactors(b, site, d).cotangents() for d in range(directions)]
    return [summed(b, [row[i] for row in found]) for i in range(len(site.operands))]
