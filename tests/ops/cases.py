"""Checks that tests of nn ops share: one op from arrays through IR, text and the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects import builtin

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_of
from ttc.dialects.core.ir.adapter import print_op
from ttc.dialects.core.ir.entries import Port, entry_functions, finish_function, make_function
from ttc.dialects.core.ir.locations import named_location
from ttc.dialects.core.ir.parsing import parse_module
from ttc.dialects.core.ir.spec import Spec, tensor_type
from ttc.dialects.core.ir.to_plain import plain_block
from ttc.dialects.core.ir.verification import verify
from ttc.dialects.core.plain import interpret
from ttc.dialects.nn.base import NNOp, dialect
from ttc.dialects.nn.gradients.base import GRADIENTS, NoGradient
from ttc.dialects.nn.gradients.check import check_rule

MAX_DIFFERENCED = 1 << 12
"""Elements of operands, together, of the largest op whose gradient is checked against differences."""


def one_op_module(op_class: type[NNOp], specs: Sequence[Spec | None], attrs: dict[str, Any]) -> builtin.ModuleOp:
    """A module with function @main of one op: present operands are its arguments, all results are returned."""
    present = [(Port(f"x{i}"), tensor_type(s)) for i, s in enumerate(specs) if s is not None]
    function = make_function("main", present)
    arguments = iter(function.body.block.args)
    location = named_location("/node")
    op = op_class.build(*[None if s is None else next(arguments) for s in specs], location=location, **attrs)
    function.body.block.add_op(op)
    finish_function(function, [(Port(f"y{i}"), result) for i, result in enumerate(op.results)])
    return builtin.ModuleOp([function])


def run_op(op_class: type[NNOp], arrays: Sequence[NDArray | None], attrs: dict[str, Any]) -> list[NDArray]:
    """Results of one op through verification, a text round trip and the interpreter, in the compute dtypes of their formats."""
    specs = [None if x is None else Spec(x.shape, x.dtype) for x in arrays]
    module = one_op_module(op_class, specs, attrs)
    verify(module)
    text = print_op(module)
    again = parse_module(text, "round trip", [dialect])
    verify(again)
    assert print_op(again) == text
    (function,) = entry_functions(again)
    inputs = [x.astype(format_of(x.dtype).compute) for x in arrays if x is not None]
    return interpret.run(plain_block(function.body.block), inputs)


def check_op(
    op_class: type[NNOp],
    arrays: Sequence[NDArray | None],
    attrs: dict[str, Any],
    expected: NDArray | Sequence[NDArray],
    tol: float = 0.0,
) -> None:
    """The op's results equal `expected`: same shapes, same dtypes (in compute dtypes), max abs difference at most `tol`; NaN equals NaN."""
    wanted = [expected] if isinstance(expected, np.ndarray | np.generic) else list(expected)
    found = run_op(op_class, arrays, attrs)
    assert len(found) == len(wanted)
    check_gradient(op_class, arrays, attrs)
    for y, want in zip(found, wanted, strict=True):
        assert y.shape == want.shape
        assert y.dtype == format_of(want.dtype).compute
        assert max_abs(y, want) <= tol


def check_gradient(op_class: type[NNOp], arrays: Sequence[NDArray | None], attrs: dict[str, Any]) -> None:
    """The gradient rule of an nn op agrees with differences of its results, where it has one and the operands are not large."""
    if op_class.name not in GRADIENTS.rules() or sum(x.size for x in arrays if x is not None) > MAX_DIFFERENCED:
        return
    with suppress(NoGradient):
        assert [found for found in check_rule(op_class, arrays, attrs) if found.is_wrong] == []


def max_abs(found: NDArray, wanted: NDArray) -> float:
    """The largest absolute difference; equal infinities and NaN against NaN count as 0, anything else against them as infinity."""
    a, b = np.asarray(found).astype(np.float64), np.asarray(wanted).astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        difference = np.where(same, 0.0, np.nan_to_num(np.abs(a - b), nan=np.inf))
    return float(difference.max(initial=0.0))


def check_error(code: str, op_class: type[NNOp], specs: Sequence[Spec | None], attrs: dict[str, Any]) -> None:
    """Building the op fails with that code, at its location."""
    with pytest.raises(Error) as caught:
        one_op_module(op_class, specs, attrs)
    assert (caught.value.code, caught.value.where) == (code, "/node")


def check_batch(
    op_class: type[NNOp], arrays: Sequence[NDArray | None], carried: Sequence[bool], attrs: dict[str, Any], size: int, tol: float = 0.0
) -> None:
    """`batch` holds for all results, and each of `size` samples alone, with `rebatch`ed attributes, gives its rows of the whole."""
    specs = [None if x is None else Spec(x.shape, x.dtype) for x in arrays]
    whole = run_op(op_class, arrays, attrs)
    for y in whole:
        assert op_class.batch(carried, specs, Spec(y.shape, y.dtype), attrs, size)
    alone = op_class.rebatch(attrs, Spec(whole[0].shape, whole[0].dtype), size, 1)
    for sample in range(size):
        rows = [_rows(x, sample, size) if c and x is not None else x for x, c in zip(arrays, carried, strict=True)]
        for part, y in zip(run_op(op_class, rows, alone), whole, strict=True):
            assert part.shape == _rows(y, sample, size).shape
            assert max_abs(part, _rows(y, sample, size)) <= tol


def check_no_batch(op_class: type[NNOp], specs: Sequence[Spec | None], carried: Sequence[bool], attrs: dict[str, Any], size: int) -> None:
    """`batch` does not hold for the op's first result."""
    found = op_class.infer(*specs, **attrs)
    result = found if isinstance(found, Spec) else found[0]
    assert op_class.batch(carried, specs, result, attrs, size) is False


def spec(*shape: int, dtype: str = "float32") -> Spec:
    """A spec, short to write."""
    return Spec(shape, np.dtype(dtype))


def _rows(x: NDArray, sample: int, size: int) -> NDArray:
    count = x.shape[0] // size
    return x[sample * count : (sample + 1) * count]
