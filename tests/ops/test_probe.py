"""nn.probe is the operand itself."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ops.cases import check_op
from ttc.dialects.nn.probe import ProbeOp


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_it_changes_nothing(dtype: str, rng: np.random.Generator) -> None:
    x = rng.integers(0, 2, (3, 4)).astype(dtype)
    check_op(ProbeOp, [x], {"label": "h"}, x, 0)
