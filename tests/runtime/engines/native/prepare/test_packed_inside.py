"""Products that pack their right operands themselves: which do, and what they compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.engines.native.graphs import Given, Ran, normal, ran
from ttc.dialects.core.plain.functions import TensorType, Work

LEVELS = ("generic", "avx2", "avx512")


def product(rows: int, depth: int, columns: int, *, flipped: bool = False, constant: bool = False, **how: Any) -> Ran:
    """A product of random matrices.  flipped: the right one is stored by columns."""
    right = normal(columns, depth) if flipped else normal(depth, columns)
    attrs = {"transpose_a": False, "transpose_b": flipped}
    works = [Work("tile.matmul", (0, 1), attrs, (TensorType((rows, columns), "Float32"),))]
    return ran(works, [Given(normal(rows, depth)), Given(right, constant=constant)], **how)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize(("rows", "depth", "columns"), [(7, 129, 1027), (64, 300, 1024), (1, 65, 2000), (13, 1100, 1025)])
def test_sums_are_those_of_the_reference(rows: int, depth: int, columns: int, flipped: bool, level: str) -> None:
    found = product(rows, depth, columns, flipped=flipped, level=level)
    assert found.each_run == ("PackingGemm",)
    found.close(1e-6)


@pytest.mark.parametrize("format", ["Float16_b", "Float16"])
@pytest.mark.parametrize("flipped", [False, True])
def test_halves_are_widened(format: str, flipped: bool) -> None:
    right = normal(1030, 140) if flipped else normal(140, 1030)
    attrs = {"transpose_a": False, "transpose_b": flipped}
    works = [Work("tile.matmul", (0, 1), attrs, (TensorType((9, 1030), "Float32"),))]
    found = ran(works, [Given(normal(9, 140)), Given(right, format)], level="avx2")
    assert found.each_run[-1] == "PackingGemm"
    found.close(1e-6)


def test_threads_compute_the_same() -> None:
    works = [Work("tile.matmul", (0, 1), {"transpose_a": False, "transpose_b": False}, (TensorType((20, 1024), "Float32"),))]
    given = [Given(normal(20, 256)), Given(normal(256, 1024))]
    one, three = (ran(works, given, threads=threads).native for threads in (1, 3))
    assert np.array_equal(one, three)


@pytest.mark.parametrize(
    ("rows", "depth", "columns", "constant", "kernels"),
    [
        (64, 300, 1024, True, ("Gemm",)),
        (64, 32, 256, False, ("PackRows", "Gemm")),
        (64, 4000, 64, False, ("PackRows", "Gemm")),
        (4, 9000, 1024, False, ("PackRows", "Gemm")),
    ],
    ids=["constants are packed once", "small operands", "few panels", "panels beyond the second-level cache"],
)
def test_what_keeps_a_job_of_its_own(rows: int, depth: int, columns: int, constant: bool, kernels: tuple[str, ...]) -> None:
    found = product(rows, depth, columns, constant=constant, level="avx2")
    assert found.each_run == kernels
    found.close(1e-6)


def test_a_panel_that_two_products_read_is_packed_once() -> None:
    attrs = {"transpose_a": False, "transpose_b": False}
    kind = TensorType((8, 1024), "Float32")
    works = [Work("tile.matmul", (0, 1), attrs, (kind,)), Work("tile.matmul", (2, 1), attrs, (TensorType((8, 1024), "Float32"),))]
    square = normal(1024, 1024)
    found = ran(works, [Given(normal(8, 1024)), Given(square)], level="avx2")
    assert found.each_run == ("PackRows", "Gemm", "Gemm")
    found.close(1e-5)
