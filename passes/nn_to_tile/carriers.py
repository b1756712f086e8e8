"""Which values of a program carry its batch, and in which dimension: the one analysis behind streaming, replicas and padded batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field

from xdsl.dialects import func
from xdsl.ir import Block, Operation, SSAValue

from ttc.dialects.core.batch_axis import BatchAxis
from ttc.dialects.core.ir.leaves import LeafOp, StateOp
from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.core.records import record
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.batching import BATCHING, carriage
from ttc.dialects.nn.batching.op import BatchedOp, Carriage
from ttc.dialects.nn.batching.shape import sizes_at
from ttc.dialects.nn.shape import ExpandOp, RepeatOp
from ttc.passes.tile_to_netlist.layouts import divisors

Axes = dict[SSAValue, BatchAxis]
Repeats = Callable[[LeafOp, BatchAxis, int], bool]
"""Whether a leaf has the same elements for each of so many samples, which it is to carry at a place."""
SECOND_IS_NOT_LAST = 3
"""The least rank of an input whose second dimension may be the batch: rows of features have none but the first."""


@record(frozen=False, eq=False)
class Carriers:
    """The values of a function that carry its batch, as far as its samples are known not to depend on each other.

    The batch is the first dimension of the first input, or else, of sequences in which time comes first, the second one.  Other inputs
    carry it where they are as large there, or where an op asks for rows of each sample.  What has the same rows for each sample carries
    it where an op asks for that: constants, and what is expanded to the batch.

    Args:
        function: an entry function at the end of stage nn.
        size: samples; 1 if nothing carries a batch.
        given: inputs, constants and expanded values, which carry the batch to begin with.
        repeats: which constants may; None: none.
        axes: all values that carry it, with the place.
        steps: how the ops that made these from others keep samples apart.
        reason: why samples may depend on each other; None if they do not.
    """

    function: func.FuncOp
    size: int
    given: Axes
    repeats: Repeats | None = None
    axes: Axes = field(default_factory=dict)
    steps: dict[Operation, Carriage] = field(default_factory=dict)
    reason: str | None = None

    @staticmethod
    def of(function: func.FuncOp, repeats: Repeats | None = None) -> Carriers:
        """Return the values that carry a function's batch; where samples of none may be independent, those of the first guess."""
        first: Carriers | None = None
        for given, size in _guesses(function):
            found = Carriers(function, size, given, repeats)
            found.find()
            if found.reason is None:
                return found
            first = first or found
        return first or Carriers(function, 1, {})

    @property
    def is_divisible(self) -> bool:
        """Whether there is a batch of several samples that do not depend on each other."""
        return self.size > 1 and self.reason is None

    @property
    def leaves(self) -> list[tuple[LeafOp, BatchAxis]]:
        """Constants that carry the batch, with the place."""
        return [(value.owner, at) for value, at in self.axes.items() if isinstance(value.owner, LeafOp)]

    @property
    def at_ends(self) -> list[BatchAxis]:
        """Where inputs, constants and results carry the batch."""
        last = self.function.body.block.last_op
        ends = [*self.given, *(() if last is None else last.operands)]
        return [self.axes[value] for value in ends if value in self.axes]

    def find(self) -> None:
        """Follow the batch through the function, until no op asks for further values that carry it."""
        made: dict[Operation, Carriage] = {}
        count = -1
        while self.reason is None and count < len(self.given):
            count = len(self.given)
            self.axes, self.steps = dict(self.given), dict(made)
            self.reason = self._follow(made)

    def _follow(self, made: dict[Operation, Carriage]) -> str | None:
        """Add every value that carries the batch; returns why samples may depend on each other.  made: ops that repeat samples."""
        for op in self.function.body.block.ops:
            if isinstance(op, StateOp):
                return "it reads a state"
            if isinstance(op, func.ReturnOp) and not all(value in self.axes for value in op.operands):
                return "a result does not carry the batch"
            if isinstance(op, NNOp) and any(value in self.axes for value in op.operands) and not self._keeps(op, made):
                why = BATCHING.refusal(_mnemonic(op))
                return f"{op.name} may mix samples{'' if why is None else f': {why}'}"
        return "a tensor has no elements" if any(0 in spec_of(v.type).shape for v in self.axes) else None

    def _keeps(self, op: NNOp, made: dict[Operation, Carriage]) -> bool:
        """Return whether an op keeps samples apart; its results then carry the batch."""
        found = carriage(_mnemonic(op), _batched(op, self.axes, self.size))
        if found is None:
            return False
        for value, want in zip(op.named_operands(), found.operands, strict=True):
            if value is None or want is None or value in self.axes:
                continue
            search = Sources(self.axes, self.size, self.repeats)
            sources = search.of(value, want)
            if sources is None:
                return False
            self.given |= sources
            made.update((owner, step) for owner, step in search.made.items() if owner.results[0] in sources)
            self.axes[value] = want
        results = dict(zip(op.results, found.results, strict=True))
        if any(self.given.get(value, at) != at for value, at in results.items()):
            return False
        self.axes |= results
        self.steps[op] = found
        return True


def _guesses(function: func.FuncOp) -> Iterator[tuple[Axes, int]]:
    """Yield inputs that may carry the batch to begin with, and how many samples they then hold, the likeliest first."""
    arguments: Sequence[SSAValue] = function.body.block.args
    used = {value: spec_of(value.type).shape for value in arguments if value.uses}
    shape = spec_of(arguments[0].type).shape if arguments else ()
    if not shape or shape[0] < 2:
        return
    for axis in range(2 if len(shape) >= SECOND_IS_NOT_LAST and shape[1] > 1 else 1):
        alike: Axes = {v: BatchAxis(axis) for v, other in used.items() if len(other) > axis and other[axis] == shape[axis]}
        yield alike, shape[axis]
        if len(alike) > 1 and arguments[0] in alike:
            first: Axes = {arguments[0]: BatchAxis(axis)}
            yield first, shape[axis]


def _mnemonic(op: NNOp) -> str:
    return op.name.removeprefix("nn.")


def _batched(op: NNOp, axes: Mapping[SSAValue, BatchAxis], size: int) -> BatchedOp:
    """Return an op as rules of batching see it."""
    operands = op.named_operands()
    return BatchedOp(
        tuple(None if value is None else spec_of(value.type) for value in operands),
        tuple(spec_of(result.type) for result in op.results),
        op.plain_attrs(),
        tuple(None if value is None else axes.get(value) for value in operands),
        size,
    )


@record(frozen=False, eq=False)
class Sources:
    """Finds what has to carry a batch so that a value does which no sample of it has reached yet.

    Args:
        axes: values that carry the batch.
        size: samples.
        repeats: which constants have the same for each sample; None: none.
        made: ops found that give each sample the same, with what grows with the samples.
        known: answers by value and place.
    """

    axes: Mapping[SSAValue, BatchAxis]
    size: int
    repeats: Repeats | None
    made: dict[Operation, Carriage] = field(default_factory=dict)
    known: dict[tuple[SSAValue, BatchAxis], Axes | None] = field(default_factory=dict)

    def of(self, value: SSAValue, at: BatchAxis) -> Axes | None:
        """Return inputs, constants and expanded values that have to carry the batch, each with the place, so that a value does at a place.

        None if there are none.
        """
        if (value, at) not in self.known:
            self.known[value, at] = None  # while it is looked for
            self.known[value, at] = self._found(value, at)
        return self.known[value, at]

    def _found(self, value: SSAValue, at: BatchAxis) -> Axes | None:
        owner = value.owner
        if value in self.axes:
            return {} if self.axes[value] == at else None
        if not at.fits(spec_of(value.type).shape, self.size):
            return None
        if isinstance(owner, Block):
            return {value: at}
        if isinstance(owner, LeafOp):
            return {value: at} if self.repeats is not None and self.repeats(owner, at, self.size) else None
        if not isinstance(owner, NNOp):
            return None
        same = _repeats(owner, at, self.size)
        if same is not None:
            self.made[owner] = same
            return {value: at}
        return next(self._through(owner, owner.results.index(value), at), None)

    def _through(self, op: NNOp, number: int, at: BatchAxis) -> Iterator[Axes]:
        """Yield what has to carry the batch so that result `number` of an op does, by places where an operand may."""
        operands = op.named_operands()
        for operand in dict.fromkeys(value for value in operands if value is not None):
            for place in _places(spec_of(operand.type).shape, self.size):
                found = carriage(_mnemonic(op), _batched(op, {operand: place}, self.size))
                if found is None or found.results[number] != at:
                    continue
                wanted = [(v, want) for v, want in zip(operands, found.operands, strict=True) if v is not None and want is not None]
                total = self._all(wanted)
                if total is not None:
                    yield total

    def _all(self, wanted: list[tuple[SSAValue, BatchAxis]]) -> Axes | None:
        """Return what has to carry the batch so that several values do; None if they ask for different things."""
        total: Axes = {}
        for value, want in wanted:
            part = self.of(value, want)
            if part is None or any(total.get(source, at) != at for source, at in part.items()):
                return None
            total |= part
        return total


def _places(shape: tuple[int, ...], size: int) -> Iterator[BatchAxis]:
    """Yield all places where a tensor of that shape may carry so many samples."""
    for axis, d in enumerate(shape):
        if d > 0 and d % size == 0:
            yield from (BatchAxis(axis, runs) for runs in divisors(d // size))


def _repeats(op: NNOp, at: BatchAxis, size: int) -> Carriage | None:
    """Return what grows with the samples if an op gives each of them the same at a place of its result; None if it does not."""
    if not isinstance(op, ExpandOp | RepeatOp):
        return None
    step = _batched(op, {}, size)
    axis = at.axis - step.result.rank + step.rank()
    if isinstance(op, RepeatOp):
        rows = step.result.shape[at.axis] // (at.runs * size)
        return Carriage((None,), (at,), (("repeats", axis),)) if rows % step.size_of(0, axis) == 0 else None
    return Carriage((None,), (at,), sizes_at(step, at.axis)) if step.size_of(0, axis) == 1 else None
