"""A compiled netlist in the words of Buda: works on whole tiles, each one op with tile manipulations of its inputs, no literals.

What the compiler's works leave to the kernel is said: which steps a result is computed in, what tiles of one number are broadcast to, how
the matrices of a selection are coded.  Queues and results are [t, rows, columns] in elements of whole tiles.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import field, replace

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Plain, TensorType
from ttc.dialects.core.records import record
from ttc.dialects.netlist.buda import settings as kept
from ttc.dialects.netlist.buda.form import BudaOp, Tm
from ttc.dialects.netlist.buda.work import ImpliedConstant, OpForm, form_of, work_of
from ttc.dialects.netlist.buda.work.shared import Diagonal
from ttc.dialects.netlist.model import Blocking, Buffer, Graph, Grid, Netlist, Op, Queue
from ttc.exporters.buda.constants import ConstantQueues, Fillings
from ttc.exporters.buda.literals import matrix_of, written_out
from ttc.exporters.buda.steps import Steps, cutting, steps_of

TILE = 32
WHOLE = f"tiles({TILE}, {TILE})"


def canonical(netlist: Netlist) -> tuple[Netlist, Fillings]:
    """Return the netlist in the words of Buda, and what its queues hold.

    Raises E0503 naming the op that Buda lacks, or that it cannot place so.
    """
    return _Canonical(netlist).run()


@record(frozen=False)
class _Canonical:
    """Goes through the graphs of the device in order.

    types: of queues and results in whole tiles.  steps: of results that are computed in several.
    """

    netlist: Netlist
    types: dict[str, TensorType] = field(default_factory=dict)
    steps: dict[str, Steps] = field(default_factory=dict)
    queues: dict[str, Queue] = field(default_factory=dict)
    indices: dict[str, int] = field(default_factory=dict)

    def run(self) -> tuple[Netlist, Fillings]:
        on_device = [g for g in self.netlist.graphs.values() if any(isinstance(op.place, Grid) for op in g.ops)]
        written = {queue: op for graph in on_device for name, queue in graph.writes for op in graph.ops if op.name == name}
        for queue in self.netlist.queues.values():
            self.queues[queue.name] = found = self.queue(queue, written.get(queue.name))
            self.types[queue.name] = found.tensor
        self.constants = ConstantQueues(self.netlist)
        made = self.ops([(op, g) for g in on_device for op in g.ops])
        graphs = {g.name: replace(g, ops=tuple(made[op.name] for op in g.ops)) for g in on_device}
        graphs = {name: graphs.get(name, graph) for name, graph in self.netlist.graphs.items()}
        queues = {**self.queues, **self.constants.queues}
        fillings = Fillings(self.constants.values, self.constants.copies, self.indices)
        return replace(self.netlist, queues=queues, graphs=graphs), fillings

    def queue(self, queue: Queue, writer: Op | None) -> Queue:
        """Return a queue in whole tiles; one that holds a result computed in steps puts it together."""
        if queue.tensor.layout == "rows" or queue.blocking is None:
            return queue
        whole = replace(queue, tensor=in_tiles(queue.tensor))
        steps = Steps() if writer is None else self.steps_of(writer)
        if not steps.many:
            return whole
        old = queue.blocking
        mblock = (old.mblock[0] * steps.rows, old.mblock[1] * steps.columns)
        blocking = Blocking(old.t // (steps.rows * steps.columns), mblock, old.ublock, old.order)
        return replace(whole, blocking=blocking, settings=(("input_tms", kept.encoded(steps.restoring())),))

    def steps_of(self, op: Op) -> Steps:
        """Return the steps of an op on cores."""
        if not isinstance(op.place, Grid) or op.blocking is None:
            return Steps()
        try:
            return steps_of(_result(op), (op.place.rows, op.place.cols), op.blocking)
        except Error as error:
            raise error.at(_where(op)) from None

    # ---- ops ---------------------------------------------------------------------------------------------------------------------

    def ops(self, every: Sequence[tuple[Op, Graph]]) -> dict[str, Op]:
        """Return ops as Buda says them, by name, in the order given but that one which reads another chip's comes behind it."""
        made: dict[str, Op] = {}
        names = {op.name for op, _ in every}
        waiting = deque(every)
        while waiting:
            op, graph = waiting.popleft()
            if any(name in names and name not in made for name in op.inputs):
                waiting.append((op, graph))
            else:
                made[op.name] = self.op(op, graph)
        return made

    def op(self, op: Op, graph: Graph) -> Op:
        """Return an op as Buda says it."""
        if not isinstance(op.place, Grid) or op.blocking is None:
            raise Error("E0503", "an op on the host stands among ops of the device", where=_where(op))
        self.steps[op.name] = steps = self.steps_of(op)
        try:
            made = self.made(replace(op, work=written_out(op.work)), op.place, op.blocking, graph, steps)
        except Error as error:
            raise error.at(_where(op)) from None
        self.types[op.name] = made.work.value_types[made.work.outputs[0]]
        return made

    def made(self, op: Op, place: Grid, blocking: Blocking, graph: Graph, steps: Steps) -> Op:
        form = form_of(op)
        if form.type == "embedding":
            form, op, blocking = self.embedding(op, form, place, blocking, graph)
        names = tuple(self.source(source, op, graph) for source in form.inputs)
        if form.type == "reduce" and form.attributes.get("dim") == "z":
            op = replace(op, intermediate=_result(op).format)  # a maximum along z passes tiles on as they are
        t, rows, columns = _result(op).tile_dims()
        cut = (t * steps.rows * steps.columns, rows // steps.rows, columns // steps.columns)
        tms = {i: found for i in range(len(names)) if (found := self.tms(form, i, op, cut, steps))}
        written = BudaOp(
            name=op.name,
            type=form.type,
            grid_loc=(place.row, place.col),
            grid_size=(place.rows, place.cols),
            inputs=names,
            out_df=_result(op).format,
            intermed_df=op.intermediate,
            acc_df=op.accumulate,
            t=blocking.t,
            mblock=blocking.mblock,
            ublock=blocking.ublock,
            input_tms=tms,
            pads=form.pads,
            unpads=form.unpads,
            attributes=_in_steps(_within_matrices(form.attributes), form.type, steps),
        )
        work = work_of(written, [self.types[name] for name in names], form.fused, self.netlist.chip.arch)
        said = op.settings if form.type == "matmul" else ()
        if "identity" in written.attributes:  # codes have more to say
            said = (("attributes", kept.encoded(written.attributes)),)
        found = replace(op, type=form.type, inputs=names, work=work, blocking=blocking, buffers=_buffers(op, form), rounding="none")
        return replace(found, inner=_inner(written), settings=said)

    def embedding(self, op: Op, form: OpForm, place: Grid, blocking: Blocking, graph: Graph) -> tuple[OpForm, Op, Blocking]:
        """Return a gather of rows: the table lies in rows, and each row of cores reads its own indices, one after another.

        Raises E0503 where the indices, or the table, are not the host's to write.
        """
        table, indices = (self.netlist.queues.get(op.inputs[source]) if isinstance(source, int) else None for source in form.inputs)
        if table is None or indices is None or table.key is None or {table.source, indices.source} != {"HOST"}:
            raise Error("E0503", "Buda gathers rows of a table that the host fills in, by indices of the host's")
        if blocking.t != 1:
            raise Error("E0503", "Buda gathers rows of a table for one matrix", hint="compile a batch of one")
        count = blocking.mblock[0] * blocking.ublock[0] * TILE
        tiles = -(-count // (TILE * TILE)) * place.rows
        known = self.indices.setdefault(indices.name, count)
        if known != count or self.read_as_tiles(indices.name):
            raise Error("E0503", f"the indices '{indices.name}' are read in two ways, which Buda has no one queue for")
        stream = TensorType((1, tiles * TILE, TILE), "RawUInt32", WHOLE)
        self.queues[indices.name] = self.constants.moved(self.queues[indices.name], stream)
        self.types[indices.name] = stream
        flat = self.constants.copy(table, "rows", graph.chip)
        self.types[flat] = self.constants.queues[flat].tensor
        deep = Blocking(1, (blocking.mblock[0] * blocking.ublock[0], blocking.mblock[1]), (1, blocking.ublock[1]), blocking.order)
        inputs = tuple(flat if name == table.name else name for name in op.inputs)
        return replace(form, attributes={**form.attributes, "num_indices": count}), replace(op, inputs=inputs), deep

    def read_as_tiles(self, queue: str) -> bool:
        """Return whether an op on cores reads a queue otherwise than to gather rows."""
        ops = (op for graph in self.netlist.graphs.values() for op in graph.ops if isinstance(op.place, Grid) and queue in op.inputs)
        return any(op.work.works[-1].op != "tile.embedding" for op in ops)

    def source(self, source: int | ImpliedConstant | Diagonal, op: Op, graph: Graph) -> str:
        """Return the name of what an input of the op of Buda comes from."""
        if isinstance(source, int):
            return op.inputs[source]
        if isinstance(source, Diagonal):
            queue = self.netlist.queues.get(op.inputs[source.source])
            if queue is None or queue.key is None:
                raise Error("E0503", "a depthwise product of Buda needs its weights in a queue that the host fills")
            name = self.constants.copy(queue, "diagonals", graph.chip)
        else:
            name = self.constants.of(_filled(source), source.type.format, graph.chip)
        self.types[name] = self.constants.queues[name].tensor
        return name

    def tms(self, form: OpForm, index: int, op: Op, cut: tuple[int, int, int], steps: Steps) -> tuple[Tm, ...]:
        """Tile manipulations of an input: of what its source is cut into, those of the work, and what this op is cut into."""
        source, said = form.inputs[index], form.tms.get(index, ())
        if isinstance(source, ImpliedConstant) and not source.type.shape:
            said = tuple(tm for tm in said if tm.kind != "tile_broadcast")
            if not said and not (form.type == "matmul" and index < 2):
                return _broadcast(cut)
        whole = self.steps[op.inputs[source]].restoring() if isinstance(source, int) and op.inputs[source] in self.steps else ()
        if form.attributes.get("identity"):
            return (*whole, *said)  # its codes know of the steps
        t = cut[0] // (steps.rows * steps.columns)
        groups = form.attributes.get("z", 1)
        return (*whole, *said, *cutting(form.type, index, steps, t, groups if isinstance(groups, int) else 1))


def in_tiles(type_: TensorType) -> TensorType:
    """Return the tensor type with all of its tiles: [t, rows, columns]."""
    t, rows, columns = type_.tile_dims()
    return TensorType((t, rows * TILE, columns * TILE), type_.format, WHOLE)


def _result(op: Op) -> TensorType:
    return op.work.value_types[op.work.outputs[0]]


def _where(op: Op) -> str:
    return " + ".join(op.location) or op.name


def _broadcast(dims: Sequence[int]) -> tuple[Tm, ...]:
    return tuple(Tm("broadcast", (dim, n)) for dim, n in zip(("z", "r", "c"), dims, strict=True) if n > 1)


def _filled(constant: ImpliedConstant) -> NDArray:
    """Return a constant in whole tiles: one number in all of a tile, or zeros beyond."""
    if not constant.type.shape:
        return np.full((1, TILE, TILE), constant.values)
    return padded(np.asarray(constant.values).reshape(constant.type.shape), constant.type)


def padded(values: NDArray, type_: TensorType) -> NDArray:
    """Return a tensor of that type as [t, rows, columns] in whole tiles, zeros beyond its elements."""
    t, rows, columns = type_.tile_dims()
    whole = np.zeros((t, rows * TILE, columns * TILE), values.dtype)
    _, high, wide = matrix_of(type_)
    whole[:, :high, :wide] = values.reshape(t, high, wide)
    return whole


def _within_matrices(attributes: Mapping[str, Plain]) -> Mapping[str, Plain]:
    """Return the attributes of a product, K blocks of each matrix: ours run through all matrices that are summed."""
    m_k, u_kt, z = (attributes.get(name) for name in ("m_k", "u_kt", "z"))
    if not (attributes.get("accumulate") and isinstance(m_k, int) and isinstance(u_kt, int) and isinstance(z, int)):
        return attributes
    depth = m_k * u_kt // z
    inner = max(n for n in range(1, min(u_kt, depth) + 1) if depth % n == 0)
    return {**attributes, "m_k": depth // inner, "u_kt": inner}


def _in_steps(attributes: Mapping[str, Plain], type_: str, steps: Steps) -> Mapping[str, Plain]:
    """Return the attributes of a splice whose matrices are cut: what it takes of each input at a time is all parts of a matrix."""
    if type_ != "splice" or not steps.many:
        return attributes
    if attributes.get("granularity") != "t":
        raise Error("E0503", "Buda cannot splice blocks in steps", hint="a smaller format or batch would fit L1 at once")
    parts = steps.rows * steps.columns
    taken = {name: value for name, value in attributes.items() if name.startswith("input") and isinstance(value, tuple)}
    return {**attributes, **{name: tuple(n * parts for n in value if isinstance(n, int)) for name, value in taken.items()}}


def _inner(op: BudaOp) -> tuple[int, int] | None:
    m_k, u_kt = op.attributes.get("m_k"), op.attributes.get("u_kt")
    return (m_k, u_kt) if isinstance(m_k, int) and isinstance(u_kt, int) else None


def _buffers(op: Op, form: OpForm) -> tuple[Buffer, ...]:
    """Buffers by the inputs of the op of Buda."""
    by_role = {buffer.role: buffer for buffer in op.buffers}
    found = [buffer for role, buffer in by_role.items() if not role.startswith("in") or role == "intermed"]
    for place, source in enumerate(form.inputs):
        number = source.source if isinstance(source, Diagonal) else source
        buffer = by_role.get(f"in{number}") if isinstance(number, int) else None
        if buffer is not None:
            found.append(replace(buffer, role=f"in{place}"))
    return tuple(found)
