"""One op on its cores: operands are unpacked, computed in the destination register, and packed."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain import interpret
from ttc.dialects.core.plain.functions import TensorType, Work
from ttc.dialects.netlist.model import Op
from ttc.dialects.netlist.op_attributes import is_approximate
from ttc.dialects.tile.facts import moves
from ttc.runtime.engines.exact import registers
from ttc.runtime.engines.exact.registers import Product

Rule: TypeAlias = Callable[..., "NDArray | tuple[NDArray, ...]"]
"""A function called like the kernel of an op, with the core before the operands."""

TILE_SIDE = 32
MATRIX_FUNCTIONS = frozenset({"add", "sub", "mul"})
"""Elementwise functions that the matrix engine computes; all others run in Float32 on what lies in the destination register."""


@dataclass(frozen=True)
class Core:
    """The arithmetic of one op.

    Args:
        op: whose fidelity, formats and K blocks count.
        rules: of ops that use the matrix engine, by mnemonic.
        noise: for stochastic rounding; None rounds to nearest.
    """

    op: Op
    rules: dict[str, Rule]
    noise: np.random.Generator | None = None

    # ---- what rules use ----

    def unpack(self, values: NDArray) -> NDArray:
        """Return values as SrcA and SrcB hold them."""
        return registers.unpack(values, self.op.accumulate)

    def multiply(self, product: Product, a: NDArray, b: NDArray) -> NDArray:
        """Return a bilinear function of unpacked values, a in SrcA and b in SrcB, by the op's fidelity."""
        return registers.multiply(product, a, b, self.op.fidelity)

    @property
    def approximate(self) -> bool:
        """Whether the op's functions are computed in their coarser form."""
        return is_approximate(self.op.settings)

    @property
    def in_one_block(self) -> bool:
        """Whether partial sums are held in Float32 throughout, so that blocks make no difference."""
        return self.op.accumulate == self.op.intermediate == "Float32"

    @property
    def block(self) -> int:
        """The elements of the inner dimension that are summed before partial sums are spilled."""
        return self.block_tiles * TILE_SIDE

    @property
    def block_tiles(self) -> int:
        """The tiles of the inner dimension that are summed before partial sums are spilled."""
        return max(self.op.inner[1], 1) if self.op.inner is not None else 1

    def accumulate(self, parts: Iterable[NDArray]) -> NDArray:
        """Return the sum of the products of K blocks, spilled in the intermediate format between them.  Raises E0609 for no part at all."""
        total: NDArray | None = None
        for part in parts:
            total = part if total is None else self._narrow(total, self.op.intermediate) + part
            total = self._narrow(total, self.op.accumulate)
        if total is None:
            raise Error("E0609", "a sum has no blocks to add up")
        return total

    # ---- execution ----

    def execute(self, work: Work, operands: Sequence[NDArray | None], resolve: interpret.Resolver | None) -> list[NDArray]:
        """Run one op from memory to memory, like `interpret.run_work`; what only moves elements bypasses the registers."""
        if work.op.startswith("ttc.") or moves(work) or _copies(work):
            return interpret.run_work(work, operands, resolve)
        return self._compute(work, [None if x is None else self.unpack(x) for x in operands], resolve)

    def _in_region(self, work: Work, operands: Sequence[NDArray | None], resolve: interpret.Resolver | None) -> list[NDArray]:
        """Run one op of a region: values stay in the destination register unless the matrix engine needs them."""
        if work.attrs.get("fn") in MATRIX_FUNCTIONS:
            operands = [None if x is None else self.unpack(x) for x in operands]
        return interpret.run_work(work, operands, resolve) if work.op.startswith("ttc.") else self._compute(work, operands, resolve)

    def _compute(self, work: Work, operands: Sequence[NDArray | None], resolve: interpret.Resolver | None) -> list[NDArray]:
        try:
            with np.errstate(all="ignore"):
                results = self._results(work, operands, resolve)
                return [self._pack(np.asarray(value), type_) for value, type_ in zip(results, work.results, strict=True)]
        except Error as error:
            raise error.at(" + ".join(work.location) or work.op) from None

    def _results(self, work: Work, operands: Sequence[NDArray | None], resolve: interpret.Resolver | None) -> Sequence[NDArray]:
        if work.body is not None:
            return interpret.run(work.body, [x for x in operands if x is not None], resolve, self._in_region)
        rule = self.rules.get(work.op.partition(".")[2])
        found = rule(self, *operands, **work.attrs) if rule is not None else interpret.kernel(work.op)(*operands, **work.attrs)
        return found if isinstance(found, tuple) else (found,)

    def _pack(self, values: NDArray, type_: TensorType) -> NDArray:
        return self._narrow(self._narrow(values, self.op.accumulate), type_.format)

    def _narrow(self, values: NDArray, format: str) -> NDArray:
        if format == "Float32" and values.dtype == np.float32:
            return values
        return registers.narrow(values, format, self.noise)


def _copies(work: Work) -> bool:
    """Return whether an op is a copy into Float32, which holds all elements as they are: what a slice of everything becomes."""
    return work.op == "tile.map" and work.attrs.get("fn") == "identity" and work.results[0].format == "Float32"


def noise_of(seed: int | None, op: Op, inputs: Sequence[NDArray]) -> np.random.Generator | None:
    """Return the source of noise of one op on its inputs: the same whenever it runs on these, another for every op and for other inputs.

    So runs repeat to the bit, also those that go on from a checkpoint, and the updates of a training do not all round the same way.
    """
    if seed is None:
        return None
    number = zlib.crc32(op.name.encode())
    for array in inputs:
        number = zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data, number)
    return np.random.default_rng([seed, number])
