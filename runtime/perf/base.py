"""What the cost of an op is computed from, and the table of measured constants."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import yaml

from ttc.dialects.core.numerics import FIDELITIES
from ttc.dialects.core.plain import Function, Plain, TensorType

PHASES = {name: phases for phases, name in enumerate(FIDELITIES, 1)}
"""Passes of the multiplier at each fidelity."""


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
    """

    op: str
    attrs: dict[str, Plain]
    operands: tuple[TensorType | None, ...]
    result: TensorType
    fidelity: str
    body: Function | None = None
    intermediate: str = "Float32"

    def operand(self, index: int) -> TensorType:
        """A required operand's type."""
        found = self.operands[index]
        if found is None:
            raise IndexError(f"{self.op} has no operand {index}")
        return found


@dataclass(frozen=True)
class Share:
    """What one core computes of the result: t slices of rows x cols tiles, in ublocks of `ublock` tiles (rows, columns).

    reread: whether the op reads its input several times: once a tap of its window, or once for each statistic of a row and the result.
    """

    t: int
    rows: int
    cols: int
    ublock: tuple[int, int]
    reread: bool = False

    @property
    def tiles(self) -> int:
        return self.t * self.rows * self.cols

    @property
    def blocks(self) -> int:
        """Number of ublocks."""
        return -(-self.tiles // (self.ublock[0] * self.ublock[1]))


@cache
def costs(arch: str) -> dict[str, Any]:
    """Constants of an architecture; those of wormhole_b0 where none were measured."""
    text = (resources.files("ttc.runtime.perf") / "data" / "costs.yaml").read_text(encoding="utf-8")
    table: dict[str, Any] = yaml.safe_load(text)
    usual, own = table["wormhole_b0"], table.get(arch, {})
    return {key: {**value, **own.get(key, {})} if isinstance(value, dict) else own.get(key, value) for key, value in usual.items()}
