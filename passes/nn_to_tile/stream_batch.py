"""Streaming an independent batch through the device, one microbatch at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd, prod
from typing import Any, ClassVar

from xdsl.dialects.builtin import ArrayAttr, FunctionType

from ttc.dialects.core.batch_axis import BatchAxis
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.ir.adapter import set_type
from ttc.dialects.core.ir.attributes import WeightAttr, attribute
from ttc.dialects.core.ir.entries import INPUT_COUNT, entry_functions, ports
from ttc.dialects.core.ir.leaves import LeafOp
from ttc.dialects.core.ir.spec import Spec, spec_of, tensor_type
from ttc.dialects.core.machines.targets import Target
from ttc.dialects.core.records import record
from ttc.dialects.nn.base import NNOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn_to_tile.carriers import Carriers
from ttc.passes.nn_to_tile.repeated_rows import RepeatedRows
from ttc.passes.tile_to_netlist.layouts import divisors

WEIGHTS_SHARE = 0.8
"""How much of DRAM weights may take, beside what flows between epochs."""
SLACK = 1.1
"""The ratio of padded tiles a sample up to which a smaller microbatch is taken."""
SEQUENCES = 3
"""The rank of a batch of sequences of rows."""
SEQUENCE_ROWS = 128
"""Rows of the longest sequences of a microbatch below which products are too small to be shared among cores: 4 tiles."""
MANY = 16
"""Microbatches that remain where samples of short sequences go together: fewer leave cores idle while epochs begin and end."""


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
        batches = [Carriers.of(function, rows.has) for function in entry_functions(unit.module) if INPUT_COUNT not in function.attributes]
        replicas = self._replicas(batches, unit, rewriter)
        for batch in batches:
            self._stream(batch, rows, rewriter, replicas)

    def _replicas(self, batches: list[Carriers], unit: Unit, rewriter: Rewriter) -> int:
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
                reason = batch.reason or (f"a batch of {batch.size}" if batch.size > 1 else "a batch of one")
                rewriter.missed(batch.function, f"{self.chips} chips compute no parts of the batch: {reason}")
            if count > 1 and not rewriter.allow("divide-batch", batch.function):
                return 1
        return count

    def _stream(self, batch: Carriers, rows: RepeatedRows, rewriter: Rewriter, replicas: int) -> None:
        function, size = batch.function, batch.size
        if size == 1:
            return
        if batch.reason is not None:
            rewriter.missed(function, f"the batch of {size} is not streamed: {batch.reason}")
            return
        each = size // replicas
        asked = self.samples if self.samples is not None and each % self.samples == 0 else None
        samples = asked or microbatch(
            size, [(spec_of(v.type), at) for v, at in batch.axes.items() if not isinstance(v.owner, LeafOp)], each
        )
        if samples == size:
            rewriter.missed(function, f"the batch of {size} is one microbatch: smaller ones fill less of their tiles, or of the cores")
            return
        if not rewriter.allow("stream-batch", function, required=replicas > 1):
            return
        for leaf, at in batch.leaves:
            key = rows.cut(leaf, at, size // samples)
            rewriter.applied(function, f"a constant holds the same rows for each of {size} samples: '{key}' those of {samples}")
        resize_batch(batch, samples)
        if replicas > 1:
            function.attributes["ttc.replicas"] = attribute(replicas)
            function.attributes[INPUT_COUNT] = attribute(each // samples)
            chips = self.chips // replicas
            on = "each on a chip" if chips == 1 else f"each on a pipeline of {chips} chips"
            rewriter.applied(
                function, f"{replicas} replicas of the program, {on}, divide a batch of {size}", replicas=replicas, chips=chips
            )
        rewriter.applied(function, f"a batch of {each} is streamed as {each // samples} microbatches of {samples}", samples=samples)


def independent(batches: Sequence[Carriers]) -> int:
    """Return a number that divides the batches of all programs, the largest one; 1 if samples of one may depend on each other."""
    whole = all(batch.is_divisible for batch in batches)
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


def microbatch(size: int, values: Sequence[tuple[Spec, BatchAxis]], each: int | None = None) -> int:
    """Return the samples of a microbatch: the smallest divisor of the batch that wastes little tile padding, and has rows enough for many
    cores.

    Args:
        size: of the batch.
        values: that carry it, each with the place.
        each: samples of a replica, which are divided instead of the whole batch, if there are replicas.
    """
    samples = divisors(each or size)[::-1]
    cost = {m: sum(_padded_tiles(at.resized(spec.shape, size, m), at) for spec, at in values) / m for m in samples}
    least = min(cost.values())
    frugal = [m for m in samples if cost[m] <= SLACK * least]
    sequences = [spec.shape[0] * spec.shape[1] // size for spec, at in values if spec.rank == SEQUENCES and at.axis < SEQUENCES - 1]
    longest = max(sequences, default=SEQUENCE_ROWS)
    joined = [m for m in frugal if m == frugal[0] or samples[-1] // m >= MANY]
    return next((m for m in joined if m * longest >= SEQUENCE_ROWS), joined[-1])


def _padded_tiles(shape: tuple[int, ...], at: BatchAxis) -> int:
    """Return tiles of a value; where samples are rows of several matrices, each of these has tiles of its own."""
    *lead, cols = shape if len(shape) > 1 else (*shape, 1)
    *matrices, rows = lead if 0 < at.axis == len(lead) - 1 else [prod(lead)]
    return prod(matrices) * -(-rows // 32) * -(-cols // 32)


def resize_batch(batch: Carriers, samples: int) -> None:
    """Give every value that carries the batch its microbatch shape, by inferring all types anew; constants must have theirs before."""
    function, size = batch.function, batch.size
    arguments, results = ports(function)
    given, last = list(function.body.block.args), function.body.block.last_op
    places = [batch.axes.get(value) for value in given], [batch.axes.get(value) for value in (() if last is None else last.operands)]
    for argument, at in zip(given, places[0], strict=True):
        if at is not None:
            spec = spec_of(argument.type)
            set_type(argument, tensor_type(Spec(at.resized(spec.shape, size, samples), spec.dtype)))
    for op in list(function.body.block.ops):
        if isinstance(op, NNOp) and op in batch.steps:
            _rebuild(op, batch.steps[op].attrs(op.plain_attrs(), size, samples))
    types = [v.type for v in last.operands] if last is not None else []
    function.function_type = FunctionType.from_lists([a.type for a in function.body.block.args], types)
    function.arg_attrs, function.res_attrs = (
        ArrayAttr([replace(port, streamed=at).attribute() for port, at in zip(named, at_, strict=True)])
        for named, at_ in zip((arguments, results), places, strict=True)
    )
    function.attributes[INPUT_COUNT] = attribute(size // samples)


def _rebuild(op: NNOp, attrs: dict[str, Any]) -> None:
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
