"""Batches with the rows that a call takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ttc
from ttc.dialects.core.errors import Error

X, Y = np.arange(26, dtype=np.float32).reshape(13, 2), np.arange(13)


def rows_of(loader: Any) -> list[list[int]]:
    return [[int(row[0]) // 2 for row in batch[0]] for batch in loader]


def test_rows_of_all_factors() -> None:
    loader = ttc.DataLoader({"x": X, "target": Y, "a": Y}, 1, iterations=2, accumulate=3, replicas=1)
    batches = list(loader)
    assert (len(loader), loader.size, len(batches)) == (2, 6, 2)
    assert [array.shape for array in batches[0]] == [(6,), (6, 2), (6,)]
    assert batches[1][2].tolist() == [6, 7, 8, 9, 10, 11]


def test_orders_follow_from_the_seed_and_are_new_in_each_epoch() -> None:
    first, second = (ttc.DataLoader((X, Y), 4, shuffle=True, seed=seed) for seed in (1, 1))
    epochs = [rows_of(first), rows_of(first)]
    assert epochs == [rows_of(second), rows_of(second)]
    assert epochs[0] != epochs[1]
    assert all(len({row for batch in epoch for row in batch}) == 12 for epoch in epochs)


def test_partial_batches() -> None:
    padded = ttc.DataLoader(X, 5, partial="pad")
    assert (len(padded), rows_of(padded)[2]) == (3, [10, 11, 12, 0, 1])
    with pytest.raises(Error, match="13 rows are not a multiple of the batch of 5"):
        ttc.DataLoader(X, 5, partial="error")
    with pytest.raises(Error, match="13 rows do not fill a batch of 14"):
        ttc.DataLoader(X, 14)
    assert rows_of(ttc.DataLoader(X, 14, partial="pad")) == [[*range(13), 0]]


def test_files(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "target.npy", Y)
    np.savez(tmp_path / "data.npz", x=X, target=Y)
    for path in (tmp_path, tmp_path / "data.npz"):
        (x, y), *_ = ttc.DataLoader(path, 4)
        assert (x.tolist(), y.tolist()) == (X[:4].tolist(), [0, 1, 2, 3])


def test_data_sets_of_torch() -> None:
    torch = pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")
    data = torch.utils.data.TensorDataset(torch.from_numpy(X), torch.from_numpy(Y))
    (x, y), *others = ttc.DataLoader(data, 4)
    assert (len(others), x.dtype, y.dtype) == (2, torch.float32, torch.int64)
    (z,), *_ = ttc.DataLoader(torch.from_numpy(X), 4)
    assert torch.equal(x, z)


@pytest.mark.parametrize(
    ("data", "options", "code"),
    [
        (X, {"batch": 0}, "E0101"),
        (X, {"batch": 1, "replicas": 1.5}, "E0101"),
        (X, {"batch": 1, "partial": "fill"}, "E0101"),
        ((X, Y[1:]), {"batch": 1}, "E0801"),
        ((), {"batch": 1}, "E0801"),
        (iter([1]), {"batch": 1}, "E0801"),
        ("no_such.npz", {"batch": 1}, "E0102"),
    ],
)
def test_what_cannot_be(data: Any, options: dict[str, Any], code: str) -> None:
    with pytest.raises(Error) as raised:
        ttc.DataLoader(data, **options)
    assert raised.value.code == code
