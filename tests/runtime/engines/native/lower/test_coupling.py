"""Probabilities of classes from those of pairs, in machine code against their numpy kernel."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.engines.native.graphs import Given, ran
from ttc.dialects.core.plain.functions import TensorType, Work


@pytest.mark.parametrize("level", ["amx", "avx2", "generic"])
@pytest.mark.parametrize("format", ["Float32", "Float16_b"])
@pytest.mark.parametrize("classes", [2, 3, 7])
def test_classes(classes: int, format: str, level: str) -> None:
    rng = np.random.default_rng(classes)
    r = rng.uniform(1e-7, 1, (19, classes * (classes - 1) // 2)).astype(np.float32)
    r[0], r[1] = 0.5, 1 - 1e-7
    work = Work("tile.couple_probabilities", (0,), {"classes": classes}, (TensorType((19, classes), format),))
    found = ran([work], [Given(r, format)], level=level)
    assert not found.refusals
    assert "CoupleProbabilities" in found.kernels
    np.testing.assert_allclose(found.native, found.reference, atol=1e-5 if format == "Float32" else 1e-2)
