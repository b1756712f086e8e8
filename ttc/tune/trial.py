"""Evaluation of a model under rules of precision, without compiling it: the ops of stage tile, one after the other."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation, SSAValue

from ttc.accuracy.distances import Comparison, compare, lowest_pcc, pcc_text
from ttc.dialects.core.formats import FORMATS, format_named, format_of
from ttc.dialects.core.ir.attributes import LiteralAttr, plain
from ttc.dialects.core.ir.entries import ports
from ttc.dialects.core.ir.leaves import LeafOp
from ttc.dialects.core.ir.to_plain import plain_ops, plain_type
from ttc.dialects.core.plain import interpret
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.core.records import record
from ttc.dialects.core.rules.precision import PrecisionRule
from ttc.dialects.netlist.model import Host, Netlist, Op
from ttc.dialects.tile.base import TileOp
from ttc.passes.precision import assign, chosen
from ttc.passes.tile_to_netlist.lower_to_netlist import usual_fidelity
from ttc.runtime.arguments import inputs_of, to_entries
from ttc.runtime.engines.exact import RULES
from ttc.runtime.engines.exact.core import Core
from ttc.tune.subject import TuneSubject

MAX_MICROBATCHES = 4
"""The most microbatches that are tried: the first ones of a streamed batch stand for all."""
CACHE_BYTES = 1 << 31
"""The most bytes of weights rounded to formats that are kept; those that stay as they are take none."""

Execute = Callable[[Work, Sequence[NDArray | None], "interpret.Resolver | None"], list[NDArray]]


@record
class Deviation:
    """How far outputs are from those in Float32.

    Args:
        pcc: the lowest correlation of an output; NaN if none has one, as all are constant or single numbers.
        relative_l2: the largest error.
        uncorrelated_l2: the largest error of an output that has no correlation.
    """

    pcc: float
    relative_l2: float
    uncorrelated_l2: float = 0.0

    def pcc_text(self, digits: int = 6) -> str:
        """Return the correlation as readers see it: `-` where there is none."""
        return pcc_text(self.pcc, digits)

    def keeps(self, bound: float) -> bool:
        """Return whether correlations reach the bound, with infinities at the same places.

        An output without a correlation is judged by the relative L2 error that noise has which lowers a correlation to the bound.
        """
        error = math.sqrt(2 * (1 - bound))
        return not self.pcc < bound and self.uncorrelated_l2 <= error and math.isfinite(self.relative_l2)


@record(frozen=False)
class Trials:
    """Evaluations of one program on one set of inputs.

    Args:
        subject: the model.
        batches: values of the arguments, for each microbatch.
        expected: outputs of each microbatch in Float32, set by `begin`.
        count: of evaluations so far.
    """

    subject: TuneSubject
    batches: Sequence[Sequence[NDArray]]
    count: int = 0
    expected: list[list[NDArray]] = field(default_factory=list)

    def __post_init__(self) -> None:
        function = self.subject.function
        *body, last = function.body.block.ops
        self._leaves = [op for op in body if isinstance(op, LeafOp) and not isinstance(op.value, LiteralAttr)]
        self._body = [op for op in body if op not in set(self._leaves)]
        self._values = [*function.body.block.args, *(leaf.result for leaf in self._leaves)]
        self._plain = plain_ops(self._body, self._values, list(last.operands))
        self._weights = _Rounded(self.subject.unit.weights)
        self._rules = RULES.rules()
        self._compared = _compared([v.type for v in last.operands])
        floats = {v: "Float32" for v in self._all_values() if _is_float(plain_type(v.type))}
        self.expected = self._run(self._typed(floats), floats, [interpret.run_work] * len(self._body))

    @property
    def compared_names(self) -> list[str]:
        """The names of the outputs that are compared."""
        _, results = ports(self.subject.function)
        return [results[i].name for i in self._compared if results[i].updates is None]

    def error(self, rules: Sequence[PrecisionRule]) -> Deviation:
        """Return how far outputs under rules are from those in Float32."""
        self.count += 1
        formats = assign(self.subject.unit.module, rules).formats
        executes = [self._execute(op, rules, formats) for op in self._body]
        found = self._run(self._typed(formats), formats, executes)
        pairs = zip(found, self.expected, strict=True)
        return worst([compare(a[i], b[i]) for a, b in pairs for i in self._compared])

    def _all_values(self) -> list[SSAValue]:
        return [*self._values, *(result for op in self._body for result in op.results)]

    def _typed(self, formats: Mapping[SSAValue, str]) -> Function:
        """Return the program with values in other formats."""
        works = [
            replace(work, results=tuple(_in_format(t, formats.get(r)) for t, r in zip(work.results, op.results, strict=True)))
            for work, op in zip(self._plain.works, self._body, strict=True)
        ]
        return Function(self._plain.inputs, tuple(works), self._plain.outputs)

    def _execute(self, op: Operation, rules: Sequence[PrecisionRule], formats: Mapping[SSAValue, str]) -> Execute:
        """Return how an op computes: on a device as the device does, else as numpy does."""
        if self.subject.unit.target.is_host or not isinstance(op, TileOp):
            return interpret.run_work
        format_ = formats.get(op.results[0]) or plain_type(op.results[0].type).format
        fidelity = chosen(op, rules).get("fidelity", (usual_fidelity(format_), None))[0]
        accumulate = self.subject.unit.target.accumulator(format_)
        stub = Op("trial", op.name, (), Host(), None, Function((), (), ()), (), accumulate, accumulate, fidelity)
        return Core(stub, self._rules).execute

    def _run(self, function: Function, formats: Mapping[SSAValue, str], executes: Sequence[Execute]) -> list[list[NDArray]]:
        leaves = [self._weights.get(leaf, formats.get(leaf.result)) for leaf in self._leaves]
        return [_evaluate(function, [*batch, *leaves], executes) for batch in self.batches]


def _evaluate(function: Function, inputs: Sequence[NDArray], executes: Sequence[Execute]) -> list[NDArray]:
    values: list[NDArray | None] = list(inputs)
    last_use = function.last_use()
    for index, (work, execute) in enumerate(zip(function.works, executes, strict=True)):
        values.extend(execute(work, [None if i is None else values[i] for i in work.operands], None))
        for operand in work.operands:
            if operand is not None and last_use.get(operand) == index:
                values[operand] = None
    return [np.asarray(values[i]) for i in function.outputs]


def worst(comparisons: Sequence[Comparison]) -> Deviation:
    """Return the worst figures of several outputs; of none, those of equal ones."""
    errors = [(c.relative_l2, math.isnan(c.pcc)) for c in comparisons]
    uncorrelated = max((error for error, lacks in errors if lacks), default=0.0)
    return Deviation(lowest_pcc(comparisons), max((error for error, _ in errors), default=0.0), uncorrelated)


def microbatches(netlist: Netlist, program: str, inputs: Mapping[str, NDArray]) -> list[list[NDArray]]:
    """Return values of a program's arguments for each of its first microbatches, as engines hold them.  Raises E0801, E0802."""
    arguments = inputs_of(netlist.programs[program])
    entries = [to_entries(a, netlist.queues[a.queue], inputs[a.name]) for a in arguments]
    count = min(max(map(len, entries), default=1), MAX_MICROBATCHES)
    return [[entry[i if len(entry) > 1 else 0] for entry in entries] for i in range(count)]


def _compared(types: Sequence[object]) -> list[int]:
    """Return numbers of the outputs to compare: those of floating-point numbers, or all if there are none."""
    found = [i for i, type_ in enumerate(types) if _is_float(plain_type(type_))]  # pyright: ignore[reportArgumentType]
    return found or list(range(len(types)))


def _is_float(type_: TensorType) -> bool:
    return FORMATS[type_.format].is_float


def _in_format(type_: TensorType, format_: str | None) -> TensorType:
    return type_ if format_ is None else replace(type_, format=format_)


class _Rounded:
    """Weights as engines hold them, in the formats last asked for, as many as the cache takes."""

    def __init__(self, weights: WeightStore) -> None:
        self.weights = weights
        self.held: OrderedDict[tuple[str, str], NDArray] = OrderedDict()

    def get(self, leaf: LeafOp, format_: str | None) -> NDArray:
        """Return the value of a leaf in a format; None: in its own."""
        format_ = format_ or plain_type(leaf.result.type).format
        key = (leaf.key or str(plain(leaf.properties["sym"])), format_)
        if key in self.held:
            self.held.move_to_end(key)
            return self.held[key]
        value, held = self.weights[key[0]].value(), format_named(format_)
        rounded = held.round(format_of(value.dtype).unpack(value).astype(held.compute, copy=False))
        if rounded is value:
            return value
        self.held[key] = rounded
        while len(self.held) > 1 and sum(array.nbytes for array in self.held.values()) > CACHE_BYTES:
            self.held.popitem(last=False)
        return rounded
