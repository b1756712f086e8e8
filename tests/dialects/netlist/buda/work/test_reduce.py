"""Maxima, splices, depthwise products, gathers, topk: against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.dialects.netlist.buda.work.meanings import buda, check_error, random, result, tensor, tms
from ttc.dialects.netlist.buda.form import Tm
from ttc.dialects.netlist.buda.work.depthwise import diagonal_tiles

S = 32


def test_maxima() -> None:
    x = random(2, 3 * S, 2 * S)
    y = result(buda("reduce", t=2, mblock=(3, 1), attributes={"type": "max", "dim": "c", "m_k": 2, "u_kt": 1}), x)
    np.testing.assert_array_equal(y[:, :, 0], x.max(axis=2))
    assert not y[:, :, 1:].any()
    y = result(buda("reduce", t=2, mblock=(1, 2), attributes={"type": "max", "dim": "r", "m_k": 3, "u_kt": 1}), x)
    np.testing.assert_array_equal(y[:, 0], x.max(axis=1))
    assert not y[:, 1:].any()
    x = random(6, S, S)
    y = result(buda("reduce", t=2, attributes={"type": "max", "dim": "z", "z": 3}), x)
    np.testing.assert_array_equal(y, x.reshape(2, 3, S, S).max(axis=1))


def test_splice_of_matrices() -> None:
    a, b = random(4, S, S), random(2, S, S)
    attributes = {"granularity": "t", "input0": (1, 1, 1), "input1": (0, 1, 1)}
    y = result(buda("splice", t=4, attributes=attributes), a, b)
    np.testing.assert_array_equal(y, np.stack([a[1], b[0], a[3], b[1]]))


def test_splice_of_blocks() -> None:
    a, b = random(1, 4 * S, S), random(1, 2 * S, S)
    attributes = {"input0": (0, 2, 2), "input1": (0, 1, 1)}
    y = result(buda("splice", mblock=(6, 1), attributes=attributes), a, b)
    tiles = [a[0, i * S : i * S + S] for i in range(4)], [b[0, i * S : i * S + S] for i in range(2)]
    np.testing.assert_array_equal(y[0], np.concatenate([*tiles[0][:2], tiles[1][0], *tiles[0][2:], tiles[1][1]]))


def test_splice_of_blocks_by_columns() -> None:
    a, b = random(1, 2 * S, 2 * S), random(1, 2 * S, S)
    attributes = {"input0": (0, 4, 4), "input1": (0, 2, 2)}
    y = result(buda("splice", mblock=(2, 3), ublock_order="c", attributes=attributes), a, b)
    np.testing.assert_array_equal(y, np.concatenate([a, b], axis=2))


def test_depthwise() -> None:
    x, weights = random(1, 2 * S, 3 * 2 * S), random(3, 2 * S)
    tiles = diagonal_tiles(weights)[None]
    attributes = {"m_k": 3, "u_kt": 1}
    y = result(buda("depthwise", mblock=(2, 2), attributes=attributes), x, tiles)
    expected = sum(x[0, :, z * 2 * S : (z + 1) * 2 * S] * weights[z] for z in range(3))
    np.testing.assert_allclose(y[0], expected, rtol=1e-5, atol=1e-5)
    bias = random(1, 2 * S, 2 * S)
    y = result(buda("depthwise", mblock=(2, 2), attributes={**attributes, "bias": True}), x, tiles, bias)
    np.testing.assert_allclose(y[0], expected + bias[0, 0], rtol=1e-5, atol=1e-5)


def test_diagonals_end_with_the_channels() -> None:
    tiles = diagonal_tiles(np.arange(1, 41, dtype=np.float32)[None])
    assert tiles.shape == (S, 2 * S)
    assert [tiles[i % S, i] for i in range(40)] == list(range(1, 41))
    assert tiles.sum() == sum(range(1, 41))


def test_embedding(rng: np.random.Generator) -> None:
    table, indices = random(1, 2 * S, 3 * S), np.full((1, 2 * S, S), 0xFFFFFFFF, np.uint32)
    indices[0, 0, :20], indices[0, S, :20] = rng.integers(0, 2 * S, (2, 20))
    op = buda("embedding", grid=(2, 1), mblock=(1, 3), attributes={"num_indices": 32})
    y = result(op, table, indices, types=[tensor(table, tile=None), tensor(indices, "RawUInt32")])
    for core in range(2):
        np.testing.assert_array_equal(y[0, core * S : core * S + 20], table[0][indices[0, core * S, :20]])
        assert not y[0, core * S + 20 : core * S + S].any()


def test_topk(rng: np.random.Generator) -> None:
    x = rng.permutation(S * 4 * S).reshape(1, S, 4 * S).astype(np.float32)
    places = np.broadcast_to(np.arange(4 * S, dtype=np.uint16), x.shape)
    types = [None, tensor(places, "UInt16")]
    attributes = {"k": 32, "sort": "max", "kreduce": False, "m_k": 1, "u_kt": 4}
    np.testing.assert_array_equal(result(buda("topk", attributes=attributes), x, places, types=types), -np.sort(-x, axis=2)[..., :32])
    op = buda("topk", attributes=attributes | {"sort": "argmax"}, out_df="UInt16")
    np.testing.assert_array_equal(result(op, x, places, types=types), np.argsort(-x, axis=2)[..., :32])


def test_a_tilizer_keeps_what_it_reads() -> None:
    x = random(2, S, 2 * S)
    np.testing.assert_array_equal(result(buda("tilizer", t=2, mblock=(1, 2)), x, types=[tensor(x, tile=None)]), x)


@pytest.mark.parametrize(
    ("type_", "attributes", "shapes", "code"),
    [
        ("reduce", {"type": "sum", "dim": "c"}, [(1, S, S)], "E0503"),
        ("reduce", {"type": "max"}, [(1, S, S)], "E0402"),
        ("reduce", {"type": "max", "dim": "z", "z": 2}, [(3, S, S)], "E0401"),
        ("splice", {}, [(1, S, S)], "E0402"),
        ("splice", {"input0": (0, 1)}, [(1, S, S)], "E0402"),
        ("depthwise", {"m_k": 2}, [(1, S, S), (1, 2 * S, S)], "E0401"),
        ("embedding", {}, [(1, S, S), (1, S, S)], "E0402"),
        ("topk", {"k": 0, "sort": "max"}, [(1, S, S), (1, S, S)], "E0402"),
        ("topk", {"k": 32, "sort": "min"}, [(1, S, S), (1, S, S)], "E0402"),
    ],
)
def test_what_does_not_fit(type_: str, attributes: dict[str, Any], shapes: list[tuple[int, ...]], code: str) -> None:
    check_error(code, buda(type_, attributes=attributes), *shapes)


def test_views_before_a_maximum() -> None:
    x = random(1, 2 * S, S)
    op = buda("reduce", t=2, tms=tms(i0=[Tm("vslice", (2,))]), attributes={"type": "max", "dim": "c"})
    np.testing.assert_array_equal(result(op, x)[:, :, 0], x.reshape(2, S, S).max(axis=2))
