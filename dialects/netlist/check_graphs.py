"""Rules for graphs and their ops: names, edges, places, blocks, L1, formats."""

from __future__ import annotations

import re

from ttc.dialects.core.formats import FORMATS
from ttc.dialects.core.numerics import ACCUMULATORS, FIDELITIES, PRECISIONS
from ttc.dialects.core.plain.functions import TensorType
from ttc.dialects.core.records import record
from ttc.dialects.netlist.check_epochs import check_epochs, run_together
from ttc.dialects.netlist.check_work import check_function
from ttc.dialects.netlist.model import Blocking, Buffer, Ethernet, Graph, Grid, Host, Netlist, Op
from ttc.dialects.netlist.sizes import WIDE_ACCUMULATE, dst_limit, streamed_t, tile_bytes, tile_shape
from ttc.dialects.netlist.violations import Findings

ACCUMULATE = (*ACCUMULATORS, "Int32")
ROLE = re.compile(r"in(\d{1,3})|out|intermed")


@record
class NamedValue:
    """Where a name that ops may read leads: the graph of an op (None: a queue), and the type of its value."""

    graph: str | None
    type: TensorType | None


def producers_of(netlist: Netlist) -> dict[str, NamedValue]:
    """Return queues and ops by name; an op whose work is broken has no type."""
    found = {name: NamedValue(None, queue.tensor) for name, queue in netlist.queues.items()}
    for graph in netlist.graphs.values():
        for op in graph.ops:
            found.setdefault(op.name, NamedValue(graph.name, _result_type(op)))
    return found


def _result_type(op: Op) -> TensorType | None:
    types = op.work.value_types
    if len(op.work.outputs) != 1 or not 0 <= op.work.outputs[0] < len(types):
        return None
    return types[op.work.outputs[0]]


def check_graphs(netlist: Netlist, found: Findings) -> None:
    """All rules of graphs and ops."""
    producers = producers_of(netlist)
    for graph in netlist.graphs.values():
        where = f"graph '{graph.name}'"
        found.require(0 <= graph.chip < netlist.chip.chips, "E0603", where, f"there is no chip {graph.chip}")
        found.require(graph.input_count >= 1, "E0602", where, f"input_count is {graph.input_count}: at least 1 microbatch")
        _check_cores(graph, netlist, found)
        seen: set[str] = set()
        for op in graph.ops:
            _check_op(op, graph, netlist, producers, seen, found)
            seen.add(op.name)
        _check_writes(graph, netlist, producers, found)
    check_epochs(netlist, found)


def _check_op(op: Op, graph: Graph, netlist: Netlist, producers: dict[str, NamedValue], seen: set[str], found: Findings) -> None:
    where = f"op '{op.name}'"
    _check_inputs(op, graph, netlist, producers, seen, found)
    _check_settings(op, netlist, where, found)
    well_formed = check_function(op.work, where, found)
    found.require(len(op.work.outputs) == 1, "E0602", where, f"the work gives {len(op.work.outputs)} results: an op has one")
    if isinstance(op.place, Ethernet):
        _check_ethernet(op.place, netlist, where, found)
    elif isinstance(op.place, Grid):
        if netlist.positions == "pointers":
            _check_block_sizes(op, where, found)
        elif well_formed and len(op.work.outputs) == 1:
            _check_device_op(op, netlist, where, found)
    else:
        bare = op.blocking is None and not op.buffers
        found.require(bare, "E0602", where, "an op on the host has neither blocks nor L1 buffers")


# ---- edges -----------------------------------------------------------------------------------------------------------------------


def _check_inputs(op: Op, graph: Graph, netlist: Netlist, producers: dict[str, NamedValue], seen: set[str], found: Findings) -> None:
    where = f"op '{op.name}'"
    wanted = op.work.inputs
    found.require(len(wanted) == len(op.inputs), "E0602", where, f"{len(op.inputs)} inputs for a work that takes {len(wanted)}")
    for index, name in enumerate(op.inputs):
        producer = producers.get(name)
        if producer is None:
            found.add("E0601", where, f"input '{name}' is neither a queue nor an op", found.nearest(name, producers))
        elif producer.graph not in (None, graph.name) and not run_together(graph, netlist.graphs[str(producer.graph)]):
            message = f"input '{name}' is an op of graph '{producer.graph}'"
            found.add("E0606", where, message, "ops of different epochs are joined by a queue")
        elif producer.graph == graph.name and name not in seen:
            found.add("E0601", where, f"input '{name}' comes later in graph '{graph.name}'", "ops stand in order of computation")
        elif producer.type is not None and index < len(wanted):
            _check_edge(op, name, producer.type, wanted[index], found)


def _check_edge(op: Op, name: str, given: TensorType, wanted: TensorType, found: Findings) -> None:
    if not _same(given, wanted, isinstance(op.place, Grid)):
        found.add("E0602", f"op '{op.name}'", f"input '{name}' is {_text(given)}, but the work takes {_text(wanted)}")


def _same(a: TensorType, b: TensorType, on_device: bool) -> bool:
    """Return whether a value may pass: the host sees logical tensors, whatever their layout; cores do not."""
    return a == b if on_device else (a.shape, a.format) == (b.shape, b.format)


def _text(type_: TensorType) -> str:
    return f"{type_.format}{list(type_.shape)} in {type_.layout}"


def _check_writes(graph: Graph, netlist: Netlist, producers: dict[str, NamedValue], found: Findings) -> None:
    where = f"graph '{graph.name}'"
    ops = {op.name: op for op in graph.ops}
    written: set[str] = set()
    for name, queue_name in graph.writes:
        op, queue = ops.get(name), netlist.queues.get(queue_name)
        if op is None:
            code = "E0606" if name in producers else "E0601"
            found.add(code, where, f"'{name}', which is to write queue '{queue_name}', is no op of this graph", found.nearest(name, ops))
            continue
        if queue is None:
            found.add("E0601", where, f"op '{name}' writes '{queue_name}', which is no queue", found.nearest(queue_name, netlist.queues))
            continue
        found.require(queue_name not in written, "E0606", where, f"queue '{queue_name}' is written twice")
        written.add(queue_name)
        given = producers[name].type
        wanted = queue.tensor if queue.view is None or len(queue.view.inputs) != 1 else queue.view.inputs[0]
        in_place = isinstance(op.place, Grid) and netlist.positions == "order"  # Buda's ops can pack tiles into rows
        if given is not None and not _same(given, wanted, in_place):
            found.add("E0602", f"op '{name}'", f"its result is {_text(given)}, but queue '{queue_name}' takes {_text(wanted)}")


# ---- places ----------------------------------------------------------------------------------------------------------------------


def _check_cores(graph: Graph, netlist: Netlist, found: Findings) -> None:
    """Cores lie on the grid, and no two ops of a graph share one."""
    places = [op.place for op in graph.ops]
    on_host = sum(isinstance(place, Host) for place in places)
    where = f"graph '{graph.name}'"
    found.require(on_host in (0, len(places)), "E0603", where, "some of its ops are on cores and some on the host")
    owner: dict[tuple[int, int], str] = {}
    for op in graph.ops:
        if found.many:
            return
        if not isinstance(op.place, Grid) or not _on_grid(op.place, netlist, f"op '{op.name}'", found):
            continue
        cores = op.place.cores()
        shared = next((core for core in cores if core in owner), None)
        if shared is not None:
            found.add("E0603", f"op '{op.name}'", f"core (row {shared[0]}, column {shared[1]}) is taken by op '{owner[shared]}'")
        owner.update(dict.fromkeys(cores, op.name))


def _on_grid(place: Grid, netlist: Netlist, where: str, found: Findings) -> bool:
    grid = netlist.chip.grid
    if grid is None:
        found.add("E0603", where, f"is placed on cores, but {netlist.chip.target} has none", "place it on the host")
        return False
    rows, cols = (place.cols, place.rows) if place.transposed else (place.rows, place.cols)
    inside = rows >= 1 and cols >= 1 and 0 <= place.row <= grid[0] - rows and 0 <= place.col <= grid[1] - cols
    message = f"a grid of {rows}x{cols} at ({place.row}, {place.col}) is not inside the chip's {grid[0]}x{grid[1]} cores"
    return found.require(inside, "E0603", where, message)


def _check_ethernet(place: Ethernet, netlist: Netlist, where: str, found: Findings) -> None:
    found.require(0 <= place.chip < netlist.chip.chips, "E0603", where, f"sends to chip {place.chip}, which is not there")
    found.require(min((*place.ingress, *place.egress), default=0) >= 0, "E0603", where, "a channel of Ethernet has a negative number")


# ---- what a core holds -------------------------------------------------------------------------------------------------------------


def _check_device_op(op: Op, netlist: Netlist, where: str, found: Findings) -> None:
    types = op.work.value_types
    result = types[op.work.outputs[0]]
    for format_ in sorted({t.format for t in (*op.work.inputs, result)} | {op.intermediate}):
        legal = format_ in netlist.chip.formats and format_ in FORMATS and FORMATS[format_].device
        hint = "let a host op compute it, or choose another format"
        found.require(legal, "E0607", where, f"{netlist.chip.target} has no format {format_[:40]}", hint)
    wide = op.accumulate in WIDE_ACCUMULATE and not netlist.chip.wide_accumulation
    hint = "accumulate in Float16 or Float16_b"
    found.require(not wide, "E0607", where, f"{netlist.chip.target} does not accumulate in {op.accumulate}", hint)
    reads = {name for name in op.inputs if (queue := netlist.queues.get(name)) is not None and queue.location == "dram"}
    limit = netlist.chip.max_input_queues
    found.require(len(reads) <= limit, "E0610", where, f"reads {len(reads)} queues; a core can read {limit}", "split the op")
    _check_result_blocks(op, result, netlist, where, found)
    _check_buffers(op, result, netlist, where, found)


def _check_block_sizes(op: Op, where: str, found: Findings) -> None:
    """What must hold of blocks wherever they come from."""
    if found.require(op.blocking is not None, "E0602", where, "an op on cores needs blocks") and op.blocking is not None:
        sizes = (op.blocking.t, *op.blocking.mblock, *op.blocking.ublock)
        found.require(min(sizes) >= 1, "E0602", where, "blocks have positive sizes")
    sane = all(b.tiles >= 0 and b.copies >= 0 and b.tile_bytes >= 1 for b in op.buffers)
    found.require(sane, "E0604", where, "a buffer has an impossible size")


def _check_result_blocks(op: Op, result: TensorType, netlist: Netlist, where: str, found: Findings) -> None:
    if tile_shape(result.layout) is None:
        found.require(op.blocking is None, "E0602", where, "its result is in row layout: it has no blocks")
        return
    if op.blocking is None:
        found.add("E0602", where, "an op on cores needs blocks")
        return
    if op.inner is not None:
        found.require(min(op.inner) >= 1, "E0602", where, f"inner blocks {list(op.inner)} must be positive")
    grid = op.place
    if isinstance(grid, Grid) and check_blocking(op.blocking, result, (grid.rows, grid.cols), where, found):
        tiles, limit = op.blocking.ublock[0] * op.blocking.ublock[1], dst_limit(op.accumulate, netlist.chip)
        message = f"a micro block of {tiles} tiles does not fit the {limit} tiles of the destination register ({op.accumulate})"
        found.require(tiles <= limit, "E0602", where, message)


def check_blocking(blocking: Blocking, tensor: TensorType, grid: tuple[int, int], where: str, found: Findings) -> bool:
    """Blocks over a grid cover a tiled tensor, and no core lies outside it.  Returns whether they do."""
    sizes = (blocking.t, *blocking.spread, *blocking.mblock, *blocking.ublock, *grid)
    if not found.require(min(sizes) >= 1, "E0602", where, "blocks and grids have positive sizes"):
        return False
    wanted = streamed_t(tensor, grid, blocking)
    rows, cols = (blocking.mblock[i] * blocking.ublock[i] for i in (0, 1))
    what = f"{grid[0]}x{grid[1]} cores with blocks of {rows}x{cols} tiles"
    dims = " x ".join(map(str, tensor.tile_dims()))
    if wanted is None:
        found.add("E0602", where, f"{what} leave a core outside the tensor of {dims} tiles", "use a smaller grid")
        return False
    return found.require(blocking.t == wanted, "E0602", where, f"{what} cover {dims} tiles with t = {wanted}, not {blocking.t}")


def _check_buffers(op: Op, result: TensorType, netlist: Netlist, where: str, found: Findings) -> None:
    roles = [buffer.role for buffer in op.buffers]
    found.require(len(set(roles)) == len(roles), "E0604", where, "two of its buffers have the same role")
    found.require("out" in roles, "E0604", where, "it has no buffer for its result")
    sane = [_check_buffer(buffer, op, result, netlist, where, found) for buffer in op.buffers]
    total, usable = sum(b.size_bytes for b in op.buffers), netlist.chip.l1_usable_bytes
    if all(sane):
        hint = "use more cores, smaller blocks, or streaming"
        found.require(total <= usable, "E0604", where, f"its buffers take {total} bytes of L1, of which {usable} are usable", hint)


def _check_buffer(buffer: Buffer, op: Op, result: TensorType, netlist: Netlist, where: str, found: Findings) -> bool:
    match = ROLE.fullmatch(buffer.role)
    known = match is not None and (match[1] is None or int(match[1]) < len(op.work.inputs))
    if not found.require(known, "E0604", where, f"'{buffer.role[:40]}' is no role of a buffer of this op"):
        return False
    if not found.require(min(buffer.tiles, buffer.copies, buffer.tile_bytes) >= 1, "E0604", where, f"buffer '{buffer.role}' is empty"):
        return False
    wanted = _tile_bytes_of(buffer.role, op, result, netlist)
    message = f"buffer '{buffer.role}' has tiles of {buffer.tile_bytes} bytes, not {wanted}"
    return found.require(wanted is None or wanted == buffer.tile_bytes, "E0604", where, message)


def _tile_bytes_of(role: str, op: Op, result: TensorType, netlist: Netlist) -> int | None:
    """Return bytes of a tile in the buffer of that role; None for tensors in row layout, which are buffered in lines."""
    type_ = op.work.inputs[int(role[2:])] if role.startswith("in") and role != "intermed" else result
    tile = tile_shape(type_.layout)
    format_ = op.intermediate if role == "intermed" else type_.format
    return None if tile is None or format_ not in FORMATS else tile_bytes(format_, tile, netlist.chip)


def _check_settings(op: Op, netlist: Netlist, where: str, found: Findings) -> None:
    accumulators = ACCUMULATE if netlist.positions == "order" else tuple(FORMATS)
    settings = (
        ("fidelity", op.fidelity, FIDELITIES),
        ("precision", op.precision, PRECISIONS),
        ("accumulator", op.accumulate, accumulators),
    )
    for what, value, known in settings:
        found.require(value in known, "E0607", where, f"there is no {what} '{value[:40]}'", f"known: {', '.join(known)}")
    found.require(op.intermediate in FORMATS, "E0607", where, f"there is no data format '{op.intermediate[:40]}'")
    found.require(op.cycles >= 0, "E0609", where, "its cycles are negative")
