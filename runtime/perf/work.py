"""What the cycle model counts: the work of one primitive on one core, and what it costs there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

OVERLAP = 8.0
"""The exponent of the mean that joins stages which overlap: with stages of equal length it is 9 % above the longest."""


class CoreWork(NamedTuple):
    """One primitive of Buda's vocabulary on one core, for one input (microbatch).

    Args:
        op: `nop`, `add`, `exp`, `reduce`, `splice`, `matmul`, `sparse_matmul`, `depthwise`, ... (Buda's types; see `functions.BUDA`).
        inputs: formats of the operands; output: of the result; intermediate: of partial results.
        fidelity: of the multiplier.
        t, mblock, ublock: as `netlist.model.Blocking` has them, for the result.
        inner: (m_k, u_kt) of products: outer and inner blocks of K, in tiles.
        z: results of how many matrices a `reduce` along z joins.
        vector: `rc`; `r` or `c` where a function works on the first rows or columns of a tile alone.
        dim: `r`, `c` or `z`, along which a `reduce` runs.
        approximate: the coarser form of a function.
        l1_acc: partial sums are added by the packer, in L1, and not reloaded.
        sparse: (strips, ublocks, tiles) of a sparse left operand that are not zero; all steps of t.
        then: functions applied to the result before it is packed.
        local: operands and result stay in L1 between the steps of one kernel: nothing passes the core's pipes.
    """

    op: str
    inputs: tuple[str, ...]
    output: str
    t: int = 1
    mblock: tuple[int, int] = (1, 1)
    ublock: tuple[int, int] = (1, 1)
    inner: tuple[int, int] = (1, 1)
    fidelity: str = "HiFi4"
    intermediate: str = "Float16_b"
    z: int = 1
    vector: str = "rc"
    dim: str = "r"
    approximate: bool = False
    l1_acc: bool = False
    sparse: tuple[int, int, int] | None = None
    then: tuple[str, ...] = ()
    local: bool = False

    @property
    def blocks(self) -> int:
        """The ublocks of the result, in all steps."""
        return self.t * self.mblock[0] * self.mblock[1]

    @property
    def ublock_tiles(self) -> int:
        return self.ublock[0] * self.ublock[1]

    @property
    def tiles(self) -> int:
        """The tiles of the result, in all steps."""
        return self.blocks * self.ublock_tiles


class OpCycles(NamedTuple):
    """The cycles of one core for one input.

    Args:
        math: of the matrix and vector engines.
        unpack: of reading operands out of L1 into the engines' registers.
        pack: of writing results into L1.
        pipes: of bringing operands to the core and taking results from it, one stream beside another, as in the timings of single ops.
        core: of the three engines overlapped, operands at hand; what a pipeline of ops needs besides its pipes.
        total: of engines and pipes overlapped: what was measured for a single op on silicon.
    """

    math: float
    unpack: float
    pack: float
    pipes: float
    core: float
    total: float

    @property
    def limit(self) -> str:
        """What takes longest: `math`, `unpack`, `pack` or `pipes`."""
        parts = {"math": self.math, "unpack": self.unpack, "pack": self.pack, "pipes": self.pipes}
        return max(parts, key=lambda name: parts[name])


NOTHING = OpCycles(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def overlapped(*stages: float, exponent: float = OVERLAP) -> float:
    """Return cycles of stages that run at the same time: the longest, and a little more where others are nearly as long."""
    longest = max(stages)
    if longest <= 0:
        return 0.0
    shares = 0.0
    for stage in stages:
        if stage > 0:
            shares += (stage / longest) ** exponent
    return longest * shares ** (1 / exponent)


def in_sequence(parts: Sequence[OpCycles]) -> OpCycles:
    """Return cycles of primitives that one core runs one after another in one kernel; their pipes overlap with all of them."""
    if len(parts) == 1:
        return parts[0]
    math, unpack, pack, pipes, core, _ = (sum(column) for column in zip(*parts, strict=True)) if parts else NOTHING
    return OpCycles(math, unpack, pack, pipes, core, overlapped(core, pipes))
