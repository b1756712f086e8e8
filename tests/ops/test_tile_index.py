"""tile.lookup and the gathers against indexing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.draws import generator
from tests.ops.tile_cases import check_error, check_op, run_op
from ttc.dialects.core.errors import Error
from ttc.dialects.tile.base import TileOp, twin
from ttc.dialects.tile.index import LookupOp

TABLE = generator("tile_index.TABLE").standard_normal((2, 32, 64)).astype(np.float32)
NONE = 0xFFFFFFFF


def attrs(**changes: Any) -> dict[str, Any]:
    return {"rows": 128, "cores": 2, "count": 40, "t": 2} | changes


def test_each_core_reads_its_tiles_one_after_another(rng: np.random.Generator) -> None:
    indices = rng.integers(0, 64, (1, 64, 64)).astype(np.uint32)
    indices[0, 0, 3] = NONE
    expected = np.zeros((2, 128, 64), np.float32)
    for core in range(2):
        rows = indices[0, 32 * core : 32 * core + 32]
        stream = np.concatenate([rows[:, :32].ravel(), rows[:, 32:].ravel()])[:40]
        for i, index in enumerate(stream):
            if index != NONE:
                expected[:, 64 * core + i] = TABLE.reshape(64, 64)[index]
    check_op(LookupOp, [TABLE, indices], attrs(), expected)


def test_an_index_outside_the_table() -> None:
    indices = np.full((1, 64, 32), 64, np.uint32)
    with pytest.raises(Error) as error:
        run_op(LookupOp, [TABLE, indices], attrs())
    assert error.value.code == "E0802"


@pytest.mark.parametrize(
    ("shape", "changes", "code"),
    [
        ((1, 32, 32), {}, "E0401"),
        ((64, 32), {}, "E0401"),
        ((1, 64, 32), {"count": 1025}, "E0401"),
        ((1, 64, 32), {"rows": 64}, "E0402"),
        ((1, 64, 32), {"rows": 127}, "E0402"),
        ((1, 64, 32), {"t": 1 << 40}, "E0402"),
    ],
)
def test_what_does_not_fit(shape: tuple[int, ...], changes: dict[str, Any], code: str) -> None:
    check_error(LookupOp, [TABLE.shape, shape], attrs(**changes), code)


X = generator("tile_index.X").standard_normal((3, 4, 5)).astype(np.float32)


def test_slices_along_any_axis() -> None:
    indices = np.array([[1, -1], [3, 0]])
    check_op(twin("gather"), [X, indices], {"axis": 1}, X[:, indices])
    check_op(twin("gather"), [X, np.array(2, np.int32)], {"axis": -1}, X[..., 2])


def test_elements_along_an_axis(rng: np.random.Generator) -> None:
    indices = rng.integers(-4, 4, (3, 2, 5))
    expected = np.array([[[X[i, indices[i, j, k], k] for k in range(5)] for j in range(2)] for i in range(3)])
    check_op(twin("gather_elements"), [X, indices], {"axis": 1}, expected)


def test_slices_at_tuples() -> None:
    check_op(twin("gather_nd"), [X, np.array([[2, 1], [0, -1]])], {"batch_dims": 0}, np.stack([X[2, 1], X[0, 3]]))
    check_op(twin("gather_nd"), [X, np.array([[1], [0], [3]])], {"batch_dims": 1}, np.stack([X[0, 1], X[1, 0], X[2, 3]]))


@pytest.mark.parametrize(
    ("kind", "indices", "attrs"),
    [
        (twin("gather"), [4], {"axis": 1}),
        (twin("gather_elements"), [[[-5]]], {"axis": 1}),
        (twin("gather_nd"), [[0, 4]], {"batch_dims": 0}),
    ],
)
def test_indices_outside(kind: type[TileOp], indices: list[Any], attrs: dict[str, Any]) -> None:
    with pytest.raises(Error) as error:
        run_op(kind, [X, np.array(indices)], attrs)
    assert error.value.code == "E0802"


def test_gathers_that_do_not_fit() -> None:
    check_error(twin("gather"), [(3, 4), (2,)], {"axis": 2}, "E0412")
