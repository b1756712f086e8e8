"""Addresses of queues."""

import pytest

from tests.passes.module_pairs import check_pair, parse_unit
from ttc.dialects.core.errors import Error
from ttc.passes.manager import run_pass
from ttc.passes.netlist.allocate_memory import AllocateMemory


def test_docstring() -> None:
    check_pair(AllocateMemory())


def test_too_much_lists_the_largest_queues() -> None:
    t = '!tile.tensor<"32x32xFloat32", "tiles(32, 32)">'
    text = "\n".join(
        f'netlist.queue() {{buffer_bytes = {size}, grid = [1, 1], kind = "constant", location = "dram", sym = "w{i}", type = "ram", '
        f'tensor = {t}}} : () -> () loc("layer{i}")'
        for i, size in enumerate([1 << 20, 1 << 32, 1 << 10])
    )
    with pytest.raises(Error, match="'w1', find no room in the") as caught:
        run_pass(AllocateMemory(), parse_unit(text))
    assert caught.value.code == "E0503"
    assert (caught.value.excerpt or "").splitlines()[1] == "w1: 4,294,967,296 bytes (layer1)"
