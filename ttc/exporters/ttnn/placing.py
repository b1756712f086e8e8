"""Where results lie on the device: in L1 while they are few and small, else in DRAM."""

from __future__ import annotations

from ttc.dialects.core.records import record

L1, DRAM = "L1", "DRAM"
SHARE = 1 / 6
"""The share of all cores' L1 that tensors may take: kernels need the rest for their buffers, which start at the other end."""
LARGEST = 1 / 24
"""The share of all cores' L1 that one tensor may take; larger ones gain little from it."""


@record(frozen=False)
class Placing:
    """The L1 of a device that tensors take while a program runs.

    Args:
        l1_bytes: of all cores that kernels and tensors share.
        live: bytes by name of the tensors in it.
    """

    l1_bytes: int
    live: dict[str, int]

    def place(self, name: str, size_bytes: int) -> str:
        """Choose the memory of a new tensor."""
        used = sum(self.live.values())
        if size_bytes > self.l1_bytes * LARGEST or used + size_bytes > self.l1_bytes * SHARE:
            return DRAM
        self.live[name] = size_bytes
        return L1

    def free(self, name: str) -> None:
        """Forget a tensor whose name is gone."""
        self.live.pop(name, None)
