"""Values of constants: views of the file, packed ones, sparse ones, those behind the flatbuffer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.ttc.importers.tflite.samples import sparse
from tests.ttc.importers.tflite.writer import Graph, Op, Scalar, Tensor, model, numbers
from ttc.dialects.core.errors import Error
from ttc.importers.tflite import import_tflite
from ttc.importers.tflite.model import parse
from ttc.importers.tflite.weights import unpacked, weight_of

X, Y = Tensor("x", (1, 4)), Tensor("y", (1, 3))


def value(tensor: Tensor) -> np.ndarray:
    data = model(Graph([tensor], [], [], []))
    return weight_of(data, parse(data).graphs[0].tensors[0]).value()


def test_plain_values_are_views_of_the_file(tmp_path: Path) -> None:
    w = np.arange(12, dtype=np.float32).reshape(3, 4)
    for outside in (False, True):
        graph = Graph([X, Tensor("w", (3, 4), data=w, outside=outside), Y], ["x"], ["y"], [Op("FULLY_CONNECTED", ["x", "w", None], ["y"])])
        path = tmp_path / "model.tflite"
        path.write_bytes(model(graph))
        _, weights = import_tflite(path)
        found = weights["w"].value()
        np.testing.assert_array_equal(found, w)
        assert not found.flags.owndata
        assert not found.flags.writeable


@pytest.mark.parametrize(
    ("packed", "count", "bits", "signed", "wanted"),
    [
        ([0x21, 0xF8], 4, 4, True, [1, 2, -8, -1]),
        ([0x21, 0x0F], 3, 4, True, [1, 2, -1]),
        ([0x21, 0x0F], 3, 4, False, [1, 2, 15]),
        ([0b11100100], 4, 2, True, [0, 1, -2, -1]),
    ],
)
def test_integers_of_less_than_a_byte(packed: list[int], count: int, bits: int, signed: bool, wanted: list[int]) -> None:
    found = unpacked(np.array(packed, np.uint8), count, bits, signed)
    assert found.tolist() == wanted
    assert found.dtype == (np.int8 if signed else np.uint8)


def test_sparse_values_are_spread_out() -> None:
    tensor, dense = sparse()
    np.testing.assert_array_equal(value(tensor), dense)


def test_sparse_blocks() -> None:
    """Of 2 x 2 elements, along both dimensions, one of which is stored."""
    levels = [
        {0: Scalar("i1", 0), 1: Scalar("i4", 2)},
        {0: Scalar("i1", 1), 2: Scalar("u1", 1), 3: {0: numbers("i4", 0, 0, 1)}, 4: Scalar("u1", 1), 5: {0: numbers("i4", 1)}},
        *({0: Scalar("i1", 0), 1: Scalar("i4", 2)} for _ in range(2)),
    ]
    sparsity = {0: numbers("i4", 0, 1, 2, 3), 1: numbers("i4", 0, 1), 2: levels}
    found = value(Tensor("w", (4, 4), data=np.array([1, 2, 3, 4], np.float32), sparsity=sparsity))
    wanted = np.zeros((4, 4), np.float32)
    wanted[2:, 2:] = [[1, 2], [3, 4]]
    np.testing.assert_array_equal(found, wanted)


def damaged(**levels: Any) -> Tensor:
    """The sparse matrix with fields of its second level replaced."""
    tensor, _ = sparse()
    assert tensor.sparsity is not None
    first, second = tensor.sparsity[2]
    return replace(tensor, sparsity={**tensor.sparsity, 2: [first, {**second, **{int(k[1:]): v for k, v in levels.items()}}]})


@pytest.mark.parametrize(
    "tensor",
    [
        damaged(_5={0: numbers("u2", 1, 0, 9)}),
        damaged(_3={0: numbers("u1", 0, 3, 1, 3)}),
        damaged(_3={0: numbers("u1", 0, 1, 3)}),
        damaged(_3={0: numbers("u1", 0, 1, 1, 200)}),
        damaged(_2=Scalar("u1", 0)),
        replace(sparse()[0], sparsity={**(sparse()[0].sparsity or {}), 0: numbers("i4", 0, 0)}),
        replace(sparse()[0], sparsity={**(sparse()[0].sparsity or {}), 1: numbers("i4", 7)}),
        replace(sparse()[0], data=np.zeros(2, np.float32)),
        Tensor("w", (3, 4), data=np.zeros(11, np.float32)),
        Tensor("w", (3,), "INT4", b"\0"),
        Tensor("w", (2, 2), data=np.zeros(4, np.float32), signature=(-1, 2)),
    ],
)
def test_values_that_do_not_fit_their_shape(tensor: Tensor) -> None:
    with pytest.raises(Error) as caught:
        value(tensor)
    assert caught.value.code == "E0203"
