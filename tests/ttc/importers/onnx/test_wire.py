"""The scanner of the wire format."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from tests.ttc.importers.onnx.cases import model_of, normal
from ttc.dialects.core.errors import Error
from ttc.importers.common.protobuf import write_varint
from ttc.importers.onnx.wire import LARGE_BYTES, Payload, skeleton


def weights_model() -> ModelProto:
    constants = {"small": normal(4), "large": normal(40, 30), "empty": np.zeros(0, np.float32), "last": normal(1000)}
    return model_of([helper.make_node("Identity", ["large"], ["y"])], {}, ["y"], constants)


def test_large_payloads_are_left_out_and_found() -> None:
    model = weights_model()
    data = model.SerializeToString()
    found = skeleton(data)
    assert [p is None for p in found.payloads] == [True, False, True, False]
    large = found.payloads[1]
    assert large is not None
    np.testing.assert_array_equal(
        np.frombuffer(data, np.float32, large.size // 4, large.offset).reshape(40, 30), numpy_helper.to_array(model.graph.initializer[1])
    )
    without = ModelProto.FromString(found.data)
    for tensor, payload in zip(model.graph.initializer, found.payloads, strict=True):
        if payload is not None:
            tensor.ClearField("raw_data")
    assert without == model
    assert len(found.data) < len(data) - 4 * (1200 + 1000) + 100


def test_the_last_payload_of_a_tensor_counts() -> None:
    first, second = (TensorProto(raw_data=bytes(size)).SerializeToString() for size in (LARGE_BYTES + 1, LARGE_BYTES + 2))
    for both, wanted in ((first + second, LARGE_BYTES + 2), (second + TensorProto(raw_data=b"ab").SerializeToString(), None)):
        tensor = write_varint(5 << 3 | 2) + write_varint(len(both)) + both
        data = write_varint(7 << 3 | 2) + write_varint(len(tensor)) + tensor
        (payload,) = skeleton(data).payloads
        assert (None if payload is None else payload.size) == wanted
        if payload is not None:
            assert payload == Payload(len(data) - wanted, wanted)


@pytest.mark.parametrize(
    "data", [b"\x0b\x0c", b"\x07", b"\x3a\x7f\x00", b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", b"\x00\x01", b"\x09\x00"]
)
def test_malformed_fields(data: bytes) -> None:
    with pytest.raises(Error) as caught:
        skeleton(data)
    assert caught.value.code == "E0201"
