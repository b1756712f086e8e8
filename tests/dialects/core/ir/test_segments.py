"""Numbers of operands by name."""

from __future__ import annotations

import pytest
from xdsl.dialects import builtin

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.segments import read_segments, segment_sizes, segments_attribute


def test_sizes_of_operands_by_kind() -> None:
    assert segment_sizes("nn.op", ("one", "optional", "optional"), ["x", None, "b"]) == (1, 0, 1)
    assert segment_sizes("nn.op", ("one", "many", "optional"), ["x", "y", "z", None]) == (1, 2, 0)
    assert segment_sizes("nn.op", ("many", "one"), ["x"]) == (0, 1)


def test_an_operand_that_is_not_there() -> None:
    with pytest.raises(Error) as caught:
        segment_sizes("nn.op", ("one", "optional"), ["x"])
    assert (caught.value.code, caught.value.message) == ("E0302", "nn.op takes 2 operands, '_' for an absent one")


def test_attributes_are_shared_and_read_back() -> None:
    assert segments_attribute((1, 0, 1)) is segments_attribute((1, 0, 1))
    assert read_segments(segments_attribute((1, 0, 1))) == (1, 0, 1)
    assert read_segments(builtin.DenseArrayBase.from_list(builtin.i32, [2, 1])) == (2, 1)
