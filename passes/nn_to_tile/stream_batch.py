"""Streaming an independent batch through the device, one microbatch at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import gcd, prod
from typing import Any, ClassVar

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, FunctionType
from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.formats import format_named
from ttc.dialects.core.ir.adapter import set_type
from ttc.dialects.core.ir.attributes import WeightAttr, attribute
from ttc.dialects.core.ir.entries import INPUT_COUNT, Port, entry_functions, ports
from ttc.dialects.core.ir.leaves import LeafOp, StateOp
from ttc.dialects.core.ir.spec import Spec, spec_of, tensor_type
from ttc.dialects.core.machines.targets import Target
from ttc.dialects.core.records import record
from ttc.dialects.nn.base import NNOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn_to_tile.repeated_rows import RepeatedRows, keeps_samples, repeated_values
from ttc.passes.tile_to_netlist.layouts import divisors

WEIGHTS_SHARE = 0.8
"""How much of DRAM weights may take, beside what flows between epochs."""
SLACK = 1.1
"""The ratio of padded tiles a sample up to which a smaller microbatch is taken."""
SEQUENCES = 3
"""The rank of a batch of sequences of rows."""
SEQUENCE_ROWS = 128
"""Rows of the longest sequences of a microbatch below which products are too small to be shared among cores: 4 tiles."""


@record
class StreamBatch(Pass):
    """Cut an independent batch of N samples into microbatches of m, which the device streams through its pipeline of ops.

    m is the smallest divisor of N whose tiles are filled about as well as the best divisor's, unless one is asked for.  A constant with
    the same rows for each sample, as exporters make one of a row that a model expands, is cut to those of m samples.

    Where there are several chips, replicas of the program divide the batch: as many as divide it and the chips, each on as many chips,
    whose DRAM holds all weights of the program.  The attribute `ttc.replicas` says how many; microbatches are then counted for one of them.

    Before:
        func.func @forward(%x: tensor<64x10xf32> {ttc.name = "x"}) -> (tensor<64x10xf32> {ttc.name = "y"}) {
          %y = nn.relu(%x) : (tensor<64x10xf32>) -> tensor<64x10xf32>
          func.return %y : tensor<64x10xf32>
        }
    After:
        func.func @forward(%x: tensor<32x10xf32> {ttc.name = "x", ttc.streamed}) -> (tensor<32x10xf32> {ttc.name = "y", ttc.streamed})
            attributes {ttc.input_count = 2 : i64} {
          %y = nn.relu(%x) : (tensor<32x10xf32>) -> tensor<32x10xf32>
          func.return %y : tensor<32x10xf32>
        }

    Missed:
        it takes microbatches already; a state is read or updated; an op mixes samples, or is not known not to; a result does not carry
        the batch; a tensor has no elements.

    Args:
        samples: of a microbatch, for batches that they divide; None: as tiles are filled.
        chips: among which replicas may be divided; 1: there are none.
        format: in which floating-point weights are stored; None: as the source has them.
        replicas: how many there are, where batches can be divided among so many; None: as said above.
    """

    name: ClassVar[str] = "stream-batch"
    samples: int | None = None
    chips: int = 1
    format: str | None = None
    replicas: int | None = None

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        if unit.target.is_host:
            return
        rows = RepeatedRows(unit)
        batches = [Batch.of(function, rows) for function in entry_functions(unit.module) if INPUT_COUNT not in function.attributes]
        replicas = self._replicas(batches, unit, rewriter)
        for batch in batches:
            self._stream(batch, rows, rewriter, replicas)

    def _replicas(self, batches: list[Batch], unit: Unit, rewriter: Rewriter) -> int:
        """Return how many replicas divide the batches of all programs, which share memory."""
        if self.chips == 1:
            return 1
        whole = independent(batches)
        most = gcd(self.chips, whole) if self.replicas is None else gcd(self.replicas, whole)
        count = with_room(most, self.chips, unit, self.format)
        for batch in batches:
            if count < most:
                rewriter.missed(batch.function, f"chips have no room for the weights of {most} replicas: there are {count}")
            elif count == 1:
                reason = batch.reason or (f"a batch of {batch.size}" if batch.carried else "a batch of one")
                rewriter.missed(batch.function, f"{self.chips} chips compute no parts of the batch: {reason}")
            if count > 1 and not rewriter.allow("divide-batch", batch.function):
                return 1
        return count

    def _stream(self, batch: Batch, rows: RepeatedRows, rewriter: Rewriter, replicas: int) -> None:
        function, carried, size = batch.function, batch.carried, batch.size
        if not carried:
            return
        if batch.reason is not None:
            rewriter.missed(function, f"the batch of {size} is not streamed: {batch.reason}")
            return
        each = size // replicas
        asked = self.samples if self.samples is not None and each % self.samples == 0 else None
        samples = asked or microbatch(size, [spec_of(v.type) for v in carried if not isinstance(v.owner, LeafOp)], each)
        if samples == size or not rewriter.allow("stream-batch", function, required=replicas > 1):
            return
        for leaf in [v.owner for v in carried if isinstance(v.owner, LeafOp)]:
            key = rows.cut(leaf, size // samples)
            rewriter.applied(function, f"a constant holds the same rows for each of {size} samples: '{key}' those of {samples}")
        resize_batch(function, carried, size, samples)
        if replicas > 1:
            function.attributes["ttc.replicas"] = attribute(replicas)
            function.attributes[INPUT_COUNT] = attribute(each // samples)
            chips = self.chips // replicas
            on = "each on a chip" if chips == 1 else f"each on a pipeline of {chips} chips"
            rewriter.applied(
                function, f"{replicas} replicas of the program, {on}, divide a batch of {size}", replicas=replicas, chips=chips
            )
        rewriter.applied(function, f"a batch of {each} is streamed as {each // samples} microbatches of {samples}", samples=samples)


def independent(batches: Sequence[Batch]) -> int:
    """Return a number that divides the batches of all programs, the largest one; 1 if samples of one may depend on each other."""
    whole = all(batch.carried and batch.reason is None for batch in batches)
    return gcd(*(batch.size for batch in batches)) if whole and batches else 1


def with_room(most: int, chips: int, unit: Unit, format: str | None) -> int:
    """Return the largest divisor of a number of replicas so that the chips of each hold all weights.  format: of floating-point ones."""
    if most == 1:
        return 1
    weights, room = weight_bytes(unit, format), WEIGHTS_SHARE * dram_bytes(unit.target)
    return next((count for count in divisors(most) if weights <= room * (chips // count)), 1)


def dram_bytes(target: Target) -> int:
    """Return the bytes of a chip's DRAM that queues may take."""
    return target.dram_channels * (target.dram_channel_bytes - target.dram_reserved_bytes)


def weight_bytes(unit: Unit, format: str | None) -> int:
    """Return bytes that the weights of all programs take, each counted once.  format: of floating-point ones, None: the source's."""
    found: dict[str, int] = {}
    for op in unit.module.walk():
        if isinstance(op, LeafOp) and op.key is not None and isinstance(op.value, WeightAttr):
            spec = op.value.spec
            stored = format is not None and spec.dtype.kind == "f"
            found[op.key] = format_named(str(format)).size_bytes(spec.shape) if stored else prod(spec.shape) * spec.dtype.itemsize
    return sum(found.values())


@record(frozen=False)
class Batch:
    """A program, the values that carry its batch, why its samples may depend on others, and how many they are."""

    function: func.FuncOp
    carried: set[SSAValue]
    reason: str | None
    size: int

    @staticmethod
    def of(function: func.FuncOp, rows: RepeatedRows) -> Batch:
        """Return the batch of a program."""
        carried, reason = batch_carriers(function, rows.has)
        return Batch(function, carried, reason, spec_of(function.body.block.args[0].type).shape[0] if carried else 1)


def batch_carriers(function: func.FuncOp, repeats: Callable[[LeafOp, int], bool] | None = None) -> tuple[set[SSAValue], str | None]:
    """Return the values that carry the batch of a function, the first dimension of its first input, and why samples may depend on others.

    Nothing carries a batch of one.

    Args:
        repeats: whether a constant has the same rows for each of so many samples; where an op asks for rows of each sample, it then is
            among the values, as what a model expands to the batch is.  None: neither ever carries the batch.
    """
    block = function.body.block
    shapes = [spec_of(a.type).shape for a in block.args]
    size = shapes[0][0] if shapes and shapes[0] else 1
    if size <= 1:
        return set(), None
    given: set[SSAValue] = {a for a, shape in zip(block.args, shapes, strict=True) if a.uses and shape and shape[0] == size}
    rows = {} if repeats is None else repeated_values(function, size, repeats)
    while True:
        carried = set(given)
        op, reason = _carry(function, carried, size)
        wanted = set() if op is None else set().union(*(rows.get(v, set()) for v in op.operands)) - given
        if not wanted:
            return carried, reason or _empty(carried)
        given |= wanted


def _carry(function: func.FuncOp, carried: set[SSAValue], size: int) -> tuple[Operation | None, str | None]:
    """Add every value that carries the batch to `carried`; returns the op at which samples may depend on others, and the reason."""
    for op in function.body.block.ops:
        if isinstance(op, StateOp):
            return op, "it reads a state"
        if isinstance(op, func.ReturnOp):
            return (None, None) if all(v in carried for v in op.operands) else (op, "a result does not carry the batch")
        if isinstance(op, NNOp) and any(v in carried for v in op.named_operands()):
            if not keeps_samples(op, carried, size):
                return op, f"{op.name} may mix samples"
            carried.update(op.results)
    return None, None


def _empty(carried: set[SSAValue]) -> str | None:
    """Return the reason if a value has no elements: how many samples it holds would not show."""
    return "a tensor has no elements" if any(0 in spec_of(v.type).shape for v in carried) else None


def microbatch(size: int, specs: list[Spec], each: int | None = None) -> int:
    """Return the samples of a microbatch: the smallest divisor of the batch that wastes little tile padding, and has rows enough for many
    cores.

    each: samples of a replica, which are divided instead of the whole batch, if there are replicas.
    """
    samples = divisors(each or size)[::-1]
    cost = {m: sum(_padded_tiles(spec, size, m) for spec in specs) / m for m in samples}
    least = min(cost.values())
    frugal = [m for m in samples if cost[m] <= SLACK * least]
    longest = max((spec.shape[1] * spec.shape[0] // size for spec in specs if spec.rank == SEQUENCES), default=SEQUENCE_ROWS)
    return next((m for m in frugal if m * longest >= SEQUENCE_ROWS), frugal[-1])


def _padded_tiles(spec: Spec, size: int, samples: int) -> int:
    *lead, cols = spec.shape if spec.rank > 1 else (*spec.shape, 1)
    rows = samples
    for index, dim in enumerate(lead):
        rows = rows * dim // size if index == 0 else rows * dim
    return -(-rows // 32) * -(-cols // 32)


def resize_batch(function: func.FuncOp, carried: set[SSAValue], size: int, samples: int) -> None:
    """Give every value that carries the batch its microbatch shape, by inferring all types anew; constants must have theirs before.

    Args:
        carried: the values, as `batch_carriers` finds them.
        size, samples: of the batch and the microbatch.
    """
    arguments, results = ports(function)
    streamed = [a in carried for a in function.body.block.args]
    for argument in list(function.body.block.args):
        if argument in carried:
            spec = spec_of(argument.type)
            set_type(argument, tensor_type(Spec((spec.shape[0] * samples // size, *spec.shape[1:]), spec.dtype)))
    for op in list(function.body.block.ops):
        if isinstance(op, LeafOp) or not isinstance(op, NNOp) or not any(r in carried for r in op.results):
            continue
        _rebuild(op, size, samples)
    last = function.body.block.last_op
    types = [v.type for v in last.operands] if last is not None else []
    function.function_type = FunctionType.from_lists([a.type for a in function.body.block.args], types)
    function.arg_attrs = ArrayAttr([_streamed(p, s).attribute() for p, s in zip(arguments, streamed, strict=True)])
    function.res_attrs = ArrayAttr([_streamed(p, streamed=True).attribute() for p in results])
    function.attributes[INPUT_COUNT] = attribute(size // samples)


def _streamed(port: Port, streamed: bool) -> Port:
    return replace(port, streamed=streamed)


def _rebuild(op: NNOp, size: int, samples: int) -> None:
    attrs: dict[str, Any] = op.rebatch(op.plain_attrs(), spec_of(op.results[0].type), size, samples)
    new = type(op).build(*op.named_operands(), location=op.location, **attrs)
    block = op.parent
    if block is None:
        return
    block.insert_op_before(new, op)
    for old_result, new_result in zip(op.results, new.results, strict=True):
        new_result.name_hint = old_result.name_hint
        old_result.replace_all_uses_with(new_result)
    op.detach()
    op.erase()
