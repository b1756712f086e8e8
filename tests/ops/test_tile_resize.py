"""tile.resize against interpolation by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.tile_cases import check_error, check_op
from ttc.dialects.tile.resize import ResizeOp

X = np.array([[0, 2, 4]], np.float32)


def attrs(**changes: Any) -> dict[str, Any]:
    given = {"sizes": (1, 5), "scales": (1.0, 5 / 3), "window": (0.0, 0.0, 1.0, 1.0), "mode": "linear", "coordinates": "align_corners"}
    rest = {"rounding": "floor", "cubic": -0.75, "exclude_outside": False, "antialias": False, "fill": 0.0}
    return {**given, **rest, **changes}


def test_ends_stay_where_they_are() -> None:
    check_op(ResizeOp, [X], attrs(), np.array([[0, 1, 2, 3, 4]], np.float32), tolerance=1e-6)


def test_other_attributes_are_refused() -> None:
    check_error(ResizeOp, [(1, 3)], attrs(mode="round"), "E0402")
    check_error(ResizeOp, [(1, 0)], attrs(), "E0401")
