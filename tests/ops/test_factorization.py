"""Ops that solve equations and factor matrices, against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

from tests.draws import rng_of_test
from tests.ops.cases import check_op, run_op
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.nn.factorization import CholeskyOp, EighOp, LuOp, QrOp, SolveOp, SvdOp

torch = pytest.importorskip("torch", reason="the reference is PyTorch's")


def matrices(*shape: int) -> np.ndarray:
    return rng_of_test().standard_normal(shape).astype(np.float32)


def symmetric(*lead: int, n: int = 4) -> np.ndarray:
    x = matrices(*lead, n, n)
    return x @ x.swapaxes(-1, -2) + np.eye(n, dtype=np.float32)


def test_solve() -> None:
    a, x = matrices(2, 4, 4), matrices(2, 4, 3)
    check_op(SolveOp, [a, x], {}, torch.linalg.solve(torch.tensor(a), torch.tensor(x)).numpy(), 1e-4)
    with pytest.raises(Error) as raised:
        run_op(SolveOp, [np.zeros((2, 2), np.float32), matrices(2, 1)], {})
    assert raised.value.code == "E0802"
    with pytest.raises(Error, match="do not fit") as raised:
        SolveOp.infer(Spec((4, 4), a.dtype), Spec((3, 1), a.dtype))
    assert raised.value.code == "E0401"


def test_cholesky() -> None:
    x = symmetric(3)
    check_op(CholeskyOp, [x], {}, torch.linalg.cholesky(torch.tensor(x)).numpy(), 1e-5)
    with pytest.raises(Error) as raised:
        run_op(CholeskyOp, [-x], {})
    assert raised.value.code == "E0802"


@pytest.mark.parametrize("shape", [(5, 3), (2, 3, 5)])
@pytest.mark.parametrize("complete", [False, True])
def test_qr(shape: tuple[int, ...], complete: bool) -> None:
    x = matrices(*shape)
    expected = torch.linalg.qr(torch.tensor(x), mode="complete" if complete else "reduced")
    check_op(QrOp, [x], {"complete": complete}, [e.numpy() for e in expected], 1e-5)


@pytest.mark.parametrize("shape", [(4, 4), (2, 5, 3), (3, 5)])
def test_lu(shape: tuple[int, ...]) -> None:
    x = matrices(*shape)
    check_op(LuOp, [x], {}, [e.numpy() for e in torch.linalg.lu_factor(torch.tensor(x))], 1e-5)


def test_lu_of_a_matrix_without_inverse() -> None:
    y, pivots = run_op(LuOp, [np.zeros((2, 2), np.float32)], {})
    np.testing.assert_array_equal(y, np.zeros((2, 2)))
    np.testing.assert_array_equal(pivots, [1, 2])


@pytest.mark.parametrize("full", [False, True])
def test_svd(full: bool) -> None:
    x = matrices(2, 5, 3)
    u, s, v = run_op(SvdOp, [x], {"full": full})
    np.testing.assert_allclose(s, torch.linalg.svdvals(torch.tensor(x)).numpy(), atol=1e-5)
    assert u.shape == ((2, 5, 5) if full else (2, 5, 3))
    np.testing.assert_allclose(u[..., :3] * s[:, None] @ v, x, atol=1e-5)


def test_eigh() -> None:
    x = symmetric(2)
    y, v = run_op(EighOp, [np.tril(x)], {})
    np.testing.assert_allclose(y, torch.linalg.eigvalsh(torch.tensor(x)).numpy(), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(x @ v, v * y[:, None], atol=1e-4)
    with pytest.raises(Error, match="square") as raised:
        EighOp.infer(Spec((2, 3), x.dtype))
    assert raised.value.code == "E0401"
