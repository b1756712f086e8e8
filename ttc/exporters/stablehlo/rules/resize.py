"""Images sampled anew, each dimension by itself: as elements that are picked, or as a product with weights."""

from __future__ import annotations

import numpy as np

from ttc.dialects.core.kernels.resampling import ResampledAxis, Taps, taps
from ttc.exporters.stablehlo.literals import HloValue
from ttc.exporters.stablehlo.rules import HLO_RULES
from ttc.exporters.stablehlo.rules.index import taken
from ttc.exporters.stablehlo.rules.linear import contracted
from ttc.exporters.stablehlo.writer import HloWriter

SHARED = ("mode", "coordinates", "rounding", "cubic", "exclude_outside", "antialias")


@HLO_RULES.rule("resize")
def resize(step: HloWriter) -> HloValue:
    """Write samples along every dimension whose size or scale changes; those from outside of the window are filled."""
    value, sizes, scales, window = step.x(), step.attr("sizes"), step.attr("scales"), step.attr("window")
    rank = len(value.shape)
    outside = np.zeros(step.out, bool) if step.attr("coordinates") == "tf_crop_and_resize" else None
    for axis, entry in enumerate(zip(sizes, scales, window[:rank], window[rank:], strict=True)):
        if entry == (value.shape[axis], 1.0, 0.0, 1.0):
            continue
        found = taps(ResampledAxis(value.shape[axis], *entry, *(step.attr(name) for name in SHARED)))
        value = _sampled(step, value, axis, found)
        if outside is not None:
            outside[(slice(None),) * axis + (found.outside,)] = True
    if outside is None or not outside.any():
        return value
    return step.select(step.constant(outside, bool), step.filled(step.attr("fill"), value), value)


def _sampled(step: HloWriter, value: HloValue, axis: int, found: Taps) -> HloValue:
    """Write the samples along one dimension."""
    picked = np.all((found.weights == 0) | (found.weights == 1)) and np.all(found.weights.sum(axis=1) == 1)
    if picked:
        places = found.places[np.arange(len(found.places)), found.weights.argmax(axis=1)]
        return taken(step, value, step.constant(places, np.int64), axis)
    matrix = np.zeros((len(found.places), value.shape[axis]))
    np.add.at(matrix, (np.arange(len(matrix))[:, None], found.places), found.weights)
    made = contracted(step, value, step.constant(matrix, value.dtype), [(axis, 1)])
    last = len(value.shape) - 1
    return step.transpose(made, [*range(axis), last, *range(axis, last)])
