"""nn.batch_norm, nn.layer_norm and nn.rms_norm against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.ops.cases import check_batch, check_error, check_no_batch, check_op, spec
from ttc.dialects.nn.gradients.check import rule_gradients
from ttc.dialects.nn.norm import BatchNormOp, BatchNormTrainingOp, LayerNormOp, RmsNormOp

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")
functional = torch.nn.functional

TOLERANCE = {"float32": 5e-6, "float64": 1e-13}


def random(*shape: int, dtype: str = "float32") -> NDArray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def statistics(channels: int, dtype: str = "float32") -> list[NDArray]:
    """scale, bias, mean and variance."""
    rng = np.random.default_rng(channels)
    return [*rng.standard_normal((3, channels)).astype(dtype), rng.uniform(0.5, 2, channels).astype(dtype)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "axis"), [((2, 5, 3, 4), 1), ((3, 4), -1), ((2, 3, 4, 5), 3), ((6,), 0)])
def test_batch_norm(shape: tuple[int, ...], axis: int, dtype: str) -> None:
    x = random(*shape, dtype=dtype)
    scale, bias, mean, var = statistics(shape[axis], dtype)
    moved = torch.tensor(np.moveaxis(x, axis, -1).reshape(-1, shape[axis]))
    rows = functional.batch_norm(moved, *map(torch.tensor, (mean, var, scale, bias)), eps=1e-3).numpy()
    expected = np.moveaxis(rows.reshape(*np.moveaxis(x, axis, -1).shape), -1, axis)
    check_op(BatchNormOp, [x, scale, bias, mean, var], {"eps": 1e-3, "axis": axis}, expected, TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "axis"), [((2, 5, 31), -1), ((2, 3, 4, 5), 2), ((7,), 0), ((3, 4), 0)])
def test_layer_norm(shape: tuple[int, ...], axis: int, dtype: str) -> None:
    x = random(*shape, dtype=dtype) * 3 + 10
    inner = shape[axis:]
    scale, bias = random(*inner, dtype=dtype), random(*inner, dtype=dtype) + 1
    given = [torch.tensor(scale), torch.tensor(bias)]
    expected = functional.layer_norm(torch.tensor(x), inner, *given, eps=1e-5).numpy()
    check_op(LayerNormOp, [x, scale, bias], {"axis": axis, "eps": 1e-5}, expected, TOLERANCE[dtype] * 4)


def test_layer_norm_without_scale_or_bias() -> None:
    x = random(4, 9)
    attrs = {"axis": 1, "eps": 1e-5}
    plain = functional.layer_norm(torch.tensor(x), (9,), eps=1e-5).numpy()
    check_op(LayerNormOp, [x, None, None], attrs, plain, 5e-6)
    check_op(LayerNormOp, [x, None, random(9)], attrs, plain + random(9), 5e-6)
    check_op(LayerNormOp, [x, random(4, 1), None], attrs, plain * random(4, 1), 5e-6)


def test_layer_norm_far_from_zero_keeps_its_variance() -> None:
    x = (np.arange(8, dtype=np.float32) + 1e4).reshape(1, 8)
    expected = functional.layer_norm(torch.tensor(x, dtype=torch.float64), (8,), eps=1e-5).numpy().astype(np.float32)
    check_op(LayerNormOp, [x, None, None], {"axis": -1, "eps": 1e-5}, expected, 1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "axis"), [((2, 5, 31), -1), ((2, 3, 4, 5), 2)])
def test_rms_norm(shape: tuple[int, ...], axis: int, dtype: str) -> None:
    x, scale = random(*shape, dtype=dtype), random(*shape[axis:], dtype=dtype)
    expected = functional.rms_norm(torch.tensor(x), shape[axis:], torch.tensor(scale), 1e-6).numpy()
    check_op(RmsNormOp, [x, scale], {"axis": axis, "eps": 1e-6}, expected, TOLERANCE[dtype])


def test_norms_leave_operands_alone() -> None:
    x, copy = random(3, 4), random(3, 4)
    RmsNormOp.evaluate(x, random(4), axis=1, eps=1e-6)
    LayerNormOp.evaluate(x, random(4), random(4), axis=1, eps=1e-6)
    BatchNormOp.evaluate(x, *statistics(4), axis=1, eps=1e-6)
    assert np.array_equal(x, copy)


@pytest.mark.parametrize(
    ("code", "operands", "axis"),
    [
        ("E0401", [spec(2, 3), *[spec(3)] * 3, spec(2)], 1),
        ("E0401", [spec(2, 3), *[spec(3)] * 3, spec(3, 1)], 1),
        ("E0403", [spec(2, 3), *[spec(3)] * 3, spec(3, dtype="float64")], 1),
        ("E0403", [spec(2, 3, dtype="int32")] + [spec(3, dtype="int32")] * 4, 1),
        ("E0412", [spec(2, 3), *[spec(3)] * 4], 2),
    ],
)
def test_errors_of_batch_norm(code: str, operands: list, axis: int) -> None:
    check_error(code, BatchNormOp, operands, {"eps": 1e-5, "axis": axis})


@pytest.mark.parametrize(
    ("code", "x", "scale", "axis"),
    [
        ("E0401", spec(2, 3), spec(2), 1),
        ("E0401", spec(2, 3), spec(1, 2, 3), 1),
        ("E0403", spec(2, 3), spec(3, dtype="float64"), 1),
        ("E0403", spec(2, 3, dtype="int64"), spec(3, dtype="int64"), 1),
        ("E0412", spec(2, 3), spec(3), -3),
    ],
)
def test_errors_of_layer_and_rms_norm(code: str, x, scale, axis: int) -> None:
    check_error(code, LayerNormOp, [x, scale, None], {"axis": axis, "eps": 1e-5})
    check_error(code, LayerNormOp, [x, None, scale], {"axis": axis, "eps": 1e-5})
    check_error(code, RmsNormOp, [x, scale], {"axis": axis, "eps": 1e-5})


def test_rows_are_samples() -> None:
    attrs = {"axis": 1, "eps": 1e-5}
    check_batch(LayerNormOp, [random(4, 3, 5), random(3, 5), random(5)], [True, False, False], attrs, 2, 1e-6)
    check_batch(RmsNormOp, [random(4, 6), random(6)], [True, False], attrs, 4, 1e-6)
    check_batch(BatchNormOp, [random(4, 6), *statistics(6)], [True] + [False] * 4, attrs, 2, 1e-6)


def test_samples_mix() -> None:
    attrs = {"axis": 0, "eps": 1e-5}
    check_no_batch(LayerNormOp, [spec(4, 3), None, None], [True, False, False], attrs, 4)
    check_no_batch(RmsNormOp, [spec(4, 3), spec(3)], [True, False], attrs, 4)
    check_no_batch(BatchNormOp, [spec(4, 3), *[spec(4)] * 4], [True] + [False] * 4, attrs, 4)
    check_no_batch(LayerNormOp, [spec(4, 3), spec(4, 3), None], [True, False, False], attrs | {"axis": 1}, 4)


@pytest.mark.parametrize(("shape", "axis"), [((6, 4), 1), ((3, 4, 5, 2), 1), ((3, 5, 4), -1)])
@pytest.mark.parametrize("unbiased", [True, False])
def test_batch_norm_in_training(shape: tuple[int, ...], axis: int, unbiased: bool, rng: np.random.Generator) -> None:
    x = rng.standard_normal(shape)
    scale, bias, mean, var = rng.standard_normal((4, 4))
    var = np.abs(var)
    attrs = {"eps": 1e-3, "axis": axis, "momentum": 0.2, "unbiased": unbiased}
    running, spread = torch.tensor(mean), torch.tensor(var)
    given = torch.tensor(np.moveaxis(x, axis, 1), requires_grad=True)
    weights = [torch.tensor(v, requires_grad=True) for v in (scale, bias)]
    y = functional.batch_norm(given, running, spread, *weights, training=True, momentum=0.2, eps=1e-3)
    axes = tuple(i for i in range(x.ndim) if i != axis % x.ndim)
    if not unbiased:
        spread = torch.tensor(0.8 * var + 0.2 * x.var(axis=axes))
    now, inverse = x.mean(axis=axes), 1 / np.sqrt(x.var(axis=axes) + 1e-3)
    expected = [np.moveaxis(y.detach().numpy(), 1, axis), now, inverse, running.numpy(), spread.numpy()]
    check_op(BatchNormTrainingOp, [x, scale, bias, mean, var], attrs, expected, 1e-12)
    cotangent = rng.standard_normal(shape)
    (y * torch.tensor(np.moveaxis(cotangent, axis, 1))).sum().backward()
    cotangents = [cotangent, None, None, None, None]
    found = rule_gradients(BatchNormTrainingOp, [x, scale, bias, mean, var], attrs, cotangents)
    wanted = [np.moveaxis(given.grad.numpy(), 1, axis), *(w.grad.numpy() for w in weights)]
    mine: Any
    for mine, reference in zip(found[:3], wanted, strict=True):
        np.testing.assert_allclose(mine, reference, atol=1e-11)
    assert found[3:] == [None, None]
