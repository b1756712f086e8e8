"""tile.topk against sorting, and against its network one comparison at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops.tile_cases import check_error, check_op, run_op
from ttc.dialects.tile.topk import TopkOp


def attrs(**changes: Any) -> dict[str, Any]:
    return {"k": 32, "sort": "max", "sorted_runs": False, "cores": 1, "width": 32} | changes


@pytest.mark.parametrize("k", [1, 4, 16, 32, 64, 128])
def test_the_largest_in_falling_order(k: int, rng: np.random.Generator) -> None:
    x = rng.permutation(5 * 512).reshape(1, 5, 512).astype(np.float32) - 1000
    places = np.broadcast_to(np.arange(512, dtype=np.float32), x.shape).copy()
    width = -(-k // 32) * 32
    expected = np.zeros((1, 5, width), np.float32)
    expected[..., :k] = -np.sort(-x, axis=-1)[..., :k]
    check_op(TopkOp, [x, places], attrs(k=k, width=width), expected)
    expected[..., :k] = np.argsort(-x, axis=-1)[..., :k]
    check_op(TopkOp, [x, places], attrs(k=k, width=width, sort="argmax"), expected)


def test_each_core_finds_its_own(rng: np.random.Generator) -> None:
    x = rng.permutation(2 * 128).reshape(1, 2, 128).astype(np.float32)
    expected = np.concatenate([-np.sort(-part, axis=-1)[..., :32] for part in np.split(x, 2, axis=-1)], axis=-1)
    check_op(TopkOp, [x, x], attrs(cores=2), expected)


def test_runs_that_are_sorted_already(rng: np.random.Generator) -> None:
    x = rng.permutation(64).reshape(1, 1, 4, 16).astype(np.float32)
    runs = -np.sort(-x, axis=-1)
    runs[..., 1::2, :] = runs[..., 1::2, ::-1]
    x = runs.reshape(1, 1, 64)
    check_op(TopkOp, [x, x], attrs(k=16, sorted_runs=True, width=16), -np.sort(-x, axis=-1)[..., :16])


def one_by_one(row: list[float], k: int) -> list[int]:
    """Places of the k largest of a row, by the network's comparisons in turn."""
    data = list(enumerate(row))

    def compare(down: bool, i: int, j: int, again: bool = False) -> None:
        a, b = data[i][1], data[j][1]
        change = b > a or (a == b and a < 0) if down else b < a or (a == b and a >= 0)
        for needed in (change, again):
            if needed:
                data[i], data[j] = data[j], data[i]

    def merge(base: int, length: int, down: bool, again: bool = False) -> None:
        distance = length // 2
        while distance:
            for start in range(0, length, 2 * distance):
                for j in range(distance):
                    compare(down, base + start + j, base + start + j + distance, again)
            distance //= 2

    for phase in range(k.bit_length() - 1):
        length = 2 << phase
        for run, base in enumerate(range(0, len(row), length)):
            merge(base, length, run % 2 == 0, k >= 64 and phase in (3, 4) and base % 128 >= 64)
    stride = k
    while 2 * stride <= len(row):
        for base in range(0, len(row), 2 * stride):
            for j in range(k):
                compare(True, base + j, base + j + stride)
        for run, base in enumerate(range(0, len(row), 2 * stride)):
            merge(base, k, run % 2 == 0)
        stride *= 2
    return [place for place, _ in data[:k]]


@pytest.mark.parametrize("k", [8, 32, 64])
def test_equal_numbers_end_where_the_network_leaves_them(k: int, rng: np.random.Generator) -> None:
    x = rng.integers(-3, 4, (1, 3, 256)).astype(np.float32)
    places = np.broadcast_to(np.arange(256, dtype=np.float32), x.shape).copy()
    found = run_op(TopkOp, [x, places], attrs(k=k, width=64, sort="argmax"))
    assert found[0, :, :k].tolist() == [one_by_one(row.tolist(), k) for row in x[0]]


@pytest.mark.parametrize(
    ("changes", "code"),
    [({"k": 24}, "E0402"), ({"k": 0}, "E0402"), ({"sort": "min"}, "E0402"), ({"width": 16}, "E0402"), ({"cores": 3}, "E0401")],
)
def test_what_does_not_fit(changes: dict[str, Any], code: str) -> None:
    check_error(TopkOp, [(1, 2, 128), (1, 2, 128)], attrs(**changes), code)


def test_operands_of_two_shapes() -> None:
    check_error(TopkOp, [(1, 2, 128), (1, 2, 64)], attrs(), "E0401")
