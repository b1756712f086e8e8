"""Every structural rule: a netlist that breaks it alone shows exactly its code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.netlist.checks import check, require_valid
from ttc.dialects.netlist.model import Blocking, Buffer, Grid, Host, Instruction, Netlist
from ttc.dialects.netlist.sizes import queue_buffer_bytes

TILED = TensorType((1, 64, 128), "Float32", "tiles(32, 32)")
Mutation = Callable[[Netlist], Netlist]


def queue(name: str, /, **changes: Any) -> Mutation:
    return lambda n: replace(n, queues={**n.queues, name: replace(n.queues[name], **changes)})


def graph(name: str, /, **changes: Any) -> Mutation:
    return lambda n: replace(n, graphs={**n.graphs, name: replace(n.graphs[name], **changes)})


def program(name: str, /, **changes: Any) -> Mutation:
    return lambda n: replace(n, programs={**n.programs, name: replace(n.programs[name], **changes)})


def chip(**changes: Any) -> Mutation:
    return lambda n: replace(n, chip=replace(n.chip, **changes))


def op(name: str, /, **changes: Any) -> Mutation:
    def mutate(n: Netlist) -> Netlist:
        graphs = {g.name: replace(g, ops=tuple(replace(o, **changes) if o.name == name else o for o in g.ops)) for g in n.graphs.values()}
        return replace(n, graphs=graphs)

    return mutate


def works(name: str, *items: Work, outputs: tuple[int, ...] = (1,), inputs: tuple[TensorType, ...] = (TILED,)) -> Mutation:
    return op(name, work=Function(inputs, items, outputs))


def buffers(name: str, *found: tuple[str, int, int, int]) -> Mutation:
    return op(name, buffers=tuple(Buffer(*f) for f in found))


def steps(*instructions: tuple[Any, ...], name: str = "forward") -> Mutation:
    return program(name, instructions=tuple(Instruction(opcode, args) for opcode, *args in ((i[0], *i[1:]) for i in instructions)))


def argument(**changes: Any) -> Mutation:
    return lambda n: program("forward", arguments=(replace(n.programs["forward"].arguments[0], **changes),))(n)


def result(name: str = "forward", **changes: Any) -> Mutation:
    return lambda n: program(name, results=(replace(n.programs[name].results[0], **changes),))(n)


def moved(name: str, channel: int, address: int) -> Mutation:
    """The first buffer elsewhere."""
    return lambda n: queue(name, buffers=((channel, address), *n.queues[name].buffers[1:]))(n)


def both(*mutations: Mutation) -> Mutation:
    return lambda n: reduce(lambda found, mutate: mutate(found), mutations, n)


FAR = tuple((i % 2, (1 << 25) * (1 + i)) for i in range(4))
"""Addresses that nothing else uses."""
APART = queue("x", lifetime=None, buffers=FAR)
RUN = (("execute", "first"), ("execute", "second"))
TILE = 4128
OUT = ("out", 2, TILE, 2)
NEG = Work("tile.neg", (0,), {}, (TILED,))
HALF = TensorType((), "Float32")


def fused(result_type: TensorType, body: Function) -> Work:
    return Work("tile.fused", (0,), {}, (result_type,), body)


def nested(bodies: int) -> Work:
    return NEG if bodies == 0 else fused(TILED, Function((TILED,), (nested(bodies - 1),), (1,)))


RULES: dict[str, tuple[str, Mutation]] = {
    # names
    "an input is unknown": ("E0601", op("b", inputs=("nothing",))),
    "an input comes later": ("E0601", op("b", inputs=("c",))),
    "an op reads itself": ("E0601", op("b", inputs=("b",))),
    "two ops of one name": ("E0601", op("c", name="b")),
    "an op has the name of a queue": ("E0601", op("b", name="x")),
    "a queue under another name": ("E0601", queue("x", name="z")),
    "a name that cannot be printed": ("E0601", op("d", name="a\nb")),
    "the name of the host": ("E0601", op("d", name="HOST")),
    "an unknown op writes": ("E0601", graph("first", writes=(("a", "e"), ("q", "nowhere")))),
    "an unknown graph is executed": ("E0601", steps(*RUN, ("execute", "third"))),
    # shapes and blocks
    "too few inputs": ("E0602", op("a", inputs=("x",))),
    "an input of another shape": ("E0602", works("b", NEG, inputs=(replace(TILED, shape=(1, 64, 96)),))),
    "an input of another format": ("E0602", works("d", NEG, inputs=(replace(TILED, format="Int32"),))),
    "an input of another layout": ("E0602", works("d", NEG, inputs=(replace(TILED, layout="rows"),))),
    "two results": ("E0602", works("d", NEG, outputs=(1, 0))),
    "a literal of another size": ("E0602", works("d", NEG, Work("ttc.constant", (), {"values": (1.0, 2.0)}, (HALF,)))),
    "a body with other inputs": ("E0602", works("d", fused(TILED, Function((HALF,), (), (0,))))),
    "a body with other results": ("E0602", works("d", fused(HALF, Function((TILED,), (), (0,))), NEG, outputs=(2,))),
    "bodies nested seventeen deep": ("E0609", works("d", nested(17))),
    "no microbatch": ("E0602", graph("count", input_count=0)),
    "blocks too small": ("E0602", op("d", blocking=Blocking(1, (1, 1), (1, 1)))),
    "blocks with a wrong t": ("E0602", op("d", blocking=Blocking(2, (1, 1), (1, 2)))),
    "a core outside the tensor": ("E0602", op("d", blocking=Blocking(1, (1, 2), (1, 2)))),
    "an empty block": ("E0602", op("d", blocking=Blocking(1, (0, 1), (1, 2)))),
    "no blocks": ("E0602", op("d", blocking=None)),
    "empty inner blocks": ("E0602", op("d", inner=(0, 1))),
    "no entries": ("E0602", queue("w", entries=0)),
    "fewer entries than microbatches": ("E0602", graph("second", input_count=3)),
    "a grid with too few buffers": ("E0602", queue("w", grid=(2, 1))),
    "a wrong size": ("E0602", queue("w", buffer_bytes=64)),
    "queue blocks too small": ("E0602", queue("w", blocking=Blocking(1, (1, 1), (1, 1)))),
    "queue without blocks": ("E0602", queue("s", blocking=None)),
    "an impossible layout": ("E0602", works("d", NEG, Work("tile.tilize", (1,), {}, (replace(TILED, layout="tiles(0, 32)"),)))),
    # cores
    "beyond the last row": ("E0603", op("d", place=Grid(3, 0, 2, 2))),
    "before the first column": ("E0603", op("d", place=Grid(0, -1, 2, 2))),
    "a core used twice": ("E0603", op("c", place=Grid(1, 1, 2, 2))),
    "a transposed grid that overlaps": ("E0603", op("c", place=Grid(1, 1, 2, 2, transposed=True))),
    "no cores at all": ("E0603", chip(grid=None)),
    "cores and host in one graph": ("E0603", op("c", place=Host(), blocking=None, buffers=())),
    "a chip that is not there": ("E0603", graph("count", chip=1)),
    # L1
    "buffers larger than L1": ("E0604", buffers("d", ("in0", 400, TILE, 1), OUT)),
    "no buffer for the result": ("E0604", buffers("d", ("in0", 4, TILE, 1))),
    "a role that is unknown": ("E0604", buffers("d", OUT, ("spare", 4, TILE, 1))),
    "a buffer for an absent input": ("E0604", buffers("d", OUT, ("in1", 4, TILE, 1))),
    "a role twice": ("E0604", buffers("d", OUT, OUT)),
    "no copies": ("E0604", buffers("d", ("out", 2, TILE, 0))),
    "tiles of another format": ("E0604", buffers("d", ("out", 2, 2080, 1))),
    # memory
    "a channel that is not there": ("E0605", moved("w", 2, 1 << 25)),
    "a misaligned address": ("E0605", moved("w", 0, (1 << 25) + 16)),
    "an address below the reserve": ("E0605", moved("w", 0, 0)),
    "an address past the end": ("E0605", moved("w", 0, (1 << 30) - 32)),
    "two queues in one place": ("E0605", lambda n: queue("w", buffers=n.queues["s"].buffers)(n)),
    "two buffers of one queue in one place": ("E0605", lambda n: queue("w", buffers=(n.queues["w"].buffers[0],) * 4)(n)),
    "lifetimes that meet": ("E0605", queue("x", lifetime=(0, 1))),
    "a lifetime out of order": ("E0605", queue("e", lifetime=(1, 0))),
    "an edge that dies too soon": ("E0605", queue("e", lifetime=(0, 0))),
    "an output that dies too soon": ("E0605", steps(*RUN, ("execute", "count"))),
    "an input born too late": ("E0605", queue("x", lifetime=(1, 1), buffers=FAR)),
    "a parameter with a lifetime": ("E0605", queue("w", lifetime=(0, 9))),
    "a queue on another chip": ("E0605", queue("w", chip=1)),
    "a queue that cores read in another chip's DRAM": ("E0605", both(chip(chips=2), queue("w", chip=1))),
    "a queue that cores write where no link leads": (
        "E0605",
        both(chip(chips=3, links=((0, 1, 2),)), queue("e", chip=2, lifetime=None), graph("second", chip=2), queue("y", chip=2)),
    ),
    "a queue of cores in memory of the program alone": ("E0605", queue("w", location="host", buffers=((0, 0),) * 4)),
    "a queue beyond a channel of the host": (
        "E0605",
        both(chip(host_channels=1, host_channel_bytes=4096), queue("w", location="host", buffers=tuple((0, i * 8320) for i in range(4)))),
    ),
    # edges
    "an op of another graph": ("E0606", op("c", inputs=("a",))),
    "another source": ("E0606", queue("e", source="b")),
    "an input that an op writes": ("E0606", both(APART, graph("second", writes=(("c", "y"), ("b", "x"))))),
    "an edge that nobody writes": ("E0606", lambda n: replace(n, queues={**n.queues, "z": replace(n.queues["e"], name="z", buffers=FAR)})),
    "two writers": ("E0606", graph("second", writes=(("c", "y"), ("c", "y")))),
    "a writer of another graph": ("E0606", graph("second", writes=(("c", "y"), ("a", "y")))),
    "a state filled by an op": ("E0606", queue("s", source="d")),
    # formats and settings
    "a format the chip lacks": ("E0607", chip(formats=("Float16_b",))),
    "a chip that accumulates in 16 bits": ("E0607", chip(wide_accumulation=False)),
    "an intermediate the chip lacks": ("E0607", both(op("d", intermediate="Float64"), buffers("d", OUT))),
    "an unknown intermediate": ("E0607", op("d", intermediate="Float7")),
    "an unknown fidelity": ("E0607", op("d", fidelity="HiFi5")),
    "an unknown precision": ("E0607", op("d", precision="tf32")),
    "an unknown accumulator": ("E0607", op("d", accumulate="UInt8")),
    "an unknown format inside": ("E0607", works("d", NEG, Work("tile.cast", (1,), {}, (replace(TILED, format="Float7"),)))),
    # programs
    "an unknown instruction": ("E0608", steps(*RUN, ("jump", 3))),
    "too many arguments": ("E0608", steps(*RUN, ("endloop", 3))),
    "an open loop": ("E0608", steps(*RUN, ("loop", 1))),
    "a loop closed twice": ("E0608", steps(*RUN, ("endloop",))),
    "a loop that never runs": ("E0608", steps(*RUN, ("loop", 0), ("endloop",))),
    "a variable loop that never runs": ("E0608", steps(*RUN, ("var", "$i", 0), ("loop", "$i"), ("endloop",))),
    "too many iterations": ("E0608", steps(*RUN, ("loop", 1 << 12), ("loop", 1 << 12), ("endloop",), ("endloop",))),
    "too many loops": ("E0608", steps(*RUN, *[("loop", 1)] * 9, *[("endloop",)] * 9)),
    "an undeclared variable": ("E0608", steps(*RUN, ("inc", "$i", 1))),
    "an undeclared operand": ("E0608", steps(*RUN, ("var", "$i", 1), ("add", "$i", "$i", "$j"))),
    "a variable declared twice": ("E0608", steps(*RUN, ("var", "$i", 1), ("var", "$i", 1))),
    "a variable without dollar": ("E0608", steps(*RUN, ("var", "i", 1))),
    "a wrap at zero": ("E0608", steps(*RUN, ("var", "$i", 1), ("incwrap", "$i", 1, 0))),
    "a read before the write": ("E0608", both(APART, queue("y", lifetime=None), steps(*reversed(RUN)))),
    "an input that is no argument": ("E0608", program("forward", arguments=())),
    "a result that is not written": ("E0608", result(queue="w", kind="parameter", updates="w")),
    "a result of another kind": ("E0608", result(kind="state", queue="e", updates="e")),
    "a result that updates nothing": ("E0608", result("step", updates=None)),
    "an argument of another kind": ("E0608", argument(kind="state")),
    "an argument of another size": ("E0608", argument(shape=(3, 64, 127))),
    "an argument that is not streamed": ("E0608", argument(streamed=False)),
    # well-formedness
    "a value before its definition": ("E0609", works("d", Work("tile.add", (0, 1), {}, (TILED,)))),
    "an output that is not defined": ("E0609", works("c", NEG, outputs=(7,))),
    "a work of no dialect": ("E0609", works("d", Work("os.system", (0,), {}, (TILED,)))),
    "a weight inside": ("E0609", works("d", NEG, Work("ttc.param", (), {"key": "w", "sym": "w"}, (TILED,)))),
    "a work without results": ("E0609", works("d", NEG, Work("tile.exp", (0,), {}, ()))),
    "a stored queue without key": ("E0609", queue("w", key=None)),
    "an edge with a key": ("E0609", queue("e", key="e")),
    "a parameter that is consumed": ("E0609", queue("w", type="queue", entries=2, buffer_bytes=32 + 4 * TILE, buffers=FAR)),
    "an alignment that is no power of two": ("E0609", chip(alignment_bytes=48)),
    "a set of kernels that there is not": ("E0609", chip(kernels="other")),
    "a link to a chip that is not there": ("E0609", chip(links=((0, 1, 1),))),
    "two counts of the same links": ("E0609", chip(chips=2, links=((0, 1, 1), (0, 1, 2)))),
    "a link without a count": ("E0609", chip(chips=2, links=((0, 1, 0),))),
    "negative cycles": ("E0609", op("d", cycles=-1)),
    # input queues
    "too many input queues": ("E0610", chip(max_input_queues=1)),
}


def codes(netlist: Netlist) -> list[str]:
    return [v.code for v in check(netlist)]


def test_valid(netlist: Netlist, host_netlist: Netlist) -> None:
    assert check(netlist) == []
    assert check(host_netlist) == []


@pytest.mark.parametrize("rule", RULES)
def test_rule(netlist: Netlist, rule: str) -> None:
    code, mutate = RULES[rule]
    found = check(mutate(netlist))
    assert {v.code for v in found} == {code}, found


def test_bodies_may_nest_four_deep(netlist: Netlist) -> None:
    assert check(works("d", nested(16))(netlist)) == []


def test_every_violation_is_listed(netlist: Netlist) -> None:
    broken = both(queue("w", chip=1), op("d", place=Grid(3, 0, 2, 2)), steps(*RUN, ("endloop",)))(netlist)
    assert codes(broken) == ["E0605", "E0603", "E0608"]
    with pytest.raises(Error) as error:
        require_valid(broken)
    assert (error.value.code, error.value.where) == ("E0605", "queue 'w'")
    assert error.value.excerpt is not None
    assert [line[:5] for line in error.value.excerpt.splitlines()] == ["E0603", "E0608"]


def test_disjoint_lifetimes_may_share_bytes(netlist: Netlist) -> None:
    assert netlist.queues["x"].buffers == netlist.queues["y"].buffers
    assert codes(both(queue("y", lifetime=None), queue("x", lifetime=None))(netlist)) == ["E0605"] * 4


def test_accumulation_halves_the_destination_register(netlist: Netlist) -> None:
    whole = op("d", blocking=Blocking(1, (1, 1), (2, 4)), place=Grid(0, 0, 1, 1), accumulate="Float16_b")
    assert check(whole(netlist)) == []
    assert codes(both(whole, op("d", accumulate="Float32"))(netlist)) == ["E0602"]


@pytest.mark.parametrize(
    ("cores", "blocks", "t"), [((1, 1), ((1, 1), (1, 4)), 2), ((2, 1), ((1, 1), (1, 1)), 4), ((1, 2), ((2, 1), (1, 1)), 2)]
)
def test_streaming_multiplies_t(netlist: Netlist, cores: tuple[int, int], blocks: tuple[tuple[int, int], tuple[int, int]], t: int) -> None:
    """2 x 4 tiles: t counts the steps along rows and columns."""
    streamed = op("d", place=Grid(0, 0, *cores), blocking=Blocking(t, *blocks))
    assert check(streamed(netlist)) == []


def test_host_ops_have_no_blocks(host_netlist: Netlist) -> None:
    assert codes(op("a", blocking=Blocking(1, (1, 1), (1, 1)))(host_netlist)) == ["E0602"]
    assert codes(queue("y", buffers=((0, 32),))(host_netlist)) == ["E0605"] * 2


def test_host_ops_see_logical_tensors(netlist: Netlist) -> None:
    """A host epoch between device epochs reads tiles and writes tiles, computing in row layout and in formats that cores lack."""
    rows, wide = replace(TILED, layout="rows"), TensorType((1, 64, 128), "Float64")
    cast = Work("nn.cast", (0,), {"dtype": "float64"}, (wide,)), Work("nn.cast", (1,), {"dtype": "float32"}, (rows,))
    host = op("d", place=Host(), blocking=None, buffers=(), work=Function((rows,), cast, (2,)))
    assert check(host(netlist)) == []


def test_data_dependent_sizes_live_on_the_host(host_netlist: Netlist) -> None:
    unknown = TensorType((-1, 2), "Int64")
    fields = {"tensor": unknown, "buffer_bytes": 4096}
    work = Function((TensorType((1, 64, 128), "Float32"),), (Work("nn.non_zero", (0,), {}, (unknown,)),), (1,))
    assert check(both(queue("y", **fields), op("a", work=work))(host_netlist)) == []


def test_loops_stretch_lifetimes(netlist: Netlist) -> None:
    """What is written before a loop and read inside stays until the loop is left; what lives inside alone does not."""
    around = steps(("execute", "first"), ("loop", 2), ("execute", "second"), ("execute", "count"), ("endloop",))
    assert [v.where for v in check(both(around, queue("y", lifetime=(1, 2)))(netlist))] == ["queue 'e'"]
    inside = steps(("loop", 2), *RUN, ("execute", "count"), ("endloop",))
    found = check(both(inside, APART, queue("y", lifetime=None))(netlist))
    assert found == []


def test_epochs_on_several_chips_are_legal(netlist: Netlist) -> None:
    """The second epoch on another chip: what it reads lies there, and is written over a link."""
    second = [graph("second", chip=1), queue("e", chip=1, lifetime=None), queue("y", chip=1)]
    assert check(both(chip(chips=2, links=((0, 1, 4),)), *second)(netlist)) == []


def test_queues_of_cores_in_host_memory_are_legal(netlist: Netlist) -> None:
    channels = chip(host_channels=4, host_channel_bytes=1 << 30)
    assert check(both(channels, queue("x", location="host", buffers=tuple((3, i * 16544) for i in range(4))))(netlist)) == []


def test_queue_bytes_count_all_entries(netlist: Netlist) -> None:
    blocking = Blocking(2, (1, 1), (1, 2))
    assert queue_buffer_bytes(TILED, 3, blocking, netlist.chip) == 32 + 3 * 4 * (32 * 32 * 4 + 32)
    assert queue_buffer_bytes(replace(TILED, layout="rows"), 3, None, netlist.chip) == 32 + 3 * 64 * 128 * 4
    with pytest.raises(Error) as error:
        queue_buffer_bytes(TILED, 3, None, netlist.chip)
    assert error.value.code == "E0602"


def test_loops_nested_without_end_are_checked_in_bounded_time(netlist: Netlist) -> None:
    opened = [("loop", 1)] * 5000
    found = codes(steps(*opened, *[("execute", "count")] * 5000, name="step")(netlist))
    assert set(found) == {"E0608"}
