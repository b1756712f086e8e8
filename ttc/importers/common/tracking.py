"""Values that are known at import: what follows from leaves and static shapes by little work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_of
from ttc.dialects.core.ir.leaves import LeafOp
from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.core.ir.to_plain import plain_work
from ttc.dialects.core.ir.values import Operation, SSAValue
from ttc.dialects.core.plain.interpret import run_work
from ttc.dialects.core.plain.weights import Weight
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.budget import Budget
from ttc.importers.common.partial import Partial, partly, sizes_known

MAX_ELEMENTS = 1 << 20
"""The most elements of one value that is computed."""
NO_INPUTS: Mapping[SSAValue, NDArray] = MappingProxyType({})
_HEAVY = {
    f"nn.{name}"
    for name in (
        *("matmul", "conv2d", "conv_transpose2d", "max_pool2d", "avg_pool2d", "attention"),
        *("rnn", "gru", "lstm", "resize", "grid_sample", "roi_align"),
    )
}


class Tracker:
    """Evaluates backwards from a value, each op once.  Weights of the model are given by `weights` as leaves come up.

    Args:
        inputs: values of arguments that count as known, in their formats' compute dtypes; `used` are those that were looked at.
    """

    def __init__(self, weights: dict[str, Weight], inputs: Mapping[SSAValue, NDArray] = NO_INPUTS) -> None:
        self._weights = weights
        self._inputs = inputs
        self._known: dict[SSAValue, NDArray | None] = {}
        self._partial: dict[SSAValue, Partial] = {}
        self._budget = Budget()
        self.used: dict[SSAValue, NDArray] = {}

    def known(self, value: SSAValue) -> NDArray | None:
        """Return the value in its format's compute dtype, or None; by an explicit stack, as chains of ops may be long."""
        stack = [value]
        while stack:
            top = stack[-1]
            if top in self._known:
                stack.pop()
                continue
            waiting = self._operands(top)
            if waiting:
                stack.extend(waiting)
            else:
                self._settle(top)
        return self._known[value]

    def part(self, value: SSAValue) -> Partial | None:
        """Return which elements of a list of integers are known, where sizes that data decide stand beside others in it."""
        found = self.known(value)
        return self._partial.get(value) if found is None else Partial(found, np.ones(found.shape, bool))

    def missing(self, value: SSAValue) -> set[SSAValue]:
        """Return arguments of integers and booleans that an unknown value follows from; none if it follows from other arguments, too."""
        found: set[SSAValue] = set()
        seen: set[SSAValue] = set()
        stack = [value]
        while stack:
            top = stack.pop()
            op = top.owner
            if top in seen or isinstance(op, LeafOp) or self._known.get(top) is not None:
                continue
            seen.add(top)
            if isinstance(op, NNOp) and op.name == "nn.shape" and spec_of(op.operands[0].type).is_static:
                continue
            if isinstance(op, NNOp) and op.name != "nn.shape" and self._affordable(op):
                stack.extend(op.operands)
            elif isinstance(op, Operation) or op.parent is None or spec_of(top.type).dtype.kind not in "iub":
                return set()  # a block without a parent is the body of a loop in the making: what it takes is data
            else:
                found.add(top)
        return found

    def _operands(self, value: SSAValue) -> list[SSAValue]:
        """Operands to settle first; none if one is unknown already."""
        op = value.owner
        if not isinstance(op, NNOp) or not self._affordable(op):
            return []
        if op.name == "nn.shape" or any(self._known.get(x, op) is None and x not in self._partial for x in op.operands):
            return []
        return [x for x in op.operands if x not in self._known]

    def _affordable(self, op: Operation) -> bool:
        if op.name in _HEAVY or op.regions or self._budget.left <= 0:
            return False
        specs = [spec_of(v.type) for v in (*op.results, *(() if op.name == "nn.shape" else op.operands))]
        return all(s.is_static and s.elements <= MAX_ELEMENTS for s in specs)

    def _settle(self, value: SSAValue) -> None:
        op = value.owner
        if isinstance(op, LeafOp):
            self._known[value] = self._leaf(op)
            return
        if value in self._inputs:
            self.used[value] = self._known[value] = self._inputs[value]
            return
        results = self._evaluate(op) if isinstance(op, NNOp) and self._affordable(op) else None
        for index, result in enumerate(op.results if isinstance(op, Operation) else [value]):
            self._known[result] = None if results is None else results[index]

    def _leaf(self, op: LeafOp) -> NDArray | None:
        spec = spec_of(op.result.type)
        if spec.elements > MAX_ELEMENTS:
            return None
        return format_of(spec.dtype).unpack(op.array(self._weights))

    def _evaluate(self, op: NNOp) -> list[NDArray] | None:
        if op.name == "nn.shape":
            spec = spec_of(op.operands[0].type)
            if not spec.is_static:
                self._partial[op.results[0]] = sizes_known(spec.shape)
            return [np.array(spec.shape, np.int64)] if spec.is_static else None
        operands = [self._known.get(x) for x in op.operands]
        if any(x is None for x in operands):
            return self._evaluate_partly(op)
        return self._run(op, [x for x in operands if x is not None])

    def _evaluate_partly(self, op: NNOp) -> list[NDArray] | None:
        """Return the results if all of their elements are known; else those that are, are kept as such."""
        operands = [self.part(x) for x in op.operands]
        present = [x for x in operands if x is not None]
        results = partly(op, present, lambda values: self._run(op, values)) if len(present) == len(operands) else None
        if results is None:
            return None
        if all(result.known.all() for result in results):
            return [result.values for result in results]
        self._partial.update(zip(op.results, results, strict=True))
        return None

    def _run(self, op: NNOp, operands: Sequence[NDArray]) -> list[NDArray] | None:
        present = iter(operands)
        values = [None if x is None else next(present) for x in op.named_operands()]
        if self._budget.refusal((op,)) is not None:
            return None
        try:
            return run_work(plain_work(op, {x: i for i, x in enumerate(op.operands)}), values)
        except Error:
            return None
