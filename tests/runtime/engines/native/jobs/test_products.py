"""Dimensions of products."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import sums
from tests.runtime.engines.native.graphs import Given, normal, ran
from tests.runtime.engines.native.in_float64 import product
from ttc.dialects.core.plain.functions import TensorType, Work
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.jobs.products import is_by_rows, joined


@pytest.mark.parametrize(
    ("dims", "expected"),
    [
        ([(2, 12, 0), (3, 4, 0)], [(6, 4, 0)]),
        ([(2, 12, 8), (3, 4, 0)], [(2, 12, 8), (3, 4, 0)]),
        ([(2, 24, 6), (3, 8, 2), (4, 2, 1)], [(6, 8, 2), (4, 2, 1)]),
        ([], []),
    ],
)
def test_dimensions_are_joined_where_all_tensors_walk_them_in_one_stride(
    dims: list[tuple[int, ...]], expected: list[tuple[int, ...]]
) -> None:
    assert joined(dims) == expected


@pytest.mark.parametrize("fn", ["relu", "gelu", "sigmoid"])
def test_an_activation_is_part_of_the_product(fn: str) -> None:
    works = [Work("tile.matmul", (0, 1), {"transpose_a": False, "transpose_b": False, "activation": fn}, (TensorType((9, 70), "Float32"),))]
    found = ran(works, [Given(normal(9, 8)), Given(normal(8, 70), constant=True)])
    assert found.kernels == ("PackRows", "Gemm")
    assert abs(found.native - found.reference).max() < 1e-5


@pytest.mark.parametrize("level", ["generic", "avx2", "avx512"])
@pytest.mark.parametrize("rows", [1, 2, 5, 7, 8, 13, 16, 45])
def test_few_rows_by_weights_from_memory(level: str, rows: int) -> None:
    """More bytes of weights than caches hold, which blocks of rows fetch before they multiply them."""
    a, b = normal(rows, 515), normal(515, 333)
    found = product(a, b, level=level)
    assert found.kernels == ("PackRows", "Gemm")
    a, b = a.astype(np.float64), b.astype(np.float64)
    sums.close(found.native, a @ b, np.abs(a) @ np.abs(b), 2.0**-21)
    np.testing.assert_array_equal(found.native, product(a.astype("float32"), b.astype("float32"), level=level, threads=1).native)


@settings(max_examples=12)
@given(
    rows=st.integers(2, 20),
    depth=st.integers(1400, 1480),
    columns=st.integers(129, 200),
    level=st.sampled_from(("generic", "avx2", "avx512")),
)
def test_odd_shapes_by_weights_from_memory(rows: int, depth: int, columns: int, level: str) -> None:
    a, b = normal(rows, depth), normal(depth, columns)
    found = product(a, b, level=level)
    a, b = a.astype(np.float64), b.astype(np.float64)
    sums.close(found.native, a @ b, np.abs(a) @ np.abs(b), 2.0**-21)


@pytest.mark.parametrize(
    ("level", "rows", "depth", "lines"),
    [
        ("avx512", 1, 600, 0),
        ("avx512", 2, 600, 4),
        ("avx512", 8, 600, 3),
        ("avx512", 16, 600, 2),
        ("generic", 4, 600, 1),
        ("generic", 4, 64, 0),
        ("generic", 70, 600, 0),
    ],
)
def test_kernels_fetch_weights_from_memory_for_few_rows(level: str, rows: int, depth: int, lines: int) -> None:
    if level == "avx512" and host_cpu().limited_to(level).vector_bytes != 64:
        pytest.skip("needs a CPU with AVX-512")
    assert product(normal(rows, depth), normal(depth, 768), level=level).lines == (0, lines)


@pytest.mark.parametrize(("right", "moved", "by_rows"), [(100, 200, 1), (101, 200, 0), (4096, 4096, 0)])
def test_threads_have_rows_of_their_own_where_the_right_operand_is_the_smaller_part(right: int, moved: int, by_rows: int) -> None:
    assert is_by_rows(right, moved) == by_rows


@pytest.mark.parametrize("level", ["avx2", "avx512", "amx"])
@pytest.mark.parametrize("precision", ["float32", "high"])
@pytest.mark.parametrize(("shape", "columns"), [((2, 301, 96), 144), ((3, 70, 144), 500), ((1, 600, 128), 128)])
def test_tasks_by_rows_and_by_panels_compute_every_part(shape: tuple[int, int, int], columns: int, precision: str, level: str) -> None:
    a, b = normal(*shape), normal(shape[0], shape[2], columns)
    works = [Work("tile.matmul", (0, 1), {"transpose_a": False, "transpose_b": False}, (TensorType((*shape[:2], columns), "Float32"),))]
    found = ran(works, [Given(a), Given(b, constant=True)], level=level, precision=precision, tiles=level == "amx")
    found.close(1e-6 if precision == "float32" else 1e-4)


def test_integers_of_64_bits_are_left_to_the_reference_kernel() -> None:
    works = [Work("tile.matmul", (0, 1), {"transpose_a": False, "transpose_b": False}, (TensorType((2, 2), "Int64"),))]
    found = ran(works, [Given((normal(2, 3) * 9).astype("int64"), "Int64"), Given((normal(3, 2) * 9).astype("int64"), "Int64")])
    assert [op for op, _ in found.refusals] == ["tile.matmul"]
    assert (found.native == found.reference).all()
