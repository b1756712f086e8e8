"""Facts of ops that read images, channels first, at computed positions."""

from __future__ import annotations

from ttc.dialects.nn.shapes import sampling
from ttc.dialects.tile.facts.base import BOOL, FLOAT, INT, INTS, STR, Role, rows_fact

_GRID = {"mode": STR, "padding": STR, "align_corners": BOOL}
_ROIS = {"size": INTS, "samples": INT, "scale": FLOAT, "offset": FLOAT, "mode": STR}
_CONV = {"strides": INTS, "dilations": INTS, "pads": INTS, "groups": INT, "offset_groups": INT}

rows_fact(Role.SAMPLING, _GRID)(sampling.grid_sample)
rows_fact(Role.SAMPLING, _ROIS)(sampling.roi_align)
rows_fact(Role.SAMPLING, _CONV)(sampling.deform_conv)
