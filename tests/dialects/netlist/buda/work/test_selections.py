"""Selections of rows as sparse products of Buda: they give the same rows, in any blocks."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain import interpret
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.netlist.buda.form import BudaOp, Tm
from ttc.dialects.netlist.buda.work import ImpliedConstant, form_of, work_of
from ttc.dialects.netlist.model import Blocking, Grid, Op

LAYOUT = "tiles(32, 32)"
S = 32
TAPS: dict[str, Any] = {
    "source": (1, 12, 12),
    "sizes": (3, 3, 1, 12, 12),
    "steps": (0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1),
    "offsets": (0, -1, -1),
    "divisors": (1, 1, 1),
    "terms": 0,
    "nearest": False,
    "shape": (9, 144, 64),
}
"""Pixels under the taps of a convolution of 3 x 3 over an image of 12 x 12 with 64 channels."""


def op_of(attrs: dict[str, Any], grid: tuple[int, int], blocking: Blocking) -> Op:
    rows, columns = prod(attrs["source"]), attrs["shape"][-1]
    x = TensorType((rows, columns), "Float32", LAYOUT)
    work = Work("tile.sparse_matmul", (0,), attrs, (TensorType(attrs["shape"], "Float32", LAYOUT),))
    return Op("taps", "sparse_matmul", ("x",), Grid(0, 0, *grid), blocking, Function((x,), (work,), (1,)), inner=(5, 1))


@pytest.mark.parametrize(
    ("changes", "grid", "blocking", "tms"),
    [
        ({}, (1, 1), Blocking(9, (5, 2), (1, 1)), {1: ["broadcast"]}),
        ({}, (5, 2), Blocking(9, (1, 1), (1, 1)), {0: ["broadcast"], 1: ["broadcast"], 2: ["broadcast"]}),
        ({}, (1, 1), Blocking(45, (1, 2), (1, 1)), {1: ["broadcast"]}),
        ({}, (1, 1), Blocking(18, (1, 1), (5, 1)), {1: ["hslice", "vstack", "broadcast"]}),
        ({"terms": 2, "shape": (144, 64)}, (1, 1), Blocking(1, (5, 2), (1, 1)), {}),
        ({"nearest": True}, (1, 2), Blocking(9, (1, 1), (5, 1)), {0: ["broadcast"], 1: ["broadcast"], 2: ["broadcast"]}),
        ({"sizes": (1, 24, 24), "steps": (1, 0, 0, 0, 1, 0, 0, 0, 1), "offsets": (0, 0, 0), "divisors": (1, 2, 2), "shape": (576, 64)},
         (3, 1), Blocking(1, (3, 2), (2, 1)), {}),
    ],
)  # fmt: skip
def test_rows(
    changes: dict[str, Any], grid: tuple[int, int], blocking: Blocking, tms: dict[int, list[str]], rng: np.random.Generator
) -> None:
    op = op_of(TAPS | changes, grid, blocking)
    x = rng.standard_normal((144, 64)).astype(np.float32)
    form = form_of(op)
    assert form.type == "matmul"
    assert {i: [tm.kind for tm in list_] for i, list_ in form.tms.items()} == tms
    tiles, index, codes = form.inputs
    assert isinstance(tiles, ImpliedConstant)
    assert isinstance(codes, ImpliedConstant)
    assert (index, tiles.type.format, codes.type.format) == (0, "Bfp2_b", "RawUInt32")
    written = BudaOp("taps", "matmul", grid_size=grid, t=blocking.t, mblock=blocking.mblock, ublock=blocking.ublock, out_df="Float32",
                     input_tms=form.tms, attributes=form.attributes)  # fmt: skip
    padded = np.zeros((1, 160, 64), np.float32)
    padded[0, :144] = x
    function = work_of(written, [tiles.type, TensorType(padded.shape, "Float32", LAYOUT), codes.type], None, "grayskull")
    found = interpret.run(function, [tiles.values, padded, codes.values])[0]
    expected = interpret.run(op.work, [x])[0].reshape(-1, prod((TAPS | changes)["shape"][-2:-1]), 64)
    np.testing.assert_allclose(_whole(found, expected.shape, blocking), expected, rtol=1e-5, atol=1e-5)


def _whole(found: np.ndarray, shape: tuple[int, ...], blocking: Blocking) -> np.ndarray:
    """Steps along rows, and along columns within them, put together."""
    t, rows, columns = shape
    down = -(-rows // found.shape[1])
    across = blocking.t // (t * down)
    steps = found.reshape(t, down, across, *found.shape[1:]).transpose(0, 1, 3, 2, 4)
    return steps.reshape(t, down * found.shape[1], across * found.shape[2])[:, :rows, :columns]


def test_blocks_that_do_not_fit() -> None:
    with pytest.raises(Error) as error:
        form_of(op_of(TAPS, (1, 1), Blocking(8, (5, 2), (1, 1))))
    assert (error.value.code, error.value.where) == ("E0503", "taps")


def test_indices_of_strips_never_go_back() -> None:
    op = op_of(TAPS, (1, 1), Blocking(9, (5, 2), (1, 1)))
    form = form_of(op)
    assert (form.attributes["m_k"], form.attributes["u_kt"], form.attributes["act_t"]) == (5, 1, 9)
    assert form.tms[1] == (Tm("broadcast", ("z", 9)),)
    whole = form_of(replace(op, inner=None))
    assert (whole.attributes["m_k"], whole.attributes["u_kt"], whole.attributes["act_t"]) == (1, 5, 1)
    assert whole.tms == {}
