"""Checks that tests of nn ops share: one op from arrays through IR, text and the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects import builtin

from ttc.dialects.core.batch_axis import OUTERMOST, BatchAxis
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
from ttc.dialects.nn.batching import BATCHING, carriage
from ttc.dialects.nn.batching.op import BatchedOp, Carriage
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
    check_carriages(op_class, arrays, attrs, tol)
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
    op_class: type[NNOp],
    arrays: Sequence[NDArray | None],
    carried: Sequence[BatchAxis | bool],
    attrs: dict[str, Any],
    size: int,
    tol: float = 0.0,
    gives: BatchAxis = OUTERMOST,
) -> None:
    """The op keeps `size` samples apart that operands carry where they say, True: outermost; each alone gives its part of the whole.

    gives: where all results carry them.
    """
    specs = [None if x is None else Spec(x.shape, x.dtype) for x in arrays]
    found = _carriage(op_class, specs, carried, attrs, size)
    assert found is not None
    assert found.operands == _places(carried)
    assert set(found.results) == {gives}
    _check_samples(op_class, arrays, attrs, size, found, tol)


def check_no_batch(
    op_class: type[NNOp], specs: Sequence[Spec | None], carried: Sequence[BatchAxis | bool], attrs: dict[str, Any], size: int
) -> None:
    """The op may mix samples that operands carry where they say, or asks for further operands that carry them."""
    found = _carriage(op_class, specs, carried, attrs, size)
    assert found is None or found.operands != _places(carried)


def check_carriages(op_class: type[NNOp], arrays: Sequence[NDArray | None], attrs: dict[str, Any], tol: float) -> None:
    """Wherever an operand may carry 2 or 3 samples, the rule of batching is right about the op, or says nothing."""
    if sum(x.size for x in arrays if x is not None) > MAX_DIFFERENCED or BATCHING.refusal(op_class.name.removeprefix("nn.")) is not None:
        return
    specs = [None if x is None else Spec(x.shape, x.dtype) for x in arrays]
    found: dict[tuple[int, Carriage], None] = {}
    for size in (2, 3):
        for index, operand in enumerate(specs):
            for place in [] if operand is None else _all_places(operand.shape, size):
                carried = [place if i == index else False for i in range(len(specs))]
                if (how := _carriage(op_class, specs, carried, attrs, size)) is not None:
                    found[size, how] = None
    for size, how in found:
        _check_samples(op_class, arrays, attrs, size, how, tol)


def _all_places(shape: tuple[int, ...], size: int) -> list[BatchAxis]:
    """Places where a tensor of that shape may carry so many samples."""
    return [at for axis, d in enumerate(shape) for runs in range(1, d + 1) if (at := BatchAxis(axis, runs)).fits(shape, size)]


def _places(carried: Sequence[BatchAxis | bool]) -> tuple[BatchAxis | None, ...]:
    """What operands carry; True stands for outermost."""
    return tuple(OUTERMOST if at is True else at or None for at in carried)


def _carriage(
    op_class: type[NNOp], specs: Sequence[Spec | None], carried: Sequence[BatchAxis | bool], attrs: dict[str, Any], size: int
) -> Carriage | None:
    """How the op keeps samples apart, by its rule of batching."""
    found = op_class.infer(*specs, **attrs)
    results = (found,) if isinstance(found, Spec) else tuple(found)
    return carriage(op_class.name.removeprefix("nn."), BatchedOp(tuple(specs), results, attrs, _places(carried), size))


def _check_samples(
    op_class: type[NNOp], arrays: Sequence[NDArray | None], attrs: dict[str, Any], size: int, how: Carriage, tol: float
) -> None:
    """Each sample's parts of the operands give its parts of the results, but for the order of sums in float32."""
    given = [None if x is None else x.astype(format_of(x.dtype).compute) for x in arrays]
    whole, alone = _evaluated(op_class, given, attrs), how.attrs(attrs, size, 1)
    for sample in range(size):
        parts = [x if at is None or x is None else at.parts(x, size)[sample] for x, at in zip(given, how.operands, strict=True)]
        op_class.infer(*[None if x is None else Spec(x.shape, array.dtype) for x, array in zip(parts, arrays, strict=True)], **alone)
        for found, y, at in zip(_evaluated(op_class, parts, alone), whole, how.results, strict=True):
            wanted = at.parts(y, size)[sample]
            assert found.shape == wanted.shape
            scale = float(np.abs(wanted[np.isfinite(wanted)]).max(initial=1.0)) if wanted.dtype.kind == "f" else 0.0
            assert max_abs(found, wanted) <= max(tol, 1e-5 * scale)


def _evaluated(op_class: type[NNOp], arrays: Sequence[NDArray | None], attrs: dict[str, Any]) -> list[NDArray]:
    """Results of the op's kernel."""
    found = op_class.evaluate(*arrays, **attrs)
    return [np.asarray(y) for y in (found if isinstance(found, tuple | list) else [found])]


def spec(*shape: int, dtype: str = "float32") -> Spec:
    """A spec, short to write."""
    return Spec(shape, np.dtype(dtype))
