"""What the cost of a tile op is computed from: the op, and one core's share of it."""

from __future__ import annotations

from dataclasses import dataclass

from ttc.dialects.core.numerics import FIDELITIES
from ttc.dialects.core.plain.functions import Function, Plain, TensorType
from ttc.dialects.netlist.sizes import WIDE_ACCUMULATE

PHASES = {name: phases for phases, name in enumerate(FIDELITIES, 1)}
"""The passes of the multiplier at each fidelity."""
DST_TILES = 8
"""Tiles of 16-bit values that half of the destination register holds, on all architectures."""


@dataclass(frozen=True)
class OpView:
    """The main tile op of a netlist op, without its place.

    Args:
        op: mnemonic in dialect tile (or nn, on the host).
        attrs: its attributes.
        operands: types of its operands as it reads them, after views; None for an absent one.
        result: type of its (first) result.
        fidelity: of the multiplier.
        body: region of an eltwise op.
        intermediate: format of partial results.
        l1_acc: whether packers add up partial sums of products in L1.
        approximate: whether functions are computed in their coarser form: of attention and normalizations the exponentials alone.
    """

    op: str
    attrs: dict[str, Plain]
    operands: tuple[TensorType | None, ...]
    result: TensorType
    fidelity: str
    body: Function | None = None
    intermediate: str = "Float32"
    l1_acc: bool = False
    approximate: bool = False

    def operand(self, index: int) -> TensorType:
        """Return the type of a required operand."""
        found = self.operands[index]
        if found is None:
            raise IndexError(f"{self.op} has no operand {index}")
        return found


@dataclass(frozen=True)
class Share:
    """The part of the result that one core computes: t slices of rows x cols tiles, in ublocks of `ublock` tiles (rows, columns).

    reread: whether the op reads its input several times: once a tap of its window, or once for each statistic of a row and the result.
    inner: (m_k, u_kt) of products, outer and inner blocks of K in tiles; None: as deep as L1 usually allows (`INNER`).
    """

    t: int
    rows: int
    cols: int
    ublock: tuple[int, int]
    reread: bool = False
    inner: tuple[int, int] | None = None

    @property
    def tiles(self) -> int:
        return self.t * self.rows * self.cols

    @property
    def blocks(self) -> int:
        """How many ublocks the core computes."""
        return self.t * self.mblock[0] * self.mblock[1]

    @property
    def mblock(self) -> tuple[int, int]:
        """The ublocks along rows and columns."""
        return -(-self.rows // self.ublock[0]), -(-self.cols // self.ublock[1])

    def k_blocks(self, tiles: int) -> tuple[int, int]:
        """Return (m_k, u_kt) of a product over that many tiles."""
        if self.inner is not None and self.inner[0] * self.inner[1] == tiles:
            return self.inner
        u_kt = next(d for d in range(min(INNER, max(tiles, 1)), 0, -1) if max(tiles, 1) % d == 0)
        return max(tiles, 1) // u_kt, u_kt


INNER = 8
"""The tiles of K that a product usually holds in L1 at a time."""


def dst_tiles(format_: str) -> int:
    """Return tiles in a format that a core computes at a time: those of 32 bits take the place of two."""
    return DST_TILES // 2 if format_ in WIDE_ACCUMULATE else DST_TILES
