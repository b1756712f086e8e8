"""Copies that several steps read: made once where they follow each other."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.engines.native.graphs import Given, Ran, normal, ran
from ttc.dialects.core.plain.functions import TensorType, Work
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.prepare import shared_copies


def read_twice(second: tuple[int, ...] = (1, 0)) -> Ran:
    """A matrix in columns that two elementwise jobs read, between products that keep these apart.  second: its order in the second."""
    type_ = TensorType((40, 40), "Float32")
    product = {"transpose_a": False, "transpose_b": False}
    works = [
        Work("tile.transpose", (0,), {"perm": (1, 0)}, (type_,)),
        Work("tile.map", (3, 1), {"fn": "add"}, (type_,)),
        Work("tile.matmul", (4, 2), product, (type_,)),
        Work("tile.transpose", (0,), {"perm": second}, (type_,)),
        Work("tile.map", (6, 5), {"fn": "mul"}, (type_,)),
        Work("tile.matmul", (7, 2), product, (type_,)),
    ]
    return ran(works, [Given(normal(40, 40)), Given(normal(40, 40)), Given(normal(40, 40), constant=True)])


def test_a_copy_is_made_once() -> None:
    found = read_twice()
    assert (found.kernels.count("Transpose"), found.each_run.count("Transpose")) == (2, 1)
    np.testing.assert_allclose(found.native, found.reference, rtol=1e-4, atol=1e-3)


def test_another_order_is_another_copy() -> None:
    found = read_twice((0, 1))
    assert found.each_run.count("Transpose") == 1 == found.kernels.count("Transpose")
    np.testing.assert_allclose(found.native, found.reference, rtol=1e-4, atol=1e-3)


def test_copies_far_apart_are_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_copies, "MOST_STEPS", 1)
    assert read_twice().each_run.count("Transpose") == 2


def panels_of_products(count: int) -> Ran:
    """Products of a matrix that comes in with results of each other, so many."""
    type_ = TensorType((40, 40), "Float32")
    product = {"transpose_a": False, "transpose_b": False}
    works = [Work("tile.matmul", (0 if n == 0 else n + 1, 1), product, (type_,)) for n in range(count)]
    return ran(works, [Given(normal(40, 40)), Given(normal(40, 40))])


def test_panels_are_packed_once_for_products_in_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_copies, "MOST_STEPS", 3)  # from reader to reader: a row of them may be longer
    found = panels_of_products(5)
    assert (found.kernels.count("PackRows"), found.each_run.count("PackRows")) == (5, 1)
    np.testing.assert_allclose(found.native, found.reference, rtol=1e-3, atol=1e-1)


@pytest.mark.parametrize(
    ("precision", "tiles", "kernel"), [("float32", True, "SplitRows"), ("high", True, "SplitRows"), ("high", False, "ScaleRows")]
)
def test_rows_are_rewritten_once_for_products_of_the_same(precision: str, tiles: bool, kernel: str) -> None:
    if not tiles and not host_cpu().has("avx2"):
        pytest.skip("needs a CPU with AVX2")
    type_ = TensorType((70, 400), "Float32")
    works = [Work("tile.map", (0, 0), {"fn": "add"}, (type_,))]
    works += [Work("tile.matmul", (4, weights), {"transpose_a": False, "transpose_b": False}, (type_,)) for weights in (1, 2, 3)]
    works += [Work("tile.map", (5, 6), {"fn": "mul"}, (type_,)), Work("tile.map", (8, 7), {"fn": "add"}, (type_,))]
    weights = [Given(normal(400, 400), constant=True) for _ in range(3)]
    found = ran(works, [Given(normal(70, 400)), *weights], precision=precision, tiles=tiles, level="amx" if tiles else "avx2")
    assert (found.kernels.count(kernel), found.each_run.count(kernel)) == (3, 1)
    found.close(2.0**-12)
