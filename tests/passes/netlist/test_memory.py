"""Addresses in one channel: no overlap of what lives together, low peaks, quickly."""

import random
import time

from ttc.dialects.netlist.occupancy import Held, most_alive
from ttc.passes.netlist.memory import Block, Packing, pack


def overlaps(blocks: list[Block], packing: Packing) -> list[tuple[int, int]]:
    found = []
    for i, (a, x) in enumerate(zip(blocks, packing.addresses, strict=True)):
        for j, (b, y) in enumerate(zip(blocks[:i], packing.addresses, strict=False)):
            together = a.first <= b.last and b.first <= a.last
            if together and x < y + b.size_bytes and y < x + a.size_bytes:
                found.append((i, j))
    return found


def bound(blocks: list[Block]) -> int:
    return most_alive(Held(0, b.size_bytes, b.first, b.last) for b in blocks)


def test_an_address_is_used_again_after_its_first_holder_died() -> None:
    packing = pack([Block(512, 0, 1), Block(512, 2, 3), Block(512, 4, 4)], 96)
    assert packing == Packing((96, 96, 96), 512)


def test_what_lives_all_the_time_lies_at_the_bottom() -> None:
    packing = pack([Block(64, 1, 1), Block(128, 0, 9), Block(32, 3, 3), Block(32, 0, 9)], 0)
    assert packing == Packing((160, 0, 160, 128), 224)


def test_nothing_takes_nothing() -> None:
    assert pack([], 4096) == Packing((), 0)


def test_a_gap_is_filled() -> None:
    """The long one leaves no hole that the short ones could not share."""
    blocks = [Block(96, 0, 2), Block(32, 0, 5), Block(64, 3, 5), Block(32, 3, 5)]
    packing = pack(blocks, 0)
    assert overlaps(blocks, packing) == []
    assert packing.peak_bytes == bound(blocks) == 128


def test_random_blocks_come_close_to_the_bound() -> None:
    generator = random.Random(5)
    for _ in range(20):
        blocks = []
        for _ in range(60):
            first = generator.randrange(40)
            blocks.append(Block(32 * generator.randrange(1, 40), first, first + generator.choice([0, 1, 1, 2, 10])))
        packing = pack(blocks, 64)
        assert overlaps(blocks, packing) == []
        assert packing.peak_bytes <= 1.1 * bound(blocks)
        assert pack(blocks, 64) == packing


def test_thousands_of_blocks_are_packed_quickly() -> None:
    generator = random.Random(7)
    blocks = [Block(32 * generator.randrange(1, 400), e, e + generator.choice([1, 1, 4])) for e in range(300) for _ in range(10)]
    begin = time.process_time()
    packing = pack(blocks, 0)
    seconds = time.process_time() - begin
    assert packing.peak_bytes <= 1.1 * bound(blocks)
    assert seconds / len(blocks) < 1e-3
