"""The weight store: copies that share weights."""

from __future__ import annotations

import numpy as np

from ttc.dialects.core.plain.weights import WeightStore


def test_a_copy_gets_weights_of_its_own() -> None:
    store = WeightStore()
    store.add_array("a", np.ones(2, np.float32))
    copy = store.copy()
    copy.add_array("b", np.ones(3, np.float32))
    assert list(store) == ["a"]
    assert list(copy) == ["a", "b"]
    assert copy["a"] is store["a"]
