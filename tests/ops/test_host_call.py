"""nn.host_call calls functions of Python that the process knows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.ops.cases import check_error, spec
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.nn.host_call import HostCallOp
from ttc.dialects.nn.kernels.host_call import FUNCTIONS, host_call, type_text

TYPES = ("float32:3x4", "int64:")


def _parts(xs: list[NDArray], count: int) -> list[NDArray]:
    if not xs[0].any():
        raise ValueError("nothing to do")
    return [xs[0] * count, np.array(xs[0].size)] if xs[0].ndim == 2 else [xs[0]]


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    FUNCTIONS["parts"] = _parts  # pyright: ignore[reportArgumentType] - a list of arrays is a sequence
    FUNCTIONS["numbers"] = lambda xs, count: [1.0]  # pyright: ignore[reportArgumentType] - which is no array
    yield
    del FUNCTIONS["parts"], FUNCTIONS["numbers"]


def test_it_gives_what_the_function_gives(rng: np.random.Generator) -> None:
    x = rng.standard_normal((3, 4)).astype(np.float32)
    y, size = host_call(x, function="parts", count=1, types=TYPES)
    np.testing.assert_array_equal(y, x)
    assert size == 12
    assert HostCallOp.infer(spec(3, 4), function="parts", count=1, types=TYPES) == (spec(3, 4), Spec((), np.dtype(np.int64)))


@pytest.mark.parametrize(
    ("function", "x", "words"),
    [
        ("others", np.ones((3, 4), np.float32), "is not known in this process"),
        ("parts", np.zeros((3, 4), np.float32), "failed: ValueError: nothing to do"),
        ("numbers", np.ones((3, 4), np.float32), "gives float64:, and gave"),
        ("parts", np.ones(5, np.float32), "gives float32:5, and gave float32:3x4, int64:"),
    ],
)
def test_functions_that_fail(function: str, x: NDArray, words: str) -> None:
    with pytest.raises(Error, match=words) as raised:
        host_call(x, function=function, count=1, types=TYPES)
    assert raised.value.code == "E0815"


def test_errors() -> None:
    check_error("E0402", HostCallOp, [spec(2, 3)], {"function": "f", "count": 2, "types": ()})
    wrong = ("float33:2", "float32", "float32:-5x3", "object:3", "S4:2", "(2,)f4:3", "float32:1_0", "float32:3xx4", f"float32:{'9' * 13}")
    for text in wrong:
        check_error("E0402", HostCallOp, [spec(2, 3)], {"function": "f", "count": 1, "types": (text,)})
    assert type_text(np.dtype(np.float32), (2, 3)) == "float32:2x3"
