"""Addresses in one channel: no overlap of what lives together, low peaks, quickly."""

import random
import time

from ttc.dialects.netlist.occupancy import HeldBytes, most_alive
from ttc.passes.netlist.memory import MemoryBlock, MemoryPacking, pack


def overlaps(blocks: list[MemoryBlock], packing: MemoryPacking) -> list[tuple[int, int]]:
    found = []
    for i, (a, x) in enumerate(zip(blocks, packing.addresses, strict=True)):
        for j, (b, y) in enumerate(zip(blocks[:i], packing.addresses, strict=False)):
            together = a.first <= b.last and b.first <= a.last
            if together and x < y + b.size_bytes and y < x + a.size_bytes:
                found.append((i, j))
    return found


def bound(blocks: list[MemoryBlock]) -> int:
    return most_alive(HeldBytes(0, b.size_bytes, b.first, b.last) for b in blocks)


def test_an_address_is_used_again_after_its_first_holder_died() -> None:
    packing = pack([MemoryBlock(512, 0, 1), MemoryBlock(512, 2, 3), MemoryBlock(512, 4, 4)], 96)
    assert packing == MemoryPacking((96, 96, 96), 512)


def test_what_lives_all_the_time_lies_at_the_bottom() -> None:
    packing = pack([MemoryBlock(64, 1, 1), MemoryBlock(128, 0, 9), MemoryBlock(32, 3, 3), MemoryBlock(32, 0, 9)], 0)
    assert packing == MemoryPacking((160, 0, 160, 128), 224)


def test_nothing_takes_nothing() -> None:
    assert pack([], 4096) == MemoryPacking((), 0)


def test_a_gap_is_filled() -> None:
    """The long one leaves no hole that the short ones could not share."""
    blocks = [MemoryBlock(96, 0, 2), MemoryBlock(32, 0, 5), MemoryBlock(64, 3, 5), MemoryBlock(32, 3, 5)]
    packing = pack(blocks, 0)
    assert overlaps(blocks, packing) == []
    assert packing.peak_bytes == bound(blocks) == 128


def test_random_blocks_come_close_to_the_bound() -> None:
    generator = random.Random(5)
    for _ in range(20):
        blocks = []
        for _ in range(60):
            first = generator.randrange(40)
            blocks.append(MemoryBlock(32 * generator.randrange(1, 40), first, first + generator.choice([0, 1, 1, 2, 10])))
        packing = pack(blocks, 64)
        assert overlaps(blocks, packing) == []
        assert packing.peak_bytes <= 1.1 * bound(blocks)
        assert pack(blocks, 64) == packing


def test_thousands_of_blocks_are_packed_quickly() -> None:
    generator = random.Random(7)
    blocks = [MemoryBlock(32 * generator.randrange(1, 400), e, e + generator.choice([1, 1, 4])) for e in range(300) for _ in range(10)]
    begin = time.process_time()
    packing = pack(blocks, 0)
    seconds = time.process_time() - begin
    assert packing.peak_bytes <= 1.1 * bound(blocks)
    assert seconds / len(blocks) < 1e-3
