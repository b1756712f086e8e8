"""RandomUniformOp and RandomNormalOp: numbers that follow from a seed."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ops.cases import check_error, check_op, spec
from ttc.dialects.nn.random import RandomNormalOp, RandomUniformOp

SEED = spec(dtype="int64")


@pytest.mark.parametrize("seed", [0, 7, -1, 1 << 40])
def test_numbers_are_those_of_numpy(seed: int) -> None:
    state = np.random.RandomState(seed & 0xFFFFFFFF)
    attrs = {"shape": (3, 4), "dtype": np.dtype(np.float32)}
    check_op(RandomUniformOp, [np.array(seed)], attrs, state.random_sample((3, 4)).astype(np.float32))
    state = np.random.RandomState(seed & 0xFFFFFFFF)
    check_op(RandomNormalOp, [np.array(seed)], attrs, state.standard_normal((3, 4)).astype(np.float32))


def test_what_they_refuse() -> None:
    good = {"shape": (2,), "dtype": np.dtype(np.float32)}
    for op in (RandomUniformOp, RandomNormalOp):
        check_error("E0403", op, [spec(1, dtype="int64")], good)
        check_error("E0403", op, [spec()], good)
        check_error("E0403", op, [SEED], {**good, "dtype": np.dtype(np.int32)})
        check_error("E0402", op, [SEED], {**good, "shape": (-1,)})
