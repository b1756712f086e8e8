"""Each rule of sharding: what chips compute of their parts is what one computes of all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.ops.cases import one_op_module
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.core.ir.to_plain import plain_block
from ttc.dialects.core.plain import interpret
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.core.records import record
from ttc.dialects.nn.base import ops
from ttc.passes.nn.sharding import SHARDING
from ttc.passes.nn.sharding.elementwise import ONE
from ttc.passes.nn.sharding.op import DividedOp, Division

CHIPS = 2
TURNED = {"transpose_a": False, "transpose_b": True}
PLAIN = {"transpose_a": False, "transpose_b": False}
PLACES = np.array([[[0, 1], [0, 2]], [[1, 0], [1, 4]]], np.int64)


@record
class ShardingCase:
    """An op whose operands chips divide, and how.

    Args:
        op: its mnemonic.
        operands: shapes of random numbers, or arrays.
        attrs: attributes by name.
        splits: of the operands.
        constants: places of operands that are stored.
        results: the dimension of the results; None: every chip has all, or their sum is the result.
    """

    op: str
    operands: tuple[Any, ...]
    attrs: dict[str, Any]
    splits: tuple[int | None, ...]
    results: int | None
    constants: tuple[int, ...] = ()


CASES = {
    **{f"{op} {name}": ShardingCase(op, ((2, 3, 4), other), {}, splits, result) for op in ("add", "mul", "maximum", "less") for
       name, other, splits, result in (
           ("of equal shapes", (2, 3, 4), (2, 2), 2), ("of a row", (4,), (2, None), 2), ("of a column", (3, 1), (2, None), 2),
           ("of an outer one", (4,), (0, None), 0), ("of a computed one", (2, 3, 4), (None, 0), 0))},
    "columns": ShardingCase("matmul", ((2, 3, 4), (4, 6), (6,)), PLAIN, (None, None, None), 2, (1, 2)),
    "columns, turned": ShardingCase("matmul", ((2, 3, 4), (6, 4)), TURNED, (None, None), 2, (1,)),
    "rows": ShardingCase("matmul", ((2, 3, 4), (4, 5)), PLAIN, (2, None), None, (1,)),
    "rows, turned": ShardingCase("matmul", ((3, 4), (5, 4)), TURNED, (1, None), None, (1,)),
    "rows of the operand": ShardingCase("matmul", ((4, 3, 4), (4, 5), (5,)), PLAIN, (0, None, None), 0, (1, 2)),
    "computed, of one head": ShardingCase("matmul", ((2, 4, 3, 5), (1, 5, 3)), PLAIN, (1, None), 1),
    "computed, of other parts": ShardingCase("matmul", ((2, 4, 3, 5), (2, 4, 5, 6)), PLAIN, (1, 3), 1),
    "computed, rows": ShardingCase("matmul", ((2, 4, 5), (2, 5, 3)), PLAIN, (1, None), 1),
    "computed": ShardingCase("matmul", ((2, 4, 3, 5), (4, 5, 3)), PLAIN, (1, 0), 1),
    "heads": ShardingCase("attention", ((1, 4, 3, 8), (1, 4, 5, 8), (1, 4, 5, 8)), {"scale": 0.3, "zero_masked": False}, (1, 1, 1), 1),
    "heads with masks": ShardingCase(
        "attention", ((1, 4, 3, 8), (1, 4, 5, 8), (1, 4, 5, 8), (1, 4, 3, 5)), {"scale": 0.3, "zero_masked": True}, (1, 1, 1, None), 1,
        (3,)),
    "keys of one head": ShardingCase(
        "attention", ((1, 4, 3, 8), (1, 1, 5, 8), (1, 1, 5, 8), (3, 5)), {"scale": 0.3, "zero_masked": False}, (1, None, None, None), 1),
    "queries": ShardingCase(
        "attention", ((1, 3, 4, 8), (1, 3, 5, 8), (1, 3, 5, 8), (4, 5)), {"scale": 0.3, "zero_masked": False}, (2, 2, 2, None), 2),
    "queries, masks of all": ShardingCase(
        "attention", ((3, 4, 8), (3, 5, 8), (3, 5, 8), (1, 5)), {"scale": 0.3, "zero_masked": False}, (1, None, None, None), 1),
    "rotary": ShardingCase("rotary_embedding", ((1, 4, 3, 8), (3, 8), (3, 8)), {"interleaved": False}, (1, None, None), 1),
    "into heads": ShardingCase("reshape", ((2, 3, 8),), {"shape": (2, 3, 4, 2)}, (2,), 2),
    "out of heads": ShardingCase("reshape", ((2, 3, 4, 2),), {"shape": (6, 8)}, (2,), 1),
    "into groups": ShardingCase("reshape", ((2, 4, 3, 5),), {"shape": (2, 2, 2, 3, 5)}, (1,), 1),
    "transpose": ShardingCase("transpose", ((2, 3, 4),), {"perm": (2, 0, 1)}, (2,), 0),
    "expand": ShardingCase("expand", ((4, 1, 3),), {"shape": (2, 4, 5, 3)}, (0,), 1),
    "slice": ShardingCase("slice", ((4, 6, 3),), {"starts": (0, 1, 0), "sizes": (4, 2, 3), "steps": (1, 2, 1)}, (0,), 0),
    "split": ShardingCase("split", ((4, 6),), {"axis": 1, "sizes": (2, 4)}, (0,), 0),
    "concat": ShardingCase("concat", ((4, 6), (4, 2)), {"axis": 1}, (0, None), 0, (1,)),
    "layer norm": ShardingCase("layer_norm", ((2, 4, 6), (6,), (6,)), {"axis": 2, "eps": 1e-5}, (1, None, None), 1, (1, 2)),
    "rms norm": ShardingCase("rms_norm", ((2, 4, 6), (6,)), {"axis": 2, "eps": 1e-5}, (1, None), 1, (1,)),
    "softmax": ShardingCase("softmax", ((2, 4, 6),), {"axis": -1}, (1,), 1),
    "rows of caches": ShardingCase("scatter_nd", ((2, 5, 4, 3), PLACES, (2, 2, 4, 3)), {"reduction": "none"}, (None, None, 2), 2),
}  # fmt: skip


def work_of(case: ShardingCase, arrays: list[NDArray]) -> Work:
    module = one_op_module(ops()[case.op], [Spec(array.shape, array.dtype) for array in arrays], case.attrs)
    (function,) = entry_functions(module)
    (work,) = plain_block(function.body.block).works
    return work


def divided(case: ShardingCase, work: Work, arrays: list[NDArray], *, by_rows: bool = False) -> Division | None:
    present = len(arrays)
    absent = len(work.operands) - present
    step = DividedOp(
        work,
        (*(array.shape for array in arrays), *((),) * absent),
        (*case.splits, *(None,) * (len(work.operands) - len(case.splits))),
        tuple(index in case.constants for index in range(len(work.operands))),
        tuple(index == 0 and case.op == "scatter_nd" for index in range(len(work.operands))),
        CHIPS,
        may_start=True,
        by_rows=by_rows,
    )
    return SHARDING[case.op](step)


def part(array: NDArray, dim: int | None, chip: int) -> NDArray:
    return array if dim is None else np.split(array, CHIPS, axis=dim)[chip]


@pytest.mark.parametrize("name", CASES)
def test_parts_make_the_whole(rng: np.random.Generator, name: str) -> None:
    case = CASES[name]
    arrays = [x if isinstance(x, np.ndarray) else rng.standard_normal(x, np.float32) for x in case.operands]
    work = work_of(case, arrays)
    division = divided(case, work, arrays)
    assert division is not None
    assert division.results[0] == case.results
    assert division.partial == name.startswith("rows") & (case.results is None)
    wanted = run(work, work.attrs, arrays)
    found = [run(work, {**work.attrs, **division.attrs}, [part(a, d, chip) for a, d in zip(arrays, division.operands, strict=False)])
             for chip in range(CHIPS)]  # fmt: skip
    for index, whole in enumerate(wanted):
        parts = [results[index] for results in found]
        joined = sum(parts[1:], parts[0]) if division.partial else np.concatenate(parts, division.results[index] or 0)
        np.testing.assert_allclose(joined, whole, rtol=1e-5, atol=1e-5, strict=True)


def run(work: Work, attrs: dict[str, Any], arrays: list[NDArray]) -> list[NDArray]:
    """What an op gives; the types of its results are those of its operands' shapes."""
    module = one_op_module(ops()[work.op.removeprefix("nn.")], [Spec(array.shape, array.dtype) for array in arrays], attrs)
    (function,) = entry_functions(module)
    return interpret.run(plain_block(function.body.block), arrays, lambda _: np.zeros(()))


STARTS = {
    "product": ShardingCase("matmul", ((2, 4, 5), (5, 6), (6,)), PLAIN, (None, None, None), 1, (1, 2)),
    "product of a matrix": ShardingCase("matmul", ((4, 5), (5, 3)), PLAIN, (None, None), 0, (1,)),
    "layer norm": ShardingCase("layer_norm", ((2, 4, 6), (6,), (6,)), {"axis": 2, "eps": 1e-5}, (None, None, None), 1, (1, 2)),
    "rms norm": ShardingCase("rms_norm", ((4, 6), (6,)), {"axis": -1, "eps": 1e-5}, (None, None), 0, (1,)),
    "product of odd rows": ShardingCase("matmul", ((3, 5), (5, 4)), PLAIN, (None, None), None, (1,)),
    "product with a bias for each row": ShardingCase("matmul", ((4, 5), (5, 6), (4, 6)), PLAIN, (None, None, None), None, (1, 2)),
    "norm of matrices": ShardingCase("layer_norm", ((2, 4, 6), (4, 6), (4, 6)), {"axis": 1, "eps": 1e-5}, (None, None, None), None, (1, 2)),
}
"""What divides the rows that every chip has; no results: nothing."""


@pytest.mark.parametrize("name", STARTS)
def test_rows_begin_to_be_divided(rng: np.random.Generator, name: str) -> None:
    case = STARTS[name]
    arrays = [rng.standard_normal(x, np.float32) for x in case.operands]
    work = work_of(case, arrays)
    division = divided(case, work, arrays, by_rows=True)
    if case.results is None:
        assert division is None
        return
    assert division is not None
    assert (division.starts, division.results) == (True, (case.results,))
    (wanted,) = run(work, work.attrs, arrays)
    found = [run(work, work.attrs, [part(a, d, chip) for a, d in zip(arrays, division.operands, strict=False)])[0] for chip in range(CHIPS)]
    np.testing.assert_allclose(np.concatenate(found, case.results), wanted, rtol=1e-5, atol=1e-5, strict=True)


REFUSED = {
    "a softmax along the parts": ShardingCase("softmax", ((2, 4),), {"axis": 1}, (1,), None),
    "a norm of parts": ShardingCase("rms_norm", ((2, 4), (4,)), {"axis": 1, "eps": 1e-5}, (1, None), None, (1,)),
    "heads that the chips cannot divide": ShardingCase("reshape", ((2, 6),), {"shape": (2, 3, 2)}, (1,), None),
    "an activation before the sum": ShardingCase("matmul", ((3, 4), (4, 5)), {**PLAIN, "activation": "relu"}, (1, None), None, (1,)),
    "odd columns": ShardingCase("matmul", ((3, 4), (4, 5)), PLAIN, (None, None), None, (1,)),
    "halves of rotary embeddings": ShardingCase(
        "rotary_embedding", ((4, 8), (4, 8), (4, 8)), {"interleaved": False}, (1, None, None), None
    ),
    "a slice of the parts": ShardingCase("slice", ((4, 6),), {"starts": (1, 0), "sizes": (2, 6), "steps": (1, 1)}, (0,), None),
    "a split of the parts": ShardingCase("split", ((4, 6),), {"axis": 0, "sizes": (2, 2)}, (0,), None),
    "a concat of the parts": ShardingCase("concat", ((4, 6), (2, 6)), {"axis": 0}, (0, 0), None),
    "what is expanded": ShardingCase("expand", ((2, 1),), {"shape": (2, 4)}, (1,), None),
    "features of attention": ShardingCase(
        "attention", ((4, 4, 8), (4, 4, 8), (4, 4, 8)), {"scale": 1.0, "zero_masked": False}, (2, 2, None), None
    ),
    "nothing divided": ShardingCase("add", ((2, 4), (2, 4)), {}, (None, None), None),
    "another dimension of caches": ShardingCase(
        "scatter_nd", ((2, 5, 4, 4), PLACES, (2, 2, 4, 4)), {"reduction": "none"}, (None, None, 3), None
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_divided(name: str) -> None:
    case = REFUSED[name]
    arrays = [x if isinstance(x, np.ndarray) else np.ones(x, np.float32) for x in case.operands]
    assert divided(case, work_of(case, arrays), arrays) is None


def test_every_rule_has_a_case() -> None:
    elementwise = SHARDING["relu"]
    covered = {case.op for case in CASES.values()}
    without = {name for name, rule in SHARDING.rules().items() if name not in covered and rule is not elementwise}
    assert without == {"log_softmax"}  # which has softmax's rule
    assert SHARDING["log_softmax"] is SHARDING["softmax"]


@pytest.mark.parametrize("op", ONE)
def test_ops_of_one_operand_stay_divided(op: str) -> None:
    kind = TensorType((2, 4), "Float32")
    work = Work(f"nn.{op}", (0,), {}, (kind,))
    assert Function((kind,), (work,), (1,)).value_types == [kind, kind]
    assert SHARDING[op](DividedOp(work, ((2, 4),), (1,), (False,), (False,), CHIPS, may_start=True)) == Division((1,), (1,))
