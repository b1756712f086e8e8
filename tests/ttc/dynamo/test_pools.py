"""The gradient of a max pool without places, against PyTorch's with them."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

import ttc.dynamo.pools  # noqa: E402, F401  # pyright: ignore[reportUnusedImport]
from tests.ttc.importers.torch.single_op import check, randn  # noqa: E402

CASES = [
    ((2, 3, 8, 7), (3, 2), (2, 2), (1, 0), (1, 1), True),
    ((1, 2, 6, 6), (2, 2), [], (0, 0), (1, 1), False),
    ((1, 1, 9, 8), (3, 3), (1, 1), (1, 1), (2, 2), False),
    ((2, 8, 7), (1, 2), (1, 2), (0, 0), (1, 1), False),
]


@pytest.mark.parametrize("case", CASES)
def test_as_pytorch(case: tuple[tuple[int, ...], ...]) -> None:
    shape, *settings = case
    x = randn(*shape)
    y = torch.ops.aten.max_pool2d_with_indices(x, *settings)[0]
    check(torch.ops.ttc.max_pool2d_backward.default, randn(*y.shape), x, *settings)


def test_of_equal_numbers_the_first_counts() -> None:
    settings = (3, 3), (1, 1), (0, 0), (1, 1), False
    check(torch.ops.ttc.max_pool2d_backward.default, randn(1, 1, 2, 2), torch.ones(1, 1, 4, 4), *settings)
