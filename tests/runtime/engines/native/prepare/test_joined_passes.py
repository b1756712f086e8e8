"""Elementwise jobs over the same elements: which become one, and what that computes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.engines.native.graphs import Given, Ran, normal, ran
from ttc.dialects.core.plain.functions import TensorType, Work

LEVELS = ("generic", "avx2", "avx512")


def moments(*shape: int, row: bool = False, level: str = "amx", format: str = "Float32") -> Ran:
    """What an optimizer does: several states, and all of them in the change of a parameter.  row: the gradient is one row."""
    type_ = TensorType(shape, format)

    def step(fn: str, *operands: int) -> Work:
        return Work("tile.map", operands, {"fn": fn}, (type_,))

    works = [
        step("add", 0, 3),
        step("mul", 3, 4),
        step("maximum", 1, 5),
        step("div", 4, 6),
        step("sub", 2, 7),
        step("add", 8, 6),
        step("add", 9, 4),
    ]
    gradient = normal(*shape[-1:]) if row else normal(*shape)
    given = [Given(x, format) for x in (normal(*shape), np.abs(normal(*shape)) + 1, normal(*shape), gradient)]
    return ran(works, given, level=level)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("shape", [(1,), (7,), (3, 5), (1, 1031), (33, 257), (2, 3, 17, 5)])
@pytest.mark.parametrize("row", [False, True])
def test_jobs_that_share_tensors_are_one(shape: tuple[int, ...], row: bool, level: str) -> None:
    found = moments(*shape, row=row, level=level)
    assert found.each_run == ("Passes",)
    np.testing.assert_allclose(found.native, found.reference, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("level", LEVELS)
def test_many_pieces(level: str) -> None:
    found = moments(3, 40_001, level=level)
    np.testing.assert_allclose(found.native, found.reference, rtol=1e-6, atol=1e-6)


def test_narrow_formats() -> None:
    found = moments(9, 33, format="Float16_b")
    assert found.each_run[-1] == "Passes"
    np.testing.assert_allclose(found.native, found.reference, rtol=2e-2, atol=2e-2)


def test_a_job_that_reads_other_elements_of_a_result_waits_for_all_of_it() -> None:
    type_ = TensorType((300, 40), "Float32")
    works = [
        Work("tile.map", (0, 1), {"fn": "add"}, (type_,)),
        Work("tile.slice", (2,), {"starts": (299, 0), "sizes": (300, 40), "steps": (-1, 1)}, (type_,)),
        Work("tile.map", (2, 3), {"fn": "mul"}, (type_,)),
    ]
    found = ran(works, [Given(normal(300, 40)), Given(normal(300, 40))])
    assert found.each_run == ("Eltwise", "Eltwise")
    np.testing.assert_array_equal(found.native, found.reference)


def test_jobs_over_other_elements_stay_apart() -> None:
    small, large = TensorType((40,), "Float32"), TensorType((30, 40), "Float32")
    works = [
        Work("tile.map", (0, 1), {"fn": "add"}, (small,)),
        Work("tile.map", (2, 3), {"fn": "mul"}, (large,)),
        Work("tile.map", (4, 3), {"fn": "sub"}, (large,)),
    ]
    found = ran(works, [Given(normal(40)), Given(normal(40)), Given(normal(30, 40))])
    assert found.each_run == ("Eltwise", "Eltwise")
    np.testing.assert_allclose(found.native, found.reference, rtol=1e-6)
