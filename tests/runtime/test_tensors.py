"""Constants: unpacked once, whoever asks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np
import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.weights import Weight
from ttc.runtime.tensors import Constants, TensorSource


def test_a_value_is_loaded_once_by_many_threads():
    loads: list[int] = []

    def value() -> np.ndarray:
        loads.append(1)
        return np.arange(1000, dtype=ml_dtypes.bfloat16)

    constants = Constants({"w": TensorSource((1000,), "Float16_b", value)})
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: constants["w"], range(32)))
    assert len(loads) == 1
    assert all(f is found[0] for f in found)
    assert found[0].dtype == np.float32
    assert not found[0].flags.writeable


def test_values_are_those_of_the_stored_format():
    weight = Weight((2,), np.dtype(np.float32), lambda: np.array([1.00390625, 2.0], np.float32))
    constants = Constants({"w": TensorSource.of_weight(weight, "Float16_b")})
    assert constants["w"].tolist() == [1.0, 2.0]


def test_unknown_keys_and_wrong_shapes():
    constants = Constants({"weight": TensorSource((3,), "Float32", lambda: np.zeros(2, np.float32))})
    with pytest.raises(Error, match="shape") as failure:
        constants["weight"]
    assert failure.value.code == "E0901"
    with pytest.raises(Error, match="'weigth'") as failure:
        constants["weigth"]
    assert (failure.value.code, failure.value.hint) == ("E0304", "did you mean 'weight'?")


def test_any_byte_but_zero_is_true():
    stored = np.array([0, 1, 2, 255], np.uint8).view(np.bool_)
    assert Constants({"m": TensorSource.of_array(stored, "Bool")})["m"].view(np.uint8).tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize("format", ["Float32", "Bfp8_b", "Float16", "Int64", "Bool"])
@pytest.mark.parametrize("dtype", ["float64", "bool"])
def test_a_tensor_of_rank_0_is_an_array(format: str, dtype: str):
    value = TensorSource.of_array(np.array(1, dtype), format).value()
    assert isinstance(value, np.ndarray)
    assert value.shape == ()
    assert value.item() == 1
    assert not value.flags.writeable
