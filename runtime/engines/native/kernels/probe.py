"""A kernel that does nothing but multiply and add: how fast the CPU is at best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ttc.runtime.engines.native.kernels.kernel import Kernel

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.writer import Writer


@dataclass(frozen=True)
class MultiplyAdd(Kernel):
    """Computes, for each task, CHAINS independent fused multiply-adds on whole vectors of float32: s = s a + b.

    Words: a, b (float32; a < 1, so that s stays finite), address of a vector that takes the sum of all s.
    CHAINS: enough to hide the latency of two instructions a cycle, and few enough for 16 registers.
    """

    CHAINS: ClassVar[int] = 12

    def emit(self, f: Writer) -> None:
        """Emit chains of multiplications and additions; see `Kernel.emit`."""
        a, b = f.spread(f.real(0), f.lanes), f.spread(f.real(1), f.lanes)
        sums = [f.variable(b) for _ in range(self.CHAINS)]
        with f.loop(f.begin, f.end):
            for s in sums:
                s.set(f.fma(s.get(), a, b))
        total = sums[0].get()
        for s in sums[1:]:
            total = total + s.get()
        f.store(total, f.pointer(2))
