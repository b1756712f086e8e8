"""Addresses of queues: the docstring's example, memories of chips and of the host, remarks, what does not fit."""

from __future__ import annotations

import pytest

from tests.passes.module_pairs import check_pair, parse_unit
from tests.passes.netlist.three_graphs import GRAPHS, QUEUES, RUN, program
from ttc.dialects.core.errors import Error
from ttc.dialects.core.rules.queues import QueueRule
from ttc.dialects.netlist.model import Grid
from ttc.dialects.netlist.ops import graphs_of, queues_of
from ttc.passes.base import Remark, Unit
from ttc.passes.manager import run_pass
from ttc.passes.netlist.allocate_memory import AllocateMemory

TILE = '!tile.tensor<"32x32xFloat32", "tiles(32, 32)">'
MIB = 1 << 20


def sized(name: str, size: int, kind: str = "constant", **fields: object) -> str:
    given = {"kind": kind, "location": "dram", "type": "ram", "chip": 0} | fields
    text = ", ".join(f'{key} = "{value}"' if isinstance(value, str) else f"{key} = {value}" for key, value in given.items())
    return (
        f'netlist.queue() {{sym = "{name}", buffer_bytes = {size}, grid = [1, 1], {text}, tensor = {TILE}}} : () -> () loc("layer_{name}")'
    )


def allocated(*lines: str, target: str = "n150", **options: object) -> tuple[Unit, list[Remark]]:
    unit = parse_unit("\n".join(lines), target)
    report = run_pass(AllocateMemory(**options), unit)  # pyright: ignore[reportArgumentType]
    return unit, report.remarks


def places(unit: Unit) -> dict[str, tuple[tuple[int, int], ...]]:
    return {name: queue.buffers or () for name, queue in queues_of(unit.module).items()}


def test_docstring() -> None:
    check_pair(AllocateMemory())


def test_each_chip_has_memory_of_its_own() -> None:
    unit, _ = allocated(sized("a", MIB), sized("b", MIB, chip=1), target="n300", placement="round_robin")
    assert len(set(places(unit).values())) == 1


def test_the_remark_tells_peak_and_bound() -> None:
    queues = [text.replace("kind =", "buffer_bytes = 4160, grid = [1, 1], kind =", 1) for text in QUEUES]
    unit, remarks = allocated(*queues, *GRAPHS, program(*RUN))
    assert [queues_of(unit.module)[name].lifetime for name in "xwaby"] == [(0, 0), None, (0, 1), (1, 2), (2, 2)]
    assert [r.data for r in remarks] == [{"chip": 0, "peak_bytes": 12480, "bound_bytes": 12480, "channels": (4160, 4160, 4160, 0, 0, 0)}]
    assert remarks[0].message == "DRAM of chip 0: peak 12,480 bytes, at least 12,480 are alive at one time, 0.0 % fragmented"


def test_nothing_shares_the_memory_of_a_stash() -> None:
    """As an edge it would lie where the input does, which nothing reads later in either program."""
    queues = [text.replace("kind =", "buffer_bytes = 4160, grid = [1, 1], kind =", 1) for text in QUEUES]
    programs = [program(*RUN[:2]), program(RUN[0], RUN[2]).replace('sym = "p"', 'sym = "back"')]
    rule = tuple(QueueRule(name, channel=0) for name in "xwaby")
    found: dict[str, list[int]] = {}
    for kind in ("edge", "stash"):
        text = [q.replace('"edge"', f'"{kind}"') if '"b"' in q else q for q in queues]
        unit, _ = allocated(*text, *GRAPHS, *programs, rules=rule)
        found[kind] = sorted(address for ((_, address),) in places(unit).values())
        assert queues_of(unit.module)["b"].lifetime == (None if kind == "stash" else (1, 1))
    assert len(set(found["edge"])) == 4
    assert len(set(found["stash"])) == 5


def test_memory_that_cores_reach_is_apart_from_the_programs_own() -> None:
    queues = [text.replace("kind =", "buffer_bytes = 4160, grid = [1, 1], kind =", 1) for text in QUEUES]
    queues[0] = queues[0].replace('"dram"', '"host"')
    text = "\n".join([*queues, *GRAPHS, program(*RUN), sized("z", 5000, location="host")])
    unit = parse_unit(text)
    for graph in graphs_of(unit.module).values():
        for op in graph.ops:
            op.place = Grid(0, 0, 1, 1)
    run_pass(AllocateMemory(), unit)
    assert places(unit)["x"][0][0] in (1, 2)  # the channels whose top is not reserved
    assert places(unit)["z"] == ((4, 0),)


def test_a_channel_that_the_user_asks_for() -> None:
    unit, _ = allocated(sized("a", MIB), sized("b", MIB), rules=(QueueRule("layer_b", channel=5), QueueRule("a", channel=5)))
    assert {channel for spots in places(unit).values() for channel, _ in spots} == {5}


def test_a_channel_that_is_not_there() -> None:
    with pytest.raises(Error, match=r"queue 'a'.*no channel 6 of DRAM for it: n150 has 0 to 5") as caught:
        allocated(sized("a", MIB), rules=(QueueRule("a", channel=6),))
    assert caught.value.code == "E0504"


def test_a_channel_that_is_full() -> None:
    with pytest.raises(Error, match="queue 'b' finds no room") as caught:
        allocated(sized("a", 1200 * MIB), sized("b", 1000 * MIB), rules=(QueueRule("?", channel=3),))
    assert caught.value.code == "E0503"


def test_too_much_lists_the_largest_queues_and_what_would_help() -> None:
    queues = [sized(f"w{i}", size) for i, size in enumerate([1 << 20, 1 << 31, 1 << 10])]
    with pytest.raises(Error, match=r"queue 'w1' finds no room in the 12,383,158,272 bytes of DRAM of n150: each of its buffers") as caught:
        allocated(*queues, sized("x", MIB, "input", type="queue", entries=4))
    assert caught.value.code == "E0503"
    lines = (caught.value.excerpt or "").splitlines()
    assert lines[1] == "w1: 2,147,483,648 bytes, constant of Float32[32, 32] (layer_w1)"
    assert lines[3] == "x: 1,048,576 bytes, input of Float32[32, 32], 4 entries (layer_x)"
    hint = caught.value.hint or ""
    assert hint.startswith("a smaller format (--format Bfp8_b) saves about 1,57")
    assert "half the batch saves up to 524,288" in hint
    assert "inputs and outputs in host memory save 1,048,576" in hint


def test_where_memory_is_short_room_alone_counts() -> None:
    """In turn, the small ones leave no channel with room for the large one; the largest first, all fit."""
    sizes = [450] * 14 + [900]
    unit, _ = allocated(*[sized(f"w{i:02}", size * MIB) for i, size in enumerate(sizes)], target="e150", placement="round_robin")
    assert len(set(places(unit).values())) == len(sizes)


def test_host_memory_that_is_full() -> None:
    text = "\n".join([*QUEUES, *GRAPHS, program(*RUN)]).replace('location = "dram", chip = 0', f'location = "host", chip = 0, {BIG}')
    unit = parse_unit(text, "e150")
    for graph in graphs_of(unit.module).values():
        for op in graph.ops:
            op.place = Grid(0, 0, 1, 1)
    with pytest.raises(Error, match="finds no room in the 939,524,096 bytes of host memory that e150 reaches") as caught:
        run_pass(AllocateMemory(), unit)
    assert caught.value.code == "E0503"


BIG = f"buffer_bytes = {400 * MIB}, grid = [1, 1]"


def test_more_chips_would_help() -> None:
    with pytest.raises(Error, match="13 queues take") as caught:
        allocated(*[sized(f"w{i:02}", 1000 * MIB) for i in range(13)], target="n300")
    assert "--chips 2 spreads them over as many chips" in (caught.value.hint or "")
