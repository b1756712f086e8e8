"""Tile manipulations that cut inputs as a result is cut: checked on arrays of tile numbers."""

from __future__ import annotations

import numpy as np
import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import TensorType
from ttc.dialects.core.plain.interpret import run
from ttc.dialects.netlist.buda.form import Tm
from ttc.dialects.netlist.buda.work.shared import WorkBuilder
from ttc.dialects.netlist.buda.work.tms import apply_tms
from ttc.dialects.netlist.model import Blocking
from ttc.exporters.buda.steps import Steps, cutting, steps_of

TILE = (32, 32)


def manipulated(x: np.ndarray, tms: tuple[Tm, ...]) -> np.ndarray:
    """x [t, rows, columns] of tiles, each a number, after tile manipulations."""
    whole = np.kron(x, np.ones((1, 32, 32), np.float32)).astype(np.float32)
    type_ = TensorType(whole.shape, "Float32", "tiles(32, 32)")
    builder = WorkBuilder((type_,))
    value = apply_tms(builder, 0, tms, TILE)
    if value == 0:
        return x
    shape = builder.shape(value)
    return run(builder.finish(value, TensorType(shape, "Float32", "tiles(32, 32)"), ()), [whole])[0][:, ::32, ::32]


def numbers(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


@pytest.mark.parametrize("steps", [Steps(2, 1), Steps(1, 3), Steps(2, 3)])
def test_what_is_cut_is_put_together(steps: Steps) -> None:
    x = numbers(2, 4, 6)
    cut = manipulated(x, cutting("add", 0, steps, 2, 1))
    assert cut.shape == (2 * steps.rows * steps.columns, 4 // steps.rows, 6 // steps.columns)
    np.testing.assert_array_equal(manipulated(cut, steps.restoring()), x)


@pytest.mark.parametrize("steps", [Steps(2, 1), Steps(1, 3)])
@pytest.mark.parametrize(("t", "groups"), [(1, 1), (2, 1), (1, 5)])
def test_products_of_parts_are_parts_of_the_product(steps: Steps, t: int, groups: int) -> None:
    a, b = numbers(t * groups, 4, 3) % 7, numbers(t * groups, 3, 6) % 5
    left, right = (manipulated(x, cutting("matmul", i, steps, t, groups)) for i, x in enumerate((a, b)))
    parts = (left @ right).reshape(-1, groups, 4 // steps.rows, 6 // steps.columns).sum(axis=1)
    whole = (a @ b).reshape(t, groups, 4, 6).sum(axis=1)
    np.testing.assert_array_equal(manipulated(parts, steps.restoring()), whole)


@pytest.mark.parametrize("steps", [Steps(2, 1), Steps(1, 3)])
def test_maxima_along_matrices(steps: Steps) -> None:
    x = np.random.default_rng(1).permutation(120).reshape(5, 4, 6).astype(np.float32)
    parts = manipulated(x, cutting("reduce", 0, steps, 1, 5)).reshape(-1, 5, 4 // steps.rows, 6 // steps.columns).max(axis=1)
    np.testing.assert_array_equal(manipulated(parts, steps.restoring())[0], x.max(axis=0))


def test_what_cannot_be_cut() -> None:
    for type_, steps, t, groups in (("matmul", Steps(2, 1), 2, 3), ("depthwise", Steps(1, 2), 1, 1), ("embedding", Steps(2, 1), 1, 1)):
        with pytest.raises(Error) as error:
            cutting(type_, 0, steps, t, groups)
        assert error.value.code == "E0503"


def test_steps_that_blocks_imply() -> None:
    type_ = TensorType((2, 128, 192), "Float32", "tiles(32, 32)")
    assert steps_of(type_, (2, 3), Blocking(2, (1, 1), (2, 2))) == Steps()
    assert steps_of(type_, (1, 3), Blocking(4, (1, 1), (2, 2))) == Steps(2, 1)
    with pytest.raises(Error) as error:
        steps_of(type_, (3, 1), Blocking(2, (2, 6), (1, 1)))
    assert error.value.code == "E0503"
