"""Values and absences of inputs, from rows of a module's attributes."""

from __future__ import annotations

import pytest

from ttc.dialects.core.errors import Error
from ttc.passes.recorded_inputs import absent_inputs, fixed_inputs
from ttc.runtime.contract import FixedInput


def test_rows_of_a_module() -> None:
    assert fixed_inputs(None) == ()
    row = ("sizes", (2,), "int64", "3 4")
    assert fixed_inputs((row,)) == (FixedInput(*row),)
    assert absent_inputs((("o", "none"), ("s", "sequence"))) == (("o", "none"), ("s", "sequence"))
    for rows in (3, ("sizes",), (("sizes", 2, "int64", "3 4"),), (("sizes", (2,), "int64", "3"),), (row, row), ((*row, "more"),)):
        with pytest.raises(Error) as caught:
            fixed_inputs(rows)
        assert caught.value.code == "E0302"
    for rows in (("o",), (("o", "nothing"),), ((1, "none"),)):
        with pytest.raises(Error) as caught:
            absent_inputs(rows)
        assert caught.value.code == "E0302"
