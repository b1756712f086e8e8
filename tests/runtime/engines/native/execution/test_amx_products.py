"""Products in tiles are what numpy finds, or it is noticed."""

from __future__ import annotations

import pytest

from tests.runtime.engines.native.graphs import emulated_tiles
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.execution import amx_products
from ttc.runtime.engines.native.execution.amx_products import multiplies_right

pytestmark = pytest.mark.skipif(host_cpu().arch != "x86-64", reason="runs code")


def test_a_product_is_right() -> None:
    assert multiplies_right(emulated_tiles(), None)


@pytest.mark.parametrize("name", ["_product", "_product_of_bytes"])
def test_a_wrong_product_is_found(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    own = getattr(amx_products, name)
    monkeypatch.setattr(amx_products, name, lambda *rest: own(*rest) + 1)
    assert not multiplies_right(emulated_tiles(), None)
