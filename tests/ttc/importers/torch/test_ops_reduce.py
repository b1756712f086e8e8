"""Reductions of PyTorch over some or all dimensions."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

from torch.nn import functional as F  # noqa: E402

from tests.ttc.importers.torch.many import agree, randn  # noqa: E402


def test_reductions() -> None:
    functions = {
        "sum": lambda x: (x.sum(), x.sum(1), x.sum((0, -1), keepdim=True), x.sum(0, dtype=torch.float64)),
        "mean": lambda x: (x.mean(), x.mean(1), x.mean((0, -1), keepdim=True)),
        "prod": lambda x: (x.prod(), x.prod(1, keepdim=True)),
        "extremes": lambda x: (x.amax((0, 1)), x.amin(), x.max(), x.min(), x.max(1), x.min(2, keepdim=True), torch.aminmax(x, dim=0)),
        "places": lambda x: (x.argmax(), x.argmin(1), x.argmax(2, keepdim=True), x.argmax(keepdim=True)),
        "spread": lambda x: (x.var(), x.var(1), x.std((0, 2), correction=0), torch.var_mean(x, 1), torch.std_mean(x, 2, keepdim=True)),
        "truth": lambda x: ((x > 0).any(), (x > 0).all(1), x.any(2, keepdim=True), (x > 0).any((0, 1))),
        "norm": lambda x: (x.norm(), x.norm(1), x.norm(3, 1), x.norm(torch.inf, 0), torch.linalg.vector_norm(x, 0, 2), x.norm(-torch.inf)),
        "logsumexp": lambda x: (x.logsumexp(1), (x * 200).logsumexp((0, 2)), torch.logsumexp(x / 0, 1)),
        "count": lambda x: (torch.count_nonzero(x > 0), torch.count_nonzero(x > 0, 1)),
        "nansum": lambda x: (torch.nansum(x / (x > 0)), torch.nanmean(x, 1)),
        "integers": lambda x: ((10 * x).int().sum(), (10 * x).int().prod(1), (10 * x).int().amax(0)),
        "of_a_number": lambda x: (x[0, 0, 0].sum(), x[0, 0, 0].amax(), x[0, 0, 0].max(0), x[0, 0, 0].argmax(0)),
        "distance": lambda x: (torch.dist(x[0], x[1], 3), torch.pdist(x[0]), F.pairwise_distance(x[0], x[1])),
    }
    agree(functions, randn(2, 3, 4))


def test_losses() -> None:
    classes = torch.tensor([1, 0, 3])
    functions = {
        "mse": F.mse_loss,
        "l1": F.l1_loss,
        "smooth_l1": F.smooth_l1_loss,
        "huber": lambda x, y: F.huber_loss(x, y, delta=0.5),
        "cross_entropy": lambda x, y: F.cross_entropy(x, classes, label_smoothing=0.1),
        "nll": lambda x, y: F.nll_loss(x.log_softmax(1), classes, weight=torch.tensor([1.0, 2, 3, 4])),
        "kl": lambda x, y: F.kl_div(x.log_softmax(1), y.softmax(1), reduction="batchmean"),
        "bce": lambda x, y: F.binary_cross_entropy(x.sigmoid(), y.sigmoid()),
        "bce_logits": lambda x, y: F.binary_cross_entropy_with_logits(x, y.sigmoid()),
        "hinge": lambda x, y: F.hinge_embedding_loss(x, y.sign()),
        "margin": lambda x, y: F.multi_margin_loss(x, classes),
        "triplet": lambda x, y: F.triplet_margin_loss(x, y, x * y),
        "cosine": lambda x, y: F.cosine_similarity(x, y),
    }
    agree(functions, randn(3, 4), randn(3, 4, seed=1))
