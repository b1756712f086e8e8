"""tile.couple_probabilities: of two classes, and shapes that do not suit."""

from __future__ import annotations

import numpy as np

from tests.ops.tile_cases import check_error, check_op
from ttc.dialects.tile.base import twin


def test_two_classes() -> None:
    r = np.array([[0.9], [0.25]], np.float32)
    check_op(twin("couple_probabilities"), [r], {"classes": 2}, np.concatenate([r, 1 - r], axis=1), 1e-4)


def test_shapes_that_do_not_suit() -> None:
    check_error(twin("couple_probabilities"), [(2, 4)], {"classes": 3}, "E0401")
