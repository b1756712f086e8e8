"""Values that are written out in a program: in place before any run, not made in Python by each."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.engines.native.graphs import Given, ran
from ttc.dialects.core.plain.functions import TensorType, Work


@pytest.mark.parametrize(
    ("format", "values"), [("Float32", (1.5, -2.0, 0.1)), ("Float16_b", (1.5, -2.0, 0.1)), ("Int64", (3, -4, 1 << 40))]
)
def test_literals_are_no_steps_in_python(format: str, values: tuple[float, ...]) -> None:
    type_ = TensorType((3,), format)
    works = [
        Work("ttc.constant", (), {"values": values}, (type_,)),
        Work("tile.concat", (0, 1), {"axis": 0}, (TensorType((6,), format),)),
    ]
    x = np.array([7, 8, 9], np.int64 if format == "Int64" else np.float32)
    found = ran(works, [Given(x, format)])
    assert not found.refusals
    np.testing.assert_array_equal(found.native, found.reference)


def test_literals_of_another_number_are_left_to_the_reference_engine() -> None:
    type_ = TensorType((3,), "Float32")
    works = [
        Work("ttc.constant", (), {"values": (1.0, 2.0)}, (type_,)),
        Work("tile.concat", (0, 1), {"axis": 0}, (TensorType((6,), "Float32"),)),
    ]
    with pytest.raises(Exception, match="reshape|3"):
        ran(works, [Given(np.ones(3, np.float32))])
