"""Elementwise steps as the schedule of a fused op: which value stays in dest, which takes an intermediate buffer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Plain
from ttc.dialects.core.records import record
from ttc.dialects.netlist.buda.form import FusedOp, Pair, SubOp, Tm

MAX_INTERMEDIATES = 8
"""Buffers of a fused op."""
FPU = ("add", "subtract", "multiply")
"""Types that can broadcast within the tiles of their second input."""
EITHER_WAY = ("add", "multiply", "maximum")
"""Types whose inputs can be exchanged."""
NO_DEST = ("maximum", "quantization", "requantization", "dequantization")
"""Types that neither read dest nor write it."""


@record(slots=True)
class FusedInput:
    """An input of the fused op by its number."""

    index: int


@record(slots=True)
class FusedResult:
    """The result of a step by its number."""

    step: int


@record(slots=True)
class FusedStep:
    """One sub-op: its type, what it reads, how its second input is broadcast within tiles (r, c, rc), its attributes."""

    type: str
    operands: tuple[FusedInput | FusedResult, ...]
    spread: str = ""
    attributes: Mapping[str, Plain] = field(default_factory=dict)
    zero_point: float | None = None


@record(frozen=False)
class _Allocation:
    """Places of values while steps are laid out in order."""

    steps: list[FusedStep]
    last_use: dict[int, int]
    free: list[int]
    places: dict[int, str]


def scheduled(name: str, steps: list[FusedStep], inputs: int, blocks: tuple[Pair, Pair], *, floats: bool = True) -> FusedOp:
    """Return the steps, the last of which gives the output, in one schedule.

    Args:    inputs: how many the fused op has.  blocks: mblock and ublock of every sub-op.  floats: whether it computes with floating-point
             numbers: sums of integers cannot stay in dest.
    Raises:  E0503 where more than 8 values wait at a time.
    """
    steps = [_dest_first(at, step) for at, step in enumerate(steps)]
    last_use = {operand.step: at for at, step in enumerate(steps) for operand in step.operands if isinstance(operand, FusedResult)}
    allocation = _Allocation(steps, last_use, list(range(MAX_INTERMEDIATES)), {})
    used = 0
    sub_ops: list[SubOp] = []
    for at, step in enumerate(steps):
        pops = tuple(dict.fromkeys(_dying(allocation, at)))
        reads = tuple(f"input{o.index}" if isinstance(o, FusedInput) else allocation.places[o.step] for o in step.operands)
        output = "output" if at == len(steps) - 1 else _place(allocation, at, floats=floats)
        for pop in pops:
            allocation.free.append(int(pop.removeprefix("intermed")))
        allocation.free.sort()
        if output.startswith("intermed"):
            used = max(used, int(output.removeprefix("intermed")) + 1)
        tms = {1: (Tm("tile_broadcast", (step.spread,)),)} if step.spread else {}
        kind, attributes = step.type, dict(step.attributes)
        sub_ops.append(SubOp(f"{kind}{at}", kind, reads, output, *blocks, pops, (), step.zero_point, tms, attributes))
    return FusedOp(name, inputs, used, None, (tuple(sub_ops),))


def _dying(allocation: _Allocation, at: int) -> list[str]:
    """Buffers read for the last time by a step."""
    found = [o.step for o in allocation.steps[at].operands if isinstance(o, FusedResult) and allocation.last_use[o.step] == at]
    return [place for step in found if (place := allocation.places[step]) != "dest"]


def _dest_first(at: int, step: FusedStep) -> FusedStep:
    """Return a step with the result of the step before as its first input, which is where all chips read dest, if that changes nothing."""
    before = FusedResult(at - 1)
    if step.type not in EITHER_WAY or step.spread or len(step.operands) != 2 or step.operands[1] != before or step.operands[0] == before:
        return step
    return replace(step, operands=(before, step.operands[0]))


def _place(allocation: _Allocation, at: int, *, floats: bool) -> str:
    """dest where the next step alone reads the value, as its first input, and can from there; else a buffer."""
    steps = allocation.steps
    following = steps[at + 1]
    uses = [i for i, o in enumerate(following.operands) if o == FusedResult(at)]
    alone = allocation.last_use.get(at) == at + 1 and len(uses) == 1
    allowed = floats and steps[at].type not in NO_DEST and following.type not in NO_DEST
    if alone and allowed and uses == [0]:
        allocation.places[at] = "dest"
        return "dest"
    if not allocation.free:
        raise Error("E0503", f"a fused op of Buda holds {MAX_INTERMEDIATES} values at a time")
    allocation.places[at] = f"intermed{allocation.free.pop(0)}"
    return allocation.places[at]
