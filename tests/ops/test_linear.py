"""nn.matmul against torch."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ops.cases import check_batch, check_error, check_no_batch, check_op, spec
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.nn.linear import DetOp, GroupedMatmulOp, MatmulOp

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

PLAIN = {"transpose_a": False, "transpose_b": False}


def random(*shape: int, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("a", "b", "transpose_a", "transpose_b"),
    [
        ((3, 5), (5, 7), False, False),
        ((5, 3), (7, 5), True, True),
        ((2, 3, 5), (5, 7), False, False),
        ((2, 5, 3), (5, 7), True, False),
        ((4, 1, 3, 5), (2, 7, 5), False, True),
        ((1, 5), (3, 5, 1), False, False),
    ],
)
def test_products(a: tuple[int, ...], b: tuple[int, ...], transpose_a: bool, transpose_b: bool, dtype: str) -> None:
    x, y = random(*a, dtype=dtype), random(*b, dtype=dtype)
    left, right = torch.tensor(x), torch.tensor(y)
    expected = torch.matmul(left.mT if transpose_a else left, right.mT if transpose_b else right).numpy()
    tol = 1e-5 if dtype == "float32" else 1e-13
    check_op(MatmulOp, [x, y, None], {"transpose_a": transpose_a, "transpose_b": transpose_b}, expected, tol)


def test_product_of_a_view_that_is_not_contiguous() -> None:
    a, b = random(3, 4, 5).transpose(1, 0, 2), random(5, 6)
    assert np.abs(MatmulOp.evaluate(a, b, **PLAIN) - np.einsum("ijk,kl->ijl", a, b)).max() < 1e-5


def test_integers_multiply_exactly() -> None:
    a, b = np.array([[2**40, 3]]), np.array([[5], [7]])
    check_op(MatmulOp, [a, b, None], PLAIN, np.array([[5 * 2**40 + 21]]))


@pytest.mark.parametrize("bias", [(7,), (3, 1), (1,), (2, 3, 7), ()])
def test_bias_broadcasts(bias: tuple[int, ...]) -> None:
    a, b, c = random(2, 3, 5), random(5, 7), random(*bias)
    check_op(MatmulOp, [a, b, c], PLAIN, torch.tensor(a).matmul(torch.tensor(b)).add(torch.tensor(c)).numpy(), 1e-5)


@pytest.mark.parametrize(
    ("activation", "args", "function"),
    [
        ("relu", None, torch.relu),
        ("sigmoid", None, torch.sigmoid),
        ("gelu", None, torch.nn.functional.gelu),
        ("clip", (-0.5, 1.0), lambda y: y.clamp(-0.5, 1.0)),
        ("leaky_relu", (0.1,), lambda y: torch.nn.functional.leaky_relu(y, 0.1)),
        ("hard_sigmoid", (0.3, 0.4), lambda y: (0.3 * y + 0.4).clamp(0, 1)),
    ],
)
def test_activation_follows_bias(activation: str, args: tuple[float, ...] | None, function) -> None:
    a, b, c = random(4, 5), random(5, 6), random(6)
    attrs = {**PLAIN, "activation": activation} | ({} if args is None else {"activation_args": args})
    check_op(MatmulOp, [a, b, c], attrs, function(torch.tensor(a @ b + c)).numpy(), 1e-5)


def test_operands_are_not_overwritten() -> None:
    a, b, c = random(4, 5), random(5, 6), random(6)
    copies = [x.copy() for x in (a, b, c)]
    MatmulOp.evaluate(a, b, c, **PLAIN, activation="relu")
    assert all(np.array_equal(x, y) for x, y in zip((a, b, c), copies, strict=True))


@pytest.mark.parametrize(
    ("code", "operands", "attrs"),
    [
        ("E0401", [spec(3, 4), spec(5, 6), None], {}),
        ("E0401", [spec(4), spec(4, 6), None], {}),
        ("E0401", [spec(2, 3, 4), spec(3, 4, 5), None], {}),
        ("E0401", [spec(3, 4), spec(4, 6), spec(5)], {}),
        ("E0401", [spec(3, 4), spec(4, 6), spec(2, 3, 6)], {}),
        ("E0403", [spec(3, 4), spec(4, 6, dtype="float64"), None], {}),
        ("E0403", [spec(3, 4, dtype="bool"), spec(4, 6, dtype="bool"), None], {}),
        ("E0403", [spec(3, 4, dtype="int64"), spec(4, 6, dtype="int64"), None], {"activation": "relu"}),
        ("E0402", [spec(3, 4), spec(4, 6), None], {"activation": "rleu"}),
        ("E0402", [spec(3, 4), spec(4, 6), None], {"activation": "softmax"}),
        ("E0402", [spec(3, 4), spec(4, 6), None], {"activation": "is_nan"}),
        ("E0402", [spec(3, 4), spec(4, 6), None], {"activation": "add"}),
        ("E0402", [spec(3, 4), spec(4, 6), None], {"activation": "relu", "activation_args": (1.0,)}),
        ("E0402", [spec(3, 4), spec(4, 6), None], {"activation": "leaky_relu"}),
        ("E0402", [spec(3, 4), spec(4, 6), None], {"activation_args": (1.0,)}),
    ],
)
def test_errors(code: str, operands: list, attrs: dict) -> None:
    check_error(code, MatmulOp, operands, PLAIN | attrs)


def test_rows_are_samples() -> None:
    check_batch(MatmulOp, [random(6, 5), random(5, 7), random(7)], [True, False, False], PLAIN, 3, 1e-6)
    check_batch(MatmulOp, [random(6, 5), random(7, 5), random(6, 7)], [True, False, True], PLAIN | {"transpose_b": True}, 2, 1e-6)


def test_matrices_are_samples() -> None:
    check_batch(MatmulOp, [random(4, 3, 5), random(5, 7), None], [True, False, False], PLAIN, 2, 1e-6)
    check_batch(MatmulOp, [random(4, 5, 3), random(4, 5, 7), None], [True, True, False], PLAIN | {"transpose_a": True}, 2, 1e-6)
    check_batch(MatmulOp, [random(3, 5), random(4, 5, 7), None], [False, True, False], PLAIN, 4, 1e-6)


@pytest.mark.parametrize(
    ("operands", "carried", "attrs"),
    [
        ([spec(4, 5), spec(5, 7), None], [False, True, False], {}),
        ([spec(5, 4), spec(5, 7), None], [True, False, False], {"transpose_a": True}),
        ([spec(4, 5), spec(5, 7), spec(4, 7)], [True, False, False], {}),
        ([spec(4, 3, 5), spec(4, 5, 7), None], [True, False, False], {}),
        ([spec(4, 5), spec(4, 5, 7), None], [True, True, False], {}),
        ([spec(4, 1, 5), spec(2, 4, 5, 7), None], [True, False, False], {}),
    ],
)
def test_samples_mix(operands: list, carried: list[bool], attrs: dict) -> None:
    check_no_batch(MatmulOp, operands, carried, PLAIN | attrs, 4)


def test_det() -> None:
    x = np.array([[[1, 2], [3, 4]], [[2, 0], [1, 3]]], np.float32)
    check_op(DetOp, [x], {}, np.array([-2, 6], np.float32), 1e-6)
    check_op(DetOp, [x[0]], {}, np.array(-2, np.float32), 1e-6)
    check_error("E0401", DetOp, [spec(2, 3)], {})
    check_error("E0401", DetOp, [spec(2)], {})
    check_error("E0403", DetOp, [spec(2, 2, dtype="int32")], {})


@pytest.mark.parametrize("transposed", [False, True])
def test_grouped_product(transposed: bool) -> None:
    """Rows in any order; those of no group are 0, and a group may have none."""
    x, w, groups = random(6, 5), random(4, 5, 7), np.array([3, 0, 3, 9, 1, -1], np.int32)
    expected = np.stack([x[i] @ w[g] if 0 <= g < 4 else np.zeros(7) for i, g in enumerate(groups)]).astype(np.float32)
    laid = np.ascontiguousarray(w.swapaxes(1, 2)) if transposed else w
    check_op(GroupedMatmulOp, [x, laid, groups], {"transpose_w": transposed}, expected, 1e-5)


@pytest.mark.parametrize(
    ("x", "w", "groups", "code"),
    [
        (spec(6, 5), spec(4, 6, 7), spec(6, dtype="int64"), "E0401"),
        (spec(6, 5), spec(4, 5, 7), spec(5, dtype="int64"), "E0401"),
        (spec(6, 5), spec(5, 7), spec(6, dtype="int64"), "E0401"),
        (spec(6, 5), spec(4, 5, 7), spec(6), "E0403"),
    ],
)
def test_grouped_product_of_what_does_not_fit(x: Spec, w: Spec, groups: Spec, code: str) -> None:
    check_error(code, GroupedMatmulOp, [x, w, groups], {"transpose_w": False})
