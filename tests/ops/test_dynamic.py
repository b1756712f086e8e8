"""DynamicReshapeOp, DynamicExpandOp, DynamicSliceOp: views whose sizes are computed."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ops.cases import check_error, check_op, run_op, spec
from ttc.dialects.core.errors import Error
from ttc.dialects.nn.dynamic import DynamicExpandOp, DynamicReshapeOp, DynamicSliceOp

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@pytest.mark.parametrize(("shape", "sizes"), [((6, 4), (-1, 4)), ((-1, 8), (-1, -1)), ((24,), (24,)), ((2, 0, -1), None)])
def test_dynamic_reshape(shape: tuple[int, ...], sizes: tuple[int, ...] | None) -> None:
    if sizes is not None:
        check_op(DynamicReshapeOp, [X, ints(*shape)], {"sizes": sizes}, X.reshape(shape))
        return
    with pytest.raises(Error) as caught:
        run_op(DynamicReshapeOp, [X, ints(*shape)], {"sizes": (-1, -1, -1)})
    assert caught.value.code == "E0802"


@pytest.mark.parametrize(("shape", "sizes"), [((5, 5), (-1, -1)), ((-2, -12), (-1, -1)), ((6, 4), (4, 6))])
def test_shapes_that_do_not_fit(shape: tuple[int, ...], sizes: tuple[int, ...]) -> None:
    with pytest.raises(Error) as caught:
        run_op(DynamicReshapeOp, [X, ints(*shape)], {"sizes": sizes})
    assert (caught.value.code, caught.value.where) == ("E0802", "/node")


def test_dynamic_expand() -> None:
    row = X[:1, :1]
    check_op(DynamicExpandOp, [row, ints(3, 1)], {"sizes": (1, -1, 4)}, np.broadcast_to(row, (1, 3, 4)))
    check_op(DynamicExpandOp, [row, ints(5, 2, 1, 4)], {"sizes": (-1, -1, -1, 4)}, np.broadcast_to(row, (5, 2, 1, 4)))
    for shape in ((3, 3), (1 << 20, 1 << 20, 4), (-1, 4)):
        with pytest.raises(Error) as caught:
            run_op(DynamicExpandOp, [row, ints(*shape)], {"sizes": (-1, -1, -1)})
        assert caught.value.code == "E0802"


@pytest.mark.parametrize(
    ("starts", "ends", "steps"),
    [((1, 0), (99, -1), (1, 2)), ((-1, -99), (-99, 2), (-1, 1)), ((2, 3), (0, 0), (1, -1)), ((0, 0), (0, 4), (1, 1))],
)
def test_dynamic_slice(starts: tuple[int, ...], ends: tuple[int, ...], steps: tuple[int, ...]) -> None:
    wanted = X[:, starts[0] : ends[0] : steps[0], starts[1] : ends[1] : steps[1]]
    check_op(DynamicSliceOp, [X, ints(*starts), ints(*ends), ints(*steps)], {"axes": (1, -1)}, wanted)


def test_what_they_refuse() -> None:
    x, two = spec(2, 3), spec(2, dtype="int64")
    with pytest.raises(Error) as caught:
        run_op(DynamicSliceOp, [X, ints(0), ints(1), ints(0)], {"axes": (0,)})
    assert caught.value.code == "E0802"
    check_error("E0401", DynamicReshapeOp, [x, spec(-1, dtype="int64")], {"sizes": (-1,)})
    check_error("E0402", DynamicReshapeOp, [x, two], {"sizes": (-1,)})
    check_error("E0402", DynamicExpandOp, [x, two], {"sizes": (-2, 3)})
    check_error("E0403", DynamicExpandOp, [x, spec(2)], {"sizes": (-1, 3)})
    check_error("E0401", DynamicSliceOp, [x, two, two, two], {"axes": (0,)})
    check_error("E0412", DynamicSliceOp, [x, two, two, two], {"axes": (0, 2)})
