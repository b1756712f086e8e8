"""Users' arrays and queue entries."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import TensorType
from ttc.dialects.netlist.model import Argument, Queue
from ttc.runtime.arguments import check_array, from_entries, to_entries


def pair(shape: tuple[int, ...], dtype: str, format: str, entry: tuple[int, ...] | None = None, entries: int = 1) -> tuple[Argument, Queue]:
    tensor = TensorType(shape if entry is None else entry, format)
    queue = Queue("q", "input", "queue", "HOST", tensor, entries, "host", 0, (1, 1), None, ((0, 0),), 64)
    return Argument("x", "input", "q", shape, dtype, streamed=entry is not None), queue


@pytest.mark.parametrize(
    ("dtype", "format", "values", "expected"),
    [
        ("int64", "Int32", [-5, 2**31 - 1], [-5, 2**31 - 1]),
        ("bool", "UInt8", [True, False], [1, 0]),
        ("float64", "Float32", [0.1, 1e300], [np.float32(0.1), np.inf]),
        ("float32", "Float16_b", [1.00390625, 3.0], [1.0, 3.0]),
        ("bfloat16", "Float32", [1.5, -2.0], [1.5, -2.0]),
    ],
)
def test_values_take_the_format_of_the_queue(dtype: str, format: str, values: list, expected: list):
    (entry,) = to_entries(*pair((2,), dtype, format), np.array(values, np.dtype(dtype)))
    assert entry.tolist() == expected


@pytest.mark.parametrize(("format", "value"), [("Int32", 2**31), ("Int32", -(2**31) - 1), ("UInt8", -1), ("UInt8", 256)])
def test_integers_out_of_range(format: str, value: int):
    with pytest.raises(Error, match=str(value)) as failure:
        to_entries(*pair((2,), "int64", format), np.array([0, value]))
    assert failure.value.code == "E0802"


def test_microbatches_are_cut_along_the_first_dimension_and_joined_again():
    argument, queue = pair((6, 2), "int64", "Int32", entry=(2, 2), entries=3)
    x = np.arange(24).reshape(6, 4)[:, ::2]
    entries = to_entries(argument, queue, x)
    assert [e.tolist() for e in entries] == [x[i : i + 2].tolist() for i in (0, 2, 4)]
    joined = from_entries(argument, entries)
    assert joined.dtype == np.int64
    assert np.array_equal(joined, x)


@pytest.mark.parametrize("shape", [(0, 3), (), (1,)])
def test_small_and_empty_arrays(shape: tuple[int, ...]):
    argument, queue = pair(shape, "float32", "Float32")
    (entry,) = to_entries(argument, queue, np.ones(shape, np.float32))
    assert from_entries(argument, [entry]).shape == shape


def test_results_take_the_dtype_of_the_source():
    argument, _ = pair((2,), "bfloat16", "Float32")
    value = from_entries(argument, [np.array([1.0, 1.00390625], np.float32)])
    assert value.dtype == ml_dtypes.bfloat16
    assert value.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("value", [1.5, [1, 2], np.zeros((2, 1), np.int64), np.zeros(2, np.int32), "text", None, [2**70, 0], [True, 0.5]])
def test_values_that_do_not_fit(value: object):
    with pytest.raises(Error) as failure:
        check_array("x", value, (3,), "int64")
    assert failure.value.code == "E0801"
