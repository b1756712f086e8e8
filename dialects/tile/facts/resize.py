"""Facts of images sampled anew on a regular grid."""

from __future__ import annotations

from ttc.dialects.nn.shapes import resize
from ttc.dialects.tile.facts.base import BOOL, FLOAT, FLOATS, INTS, STR, Role, rows_fact

_ATTRS = {
    **dict.fromkeys(("mode", "coordinates", "rounding"), STR),
    **dict.fromkeys(("cubic", "fill"), FLOAT),
    **dict.fromkeys(("exclude_outside", "antialias"), BOOL),
    "sizes": INTS,
}

rows_fact(Role.SAMPLING, {**_ATTRS, "scales": FLOATS, "window": FLOATS})(resize.resize)
rows_fact(Role.SAMPLING, {**_ATTRS, "axes": INTS})(resize.resize_by)
