"""Order, running values and counts of PyTorch."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")


from tests.ttc.importers.torch.many import agree, randn  # noqa: E402


def test_order() -> None:
    functions = {
        "topk": lambda x: (x.topk(2), x.topk(2, 0, largest=False)),
        "sort": lambda x: (
            x.sort(),
            x.sort(0, descending=True),
            x.argsort(1),
            torch.sort(x.int(), stable=True),
            torch.sort(x > 0, dim=1, stable=True)[0],
        ),
        "kth": lambda x: (x.kthvalue(2), x.kthvalue(1, 0, keepdim=True), x.median(), x.median(1), x.nanmedian(0)),
        "with_nan": lambda x: (torch.where(x > 1, torch.nan, x).median(1), torch.where(x > 0, torch.nan, x).nanmedian(1)[0]),
        "mode": lambda x: x.round().mode(1)[0],
        "quantile": lambda x: (x.quantile(0.3), x.quantile(torch.tensor([0.25, 0.5]), 1)),
        "of_a_number": lambda x: (x[0, 0].topk(1), x[0, 0].sort()),
    }
    agree(functions, randn(3, 5))


def test_running() -> None:
    functions = {
        "sums": lambda x: (x.cumsum(1), x.cumprod(0), x.int().cumsum(1), x.logcumsumexp(1), torch.cumulative_trapezoid(x)),
        "extremes": lambda x: (x.cummax(1), x.cummin(0), x.round().cummax(1)),
        "counts": lambda x: (torch.histc(x, 4, -1, 1), torch.histc(x, 3)),
        "segments": lambda x: (
            torch.segment_reduce(x, "mean", lengths=torch.tensor([1, 0, 2])),
            torch.segment_reduce(x, "max", offsets=torch.tensor([0, 2, 3]), initial=0.5),
        ),
        "differences": lambda x: (x.diff(), torch.gradient(x, dim=1)),
    }
    agree(functions, randn(3, 5))
