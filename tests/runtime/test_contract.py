"""Values of inputs that a program holds for alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.model import Argument, Program
from ttc.runtime.contract import (
    MAX_ELEMENTS,
    FixedInput,
    check_contract,
    check_values,
    known_values,
)
from ttc.runtime.manifest import DTYPE_NAMES


def program(*arguments: tuple[str, str, tuple[int, ...]]) -> Program:
    made = tuple(Argument(name=name, kind="input", queue=f"q{name}", shape=shape, dtype=dtype) for name, dtype, shape in arguments)
    return Program("forward", arguments=made, results=(), instructions=())


SIZES = program(("sizes", "int64", (2,)), ("x", "float32", (3,)))


@pytest.mark.parametrize(
    "array",
    [
        np.array([np.iinfo(np.int64).min, np.iinfo(np.int64).max]),
        np.array([[0, np.iinfo(np.uint64).max]], np.uint64),
        np.array(-5, np.int8),
        np.array([True, False]),
        np.zeros((0, 3), np.int32),
    ],
)
def test_values_survive(array: NDArray[Any]) -> None:
    found = FixedInput.of("x", array).array()
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(found, array)
    assert str(array.dtype) in DTYPE_NAMES


def test_more_values_than_a_contract_holds() -> None:
    assert FixedInput.of("x", np.zeros(MAX_ELEMENTS, np.int64)).array().size == MAX_ELEMENTS
    with pytest.raises(Error) as caught:
        FixedInput.of("x", np.zeros(MAX_ELEMENTS + 1, np.int64))
    assert caught.value.code == "E0202"


@pytest.mark.parametrize(
    "item",
    [
        FixedInput("x", (2,), "int64", "1"),
        FixedInput("x", (2,), "int64", "1 2 3"),
        FixedInput("x", (2,), "int64", "1 two"),
        FixedInput("x", (2,), "int64", "1 2.5"),
        FixedInput("x", (-1,), "int64", ""),
        FixedInput("x", (1,), "int8", "128"),
        FixedInput("x", (1,), "uint8", "-1"),
        FixedInput("x", (1,), "bool", "2"),
        FixedInput("x", (1,), "int64", "9" * 20),
        FixedInput("x", (1,), "int64", "9" * 4000),
        FixedInput("x", (1,), "float32", "1"),
        FixedInput("x", (1,), "object", "1"),
        FixedInput("x", (1 << 40, 1 << 40), "int64", "1"),
        FixedInput("x", (MAX_ELEMENTS + 1,), "int64", "1 " * (MAX_ELEMENTS + 1)),
        FixedInput("x", (1,) * 64, "int64", "1"),
    ],
)
def test_what_is_no_value(item: FixedInput) -> None:
    with pytest.raises(Error) as caught:
        item.array()
    assert caught.value.code == "E0703"


def test_a_contract_is_about_inputs_of_its_programs() -> None:
    check_contract([FixedInput("sizes", (2,), "int64", "3 4")], [SIZES])
    for item in (
        FixedInput("other", (2,), "int64", "3 4"),
        FixedInput("sizes", (1,), "int64", "3"),
        FixedInput("sizes", (2,), "int32", "3 4"),
    ):
        with pytest.raises(Error) as caught:
            check_contract([item], [SIZES])
        assert caught.value.code == "E0703"


def test_a_run_is_held_to_it() -> None:
    wanted = known_values([FixedInput("sizes", (2,), "int64", "3 4")])
    check_values(SIZES, {"sizes": np.array([3, 4]), "x": None}, wanted)
    check_values(SIZES, {"sizes": [3, 4], "x": None}, wanted)
    check_values(program(("x", "float32", (3,))), {"x": None}, wanted)
    with pytest.raises(Error) as caught:
        check_values(SIZES, {"sizes": np.array([4, 3]), "x": None}, wanted)
    assert caught.value.code == "E0806"
    assert caught.value.message == "input 'sizes' is [4, 3], and the program was compiled for [3, 4] alone"
    with pytest.raises(Error) as caught:
        check_values(SIZES, {"sizes": np.array([3]), "x": None}, wanted)
    assert caught.value.code == "E0801"


def test_a_long_value_is_told_by_its_first_difference() -> None:
    value = np.arange(40).reshape(4, 10)
    other = value.copy()
    other[2, 7:] = -1
    entry = program(("t", "int64", (4, 10)))
    with pytest.raises(Error) as caught:
        check_values(entry, {"t": other}, {"t": value})
    assert caught.value.message == "input 't' is -1 at [2, 7], and the program was compiled for 27 there"
