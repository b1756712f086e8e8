"""What tests of graphs share: PyTorch on one thread, and the same numbers each time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(threads)
