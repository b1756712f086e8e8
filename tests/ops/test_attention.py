"""nn.attention, as training computes it too, and its gradient, against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.ops.cases import check_batch, check_error, check_no_batch, check_op, spec
from ttc.dialects.core.kernels import attend
from ttc.dialects.nn.attention import AttentionGradientOp, AttentionOp, AttentionTrainingOp

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


def sums_by_torch(q: NDArray, k: NDArray, mask: NDArray | None, lead: tuple[int, ...]) -> NDArray:
    scores = torch.tensor(q) @ torch.tensor(k).mT * 0.25
    found = torch.logsumexp(scores if mask is None else scores + torch.tensor(mask), -1)
    return found.expand(*lead, q.shape[-2]).numpy()


@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize(("dtype", "tol"), [("float32", 3e-6), ("float64", 1e-13)])
def test_sums_beside_the_result(shapes: tuple[tuple[int, ...], ...], dtype: str, tol: float) -> None:
    q, k, v, mask = (random(*s, dtype=dtype) for s in shapes)
    for given in (mask, None):
        y = by_torch(q, k, v, given, 0.25)
        check_op(AttentionTrainingOp, [q, k, v, given], ATTRS, [y, sums_by_torch(q, k, given, y.shape[:-2])], tol)


@pytest.mark.parametrize("zero_masked", [False, True])
def test_sums_of_masked_rows(zero_masked: bool) -> None:
    q, k, v, mask = masked_operands()
    y, sums = by_torch(q, k, v, mask, 0.25), sums_by_torch(q, k, mask, (2,)).copy()
    y[:, 1] = sums[:, 1] = 0 if zero_masked else np.nan
    check_op(AttentionTrainingOp, [q, k, v, mask], ATTRS | {"zero_masked": zero_masked}, [y, sums], 3e-6)


@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize(("dtype", "tol"), [("float32", 1e-5), ("float64", 1e-13)])
def test_gradient(shapes: tuple[tuple[int, ...], ...], dtype: str, tol: float) -> None:
    q, k, v, mask = (random(*s, dtype=dtype) for s in shapes)
    for given in (mask, None):
        y = by_torch(q, k, v, given, 0.25)
        dy = random(*y.shape, dtype=dtype) + 1
        wide = [torch.tensor(x).expand(*y.shape[:-2], *x.shape[-2:]).requires_grad_() for x in (q, k, v)]
        scores = wide[0] @ wide[1].mT * 0.25
        found = torch.softmax(scores if given is None else scores + torch.tensor(given), -1) @ wide[2]
        expected = [x.numpy() for x in torch.autograd.grad(found, wide, torch.tensor(dy))]
        operands = [q, k, v, y, sums_by_torch(q, k, given, y.shape[:-2]).copy(), dy, given]
        check_op(AttentionGradientOp, operands, {"scale": 0.25}, expected, tol)


def test_gradient_of_masked_rows() -> None:
    """Rows that are masked entirely give nothing to any gradient, where they give zeros."""
    q, k, v, mask = masked_operands()
    y = np.nan_to_num(by_torch(q, k, v, mask, 0.25))
    sums = sums_by_torch(q, k, mask, (2,)).copy()
    sums[:, 1] = 0
    dy = np.ones_like(y)
    dq, dk, dv = AttentionGradientOp.evaluate(q, k, v, y, sums, dy, mask, scale=0.25)
    kept = [0, 2]
    without = AttentionGradientOp.evaluate(q[:, kept], k, v, y[:, kept], sums[:, kept], dy[:, kept], mask[kept], scale=0.25)
    assert not dq[:, 1].any()
    for found, wanted in zip((dq[:, kept], dk, dv), without, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_gradient_of_blocks_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    operands = [random(3, 5, 4), random(3, 7, 4), random(3, 7, 2), random(3, 5, 2), random(3, 5), random(3, 5, 2), random(5, 7)]
    whole = AttentionGradientOp.evaluate(*operands, scale=0.25)
    monkeypatch.setattr(attend, "_SCORES_BYTES", 2 * 3 * 7 * 4)
    for found, wanted in zip(AttentionGradientOp.evaluate(*operands, scale=0.25), whole, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("code", "changed"),
    [
        ("E0401", {3: spec(3, 5)}),
        ("E0401", {4: spec(4)}),
        ("E0401", {5: spec(2, 3, 4)}),
        ("E0401", {6: spec(2, 3, 5)}),
        ("E0403", {3: spec(3, 4, dtype="float16")}),
        ("E0403", {4: spec(3, dtype="float64")}),
    ],
)
def test_errors_of_gradients(code: str, changed: dict[int, Any]) -> None:
    operands = [spec(3, 4), spec(5, 4), spec(5, 4), spec(3, 4), spec(3), spec(3, 4), None]
    check_error(code, AttentionGradientOp, [changed.get(i, x) for i, x in enumerate(operands)], {"scale": 1.0})
