"""tile.resize against interpolation by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops.tile_cases import check_error, check_op, run_op
from ttc.dialects.core.errors import Error
from ttc.dialects.tile.base import twin

X = np.array([[0, 2, 4]], np.float32)


def attrs(**changes: Any) -> dict[str, Any]:
    given = {"sizes": (1, 5), "scales": (1.0, 5 / 3), "window": (0.0, 0.0, 1.0, 1.0), "mode": "linear", "coordinates": "align_corners"}
    rest = {"rounding": "floor", "cubic": -0.75, "exclude_outside": False, "antialias": False, "fill": 0.0}
    return {**given, **rest, **changes}


def test_ends_stay_where_they_are() -> None:
    check_op(twin("resize"), [X], attrs(), np.array([[0, 1, 2, 3, 4]], np.float32), tolerance=1e-6)


def test_other_attributes_are_refused() -> None:
    check_error(twin("resize"), [(1, 3)], attrs(mode="round"), "E0402")
    check_error(twin("resize"), [(1, 0)], attrs(), "E0401")


def test_scales_that_are_computed_come_to_known_sizes() -> None:
    given = {k: v for k, v in attrs().items() if k not in ("sizes", "scales", "window")} | {"axes": (1,), "sizes": (5,)}
    check_op(twin("resize_by"), [X, np.array([5 / 3], np.float32), None], given, np.array([[0, 1, 2, 3, 4]], np.float32), tolerance=1e-5)
    with pytest.raises(Error) as error:
        run_op(twin("resize_by"), [X, np.array([3], np.float32), None], given)
    assert error.value.code == "E0802"
    check_error(twin("resize_by"), [(1, 3), (2,), None], given, "E0401")
