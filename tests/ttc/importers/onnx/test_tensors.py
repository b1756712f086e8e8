"""Tensors of a model file in types that are only stored: several elements a byte, 8-bit floats."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from ttc.dialects.core.errors import Error
from ttc.importers.onnx.tensors import DTYPES, array_of

NARROW = {
    "INT4": [-8, 7, 3, -1, 0],
    "UINT4": [0, 15, 9],
    "INT2": [-2, 1, 0, -1, 1],
    "UINT2": [3, 0, 1, 2, 2, 1],
    "FLOAT4E2M1": [0.5, -6, 1.5, 0],
    "FLOAT8E4M3FN": [448, -0.25, 0],
    "FLOAT8E4M3FNUZ": [240, -0.25],
    "FLOAT8E5M2": [57344, -0.25],
    "FLOAT8E5M2FNUZ": [57344, -0.25],
    "FLOAT8E8M0": [0.25, 8, 1],
}


def typed(name: str) -> tuple[int, NDArray]:
    code = TensorProto.DataType.Value(name)
    return code, np.array(NARROW[name], np.float32).astype(DTYPES[code])


@pytest.mark.parametrize("name", NARROW)
def test_raw_data(name: str) -> None:
    code, values = typed(name)
    found = array_of(numpy_helper.from_array(values, "t"), "tensor")
    assert found.dtype == DTYPES[code]
    np.testing.assert_array_equal(found.astype(np.float32), values.astype(np.float32))


@pytest.mark.parametrize("name", NARROW)
def test_typed_data(name: str) -> None:
    code, values = typed(name)
    tensor = helper.make_tensor("t", code, values.shape, values.astype(np.float32).tolist())
    assert len(tensor.int32_data) > 0
    np.testing.assert_array_equal(array_of(tensor, "tensor").astype(np.float32), values.astype(np.float32))


def test_bytes_that_do_not_suffice() -> None:
    tensor = TensorProto(data_type=TensorProto.INT4, dims=[5], raw_data=b"\0\0")
    with pytest.raises(Error, match="takes 3 bytes, but has 2") as caught:
        array_of(tensor, "tensor")
    assert caught.value.code == "E0203"


def test_every_type_is_one_that_the_dialects_have() -> None:
    assert DTYPES[TensorProto.FLOAT8E5M2] == ml_dtypes.float8_e5m2
    assert len(set(DTYPES.values())) == len(DTYPES) == 24
