"""nn.attention against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.ops.cases import check_batch, check_error, check_no_batch, check_op, spec
from ttc.dialects.core.kernels import attend
from ttc.dialects.nn.attention import AttentionOp

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

ATTRS = {"scale": 0.25, "zero_masked": False}


def random(*shape: int, dtype: str = "float32") -> NDArray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def by_torch(q: NDArray, k: NDArray, v: NDArray, mask: NDArray | None, scale: float) -> NDArray:
    """Written out: NaN for rows that are masked entirely."""
    scores = torch.tensor(q) @ torch.tensor(k).mT * scale
    return (torch.softmax(scores if mask is None else scores + torch.tensor(mask), -1) @ torch.tensor(v)).numpy()


SHAPES = {
    "heads": ((2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 6), (2, 1, 5, 7)),
    "rank 2": ((5, 4), (7, 4), (7, 2), (5, 7)),
    "rank 3, mask of columns": ((3, 5, 4), (3, 7, 4), (3, 7, 4), (1, 7)),
    "mask of rank 1": ((3, 5, 4), (3, 7, 4), (3, 7, 4), (7,)),
    "shared keys": ((2, 3, 5, 4), (2, 1, 7, 4), (2, 1, 7, 6), (1, 3, 5, 1)),
    "values alone have heads": ((5, 4), (7, 4), (2, 7, 6), (2, 5, 7)),
    "one position": ((2, 1, 4), (2, 1, 4), (2, 1, 4), (2, 1, 1)),
}


@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize(("dtype", "tol"), [("float32", 3e-6), ("float64", 1e-13)])
def test_shapes(shapes: tuple[tuple[int, ...], ...], dtype: str, tol: float) -> None:
    q, k, v, mask = (random(*s, dtype=dtype) for s in shapes)
    check_op(AttentionOp, [q, k, v, mask], ATTRS, by_torch(q, k, v, mask, 0.25), tol)
    check_op(AttentionOp, [q, k, v, None], ATTRS, by_torch(q, k, v, None, 0.25), tol)


@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
def test_blocks_of_rows_cover_the_result(shapes: tuple[tuple[int, ...], ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attend, "_SCORES_BYTES", 2 * 6 * 7 * 4)
    q, k, v, mask = (random(*s) for s in shapes)
    check_op(AttentionOp, [q, k, v, mask], ATTRS, by_torch(q, k, v, mask, 0.25), 3e-6)


def masked_operands() -> list[NDArray]:
    mask = np.zeros((3, 4), np.float32)
    mask[0, 2:] = -np.inf
    mask[1] = -np.inf
    return [random(2, 3, 5), random(2, 4, 5), random(2, 4, 6), mask]


def test_masked_rows_are_nan() -> None:
    expected = by_torch(*masked_operands(), 0.25)  # pyright: ignore[reportCallIssue]
    assert np.isnan(expected[:, 1]).all()
    check_op(AttentionOp, masked_operands(), ATTRS, expected, 3e-6)


def test_masked_rows_are_zero_on_demand() -> None:
    q, k, v, mask = map(torch.tensor, masked_operands())
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, mask, scale=0.25).numpy()
    assert not expected[:, 1].any()
    check_op(AttentionOp, masked_operands(), ATTRS | {"zero_masked": True}, expected, 3e-6)


def test_large_scores_do_not_overflow() -> None:
    q, k, v = random(3, 4) * 100, random(5, 4) * 100, random(5, 2)
    check_op(AttentionOp, [q, k, v, None], ATTRS | {"scale": 1.0}, by_torch(q, k, v, None, 1.0), 1e-5)


@pytest.mark.parametrize(
    ("code", "operands"),
    [
        ("E0401", [spec(3, 4), spec(5, 6), spec(5, 4), None]),
        ("E0401", [spec(3, 4), spec(5, 4), spec(6, 4), None]),
        ("E0401", [spec(4), spec(5, 4), spec(5, 4), None]),
        ("E0401", [spec(2, 3, 4), spec(3, 5, 4), spec(5, 4), None]),
        ("E0401", [spec(3, 4), spec(5, 4), spec(5, 4), spec(3, 4)]),
        ("E0401", [spec(3, 4), spec(5, 4), spec(5, 4), spec(2, 3, 5)]),
        ("E0403", [spec(3, 4), spec(5, 4), spec(5, 4), spec(3, 5, dtype="bool")]),
        ("E0403", [spec(3, 4, dtype="int32"), spec(5, 4, dtype="int32"), spec(5, 4, dtype="int32"), None]),
    ],
)
def test_errors(code: str, operands: list[Any]) -> None:
    check_error(code, AttentionOp, operands, ATTRS)


@pytest.mark.parametrize(("mask", "carries"), [((4, 5, 7), True), ((1, 5, 7), False), ((5, 7), False)])
def test_heads_are_samples(mask: tuple[int, ...], carries: bool) -> None:
    operands = [random(4, 5, 3), random(4, 7, 3), random(4, 7, 2), random(*mask)]
    check_batch(AttentionOp, operands, [True, True, True, carries], ATTRS, 2, 1e-6)


def test_samples_mix() -> None:
    q, k, v = spec(4, 5, 3), spec(4, 7, 3), spec(4, 7, 2)
    check_no_batch(AttentionOp, [q, k, v, spec(4, 5, 7)], [True, True, True, False], ATTRS, 4)
    check_no_batch(AttentionOp, [q, k, v, None], [True, False, True, False], ATTRS, 4)
    check_no_batch(AttentionOp, [spec(5, 3), spec(5, 3), spec(5, 2), None], [True, True, True, False], ATTRS, 5)
