"""Cost tables of the architectures."""

from __future__ import annotations

import pytest

from ttc.dialects.core.targets import arch_names
from ttc.runtime.perf.base import costs


@pytest.mark.parametrize(
    ("arch", "product", "add", "tanh", "pipe"),
    [
        ("wormhole_b0", 16.0, 49.6, 204.1, 28.0),
        ("grayskull", 36.0, 50.4, 204.1, 28.0),  # tanh was measured on Wormhole alone
        ("blackhole", 16.0, 49.6, 204.1, 56.0),
        ("unheard_of", 16.0, 49.6, 204.1, 28.0),
    ],
)
def test_costs(arch: str, product: float, add: float, tanh: float, pipe: float) -> None:
    table = costs(arch)
    assert (table["matmul"]["product"], table["map"]["add"]["tile"], table["map"]["tanh"]["tile"]) == (product, add, tanh)
    assert table["pipe_bytes_per_cycle"] == pipe


def test_every_architecture_has_every_cost() -> None:
    usual = costs("wormhole_b0")
    for arch in arch_names():
        assert costs(arch).keys() == usual.keys()
        assert costs(arch)["map"].keys() == usual["map"].keys()
