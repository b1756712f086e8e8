"""Products of matrices, and attention, of PyTorch."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

from torch.nn import functional as F  # noqa: E402

from tests.ttc.importers.torch.many import agree, randn  # noqa: E402


def test_products() -> None:
    functions = {
        "linear": lambda x, y: F.linear(x, y, torch.arange(5.0)),
        "linear_vector": lambda x, y: F.linear(x[0, 0], y),
        "linear_row": lambda x, y: F.linear(x, y[0]),
        "matmul": lambda x, y: x @ y.T,
        "bmm": lambda x, y: torch.bmm(x, x.mT),
        "mm": lambda x, y: torch.mm(y, y.T),
        "mv": lambda x, y: torch.mv(y, y[0]),
        "dot": lambda x, y: torch.dot(y[0], y[1]),
        "addmm_bias": lambda x, y: torch.addmm(torch.arange(5.0), x[0], y.T),
        "addmm": lambda x, y: torch.addmm(x[0, :, :1], x[0], y.T, beta=0.5, alpha=2.0),
        "baddbmm": lambda x, y: torch.baddbmm(x[:, :, :3], x, x.mT, beta=0.0),
        "addbmm": lambda x, y: torch.addbmm(y[:3, :3], x, x.mT, alpha=0.5),
        "addmv": lambda x, y: torch.addmv(y[:, 0], y, y[0]),
        "outer": lambda x, y: torch.outer(y[0], y[1]),
        "outer_of_two_dtypes": lambda x, y: torch.outer(y[0], torch.arange(3)),
        "outer_of_truth_values": lambda x, y: torch.outer(y[0] > 0, y[1] > 0),
        "addr": lambda x, y: torch.addr(y, y[:, 0], y[0]),
        "einsum": lambda x, y: torch.einsum("bij,kj->bki", x, y),
        "einsum_diagonal": lambda x, y: torch.einsum("ii->i", y[:4, :4]),
        "integers": lambda x, y: (10 * y).int() @ (10 * y).int().T,
        "tensordot": lambda x, y: torch.tensordot(x, y, dims=([2], [1])),
        "cross": lambda x, y: torch.linalg.cross(x[:, :, :3], x[:, :, 1:]),
        "cdist": lambda x, y: torch.cdist(x, x + 1, 3.0),
    }
    agree(functions, randn(2, 3, 4), randn(5, 4))


def test_integer_products_of_matrices_are_exact() -> None:
    x = torch.arange(12).reshape(3, 4) * 1_000_003
    agree({"product": lambda x: x @ x.T}, x)


def test_products_of_groups_of_rows() -> None:
    functions = {
        "groups": lambda x, w, ends: F.grouped_mm(x.bfloat16(), w.bfloat16(), offs=ends).float(),
        "one_group": lambda x, w, ends: F.grouped_mm(x.bfloat16(), w[:1].bfloat16(), offs=ends[2:]).float(),
        "batch": lambda x, w, ends: F.grouped_mm(w.bfloat16(), w.bfloat16()).float(),
    }
    agree(functions, randn(8, 8), randn(3, 8, 8, seed=1), torch.tensor([2, 2, 8], dtype=torch.int32), tolerance=1e-2)


def test_products_of_many_groups() -> None:
    functions = {"groups": lambda x, w, ends: F.grouped_mm(x.bfloat16(), w.bfloat16(), offs=ends).float().amax(1)}
    agree(functions, randn(128, 16), randn(16, 16, 520), torch.arange(8, 129, 8, dtype=torch.int32), tolerance=1e-2)


def test_attention() -> None:
    hidden = torch.tensor([[True, False, True, True, False]] * 3)
    functions = {
        "plain": lambda q, k: F.scaled_dot_product_attention(q, k, k),
        "causal": lambda q, k: F.scaled_dot_product_attention(q, k, k, is_causal=True),
        "scaled": lambda q, k: F.scaled_dot_product_attention(q, k, k, scale=0.3),
        "mask": lambda q, k: F.scaled_dot_product_attention(q, k, k, attn_mask=hidden),
        "term": lambda q, k: F.scaled_dot_product_attention(q, k, k, attn_mask=hidden.float()),
        "shared_heads": lambda q, k: F.scaled_dot_product_attention(q, k[:, :2], k[:, :2], enable_gqa=True),
    }
    agree(functions, randn(2, 4, 3, 8), randn(2, 4, 5, 8))
