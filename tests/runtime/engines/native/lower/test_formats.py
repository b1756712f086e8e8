"""Changes of format against their numpy kernels."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.engines.native.graphs import Given, normal, ran
from ttc.dialects.core.plain.functions import TensorType, Work


@pytest.mark.parametrize("rounding", ["rne", "truncate"])
@pytest.mark.parametrize("format", ["Float32", "Float16_b"])
@pytest.mark.parametrize("to", ["Bfp8_b", "Bfp2", "Lf8", "Tf32", "Float32"])
def test_numbers_as_a_format_holds_them(to: str, format: str, rounding: str) -> None:
    work = Work("tile.adjust", (0,), {"to": to, "rounding": rounding}, (TensorType((5, 40), format),))
    found = ran([work], [Given(normal(5, 40))])
    assert not found.refusals
    np.testing.assert_array_equal(found.native, found.reference)


def test_other_formats_are_left_to_python() -> None:
    work = Work("tile.adjust", (0,), {"to": "Int8", "rounding": "rne"}, (TensorType((5, 40), "Float32"),))
    found = ran([work], [Given(normal(5, 40) * 50)])
    assert found.refusals == (("tile.adjust", "rounding to Int8"),)
    np.testing.assert_array_equal(found.native, found.reference)
