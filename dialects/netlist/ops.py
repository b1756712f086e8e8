"""Ops of dialect netlist: queues, graphs of placed ops, programs.

Everything that later passes decide (places, blocks, buffers, sizes, addresses, lifetimes) is optional; `to_model` asks for all of it.
Queues, graphs, ops and programs are named by their `sym`, and refer to each other by these names.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import Attribute, Block, Dialect, Region, SSAValue
from xdsl.irdl import (
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    opt_region_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import IsolatedFromAbove, IsTerminator
from xdsl.utils.exceptions import VerifyException

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.adapter import TtcOp
from ttc.dialects.core.ir.attributes import BOOL, INT, INTS, STR, STRS
from ttc.dialects.netlist.attrs import (
    RECORDS,
    AddressesAttr,
    BlockingAttr,
    BufferAttr,
    ChipAttr,
    EthernetAttr,
    GridAttr,
    HostAttr,
    netlist_attribute,
    netlist_value,
)
from ttc.dialects.netlist.base import TENSOR, Container, NetlistBase, field
from ttc.dialects.netlist.model import Blocking, Buffer, Chip, Ethernet, Grid, Host, Settings
from ttc.dialects.netlist.programs import (
    AddOp,
    AllocateOp,
    DeallocateOp,
    ExecuteOp,
    IncOp,
    IncwrapOp,
    LoopOp,
    MulOp,
    ParamOp,
    ProgramOp,
    SetOp,
    StaticvarOp,
    VarOp,
)


@irdl_op_definition
class QueueOp(NetlistBase):
    """A ring of entries in DRAM or host memory.  The fields are those of `model.Queue`; its source is the op that writes it.

    Text: netlist.queue() {sym = "x", kind = "input", type = "queue", tensor = !tile.tensor<..>} : () -> ()
    Its view, if it has one, is a region: what is written comes in as its argument, and netlist.yield gives what the queue holds.
    """

    name = "netlist.queue"
    tensor_attr = prop_def(TENSOR, prop_name="tensor")
    buffers_attr = opt_prop_def(base(AddressesAttr), prop_name="buffers")
    ports_attr = opt_prop_def(base(AddressesAttr), prop_name="ports")
    view = opt_region_def("single_block")
    traits = traits_def(IsolatedFromAbove())

    sym: str = field(STR, str)
    kind: str = field(STR, str)
    type: str = field(STR, str)
    entries: int | None = field(INT, int, optional=True)
    space: str | None = field(STR, str, "location", optional=True)
    chip: int | None = field(INT, int, optional=True)
    grid: tuple[int, int] | None = field(INTS, tuple, optional=True)
    blocking: Blocking | None = field(base(BlockingAttr), Blocking, optional=True)
    buffer_bytes: int | None = field(INT, int, optional=True)
    key: str | None = field(STR, str, optional=True)
    lifetime: tuple[int, int] | None = field(INTS, tuple, optional=True)
    alias: str | None = field(STR, str, optional=True)
    settings: Settings | None = field(STRS, tuple, optional=True)
    summed: bool | None = field(BOOL, bool, optional=True)

    @property
    def tensor(self) -> Attribute:
        """The type of one entry."""
        return self.properties["tensor"]

    @property
    def buffers(self) -> tuple[tuple[int, int], ...] | None:
        """(channel, address) of each buffer, row-major."""
        return self.get("buffers")

    @buffers.setter
    def buffers(self, value: tuple[tuple[int, int], ...] | None) -> None:
        self.set("buffers", None if value is None else AddressesAttr(tuple(value)))

    @property
    def ports(self) -> tuple[tuple[int, int], ...] | None:
        """(NoC, node of its channel) by which cores read each buffer before an epoch, as many for each; None: through any."""
        return self.get("ports")

    @ports.setter
    def ports(self, value: tuple[tuple[int, int], ...] | None) -> None:
        self.set("ports", None if value is None else AddressesAttr(tuple(value)))

    @classmethod
    def build(
        cls,
        name: str,
        kind: str,
        tensor: Attribute,
        *,
        type: str = "queue",
        location: Attribute | None = None,
        view: Block | None = None,
        **fields: Any,
    ) -> QueueOp:
        """Return a queue; fields by the property names (`location` in memory is the property `space`); view ends in YieldOp."""
        attrs = {"sym": name, "kind": kind, "type": type, "tensor": tensor, "location": fields.pop("space", None), **fields}
        buffers, ports = attrs.pop("buffers", None), attrs.pop("ports", None)
        op = cls.new(attrs, regions=[Region(view)] if view is not None else [], location=location)
        op.buffers, op.ports = buffers, ports
        return op


@irdl_op_definition
class ReadOp(NetlistBase):
    """An entry of a queue as a value of the graph.

    Returns: a tensor of the queue's shape and format; its layout may differ where host ops read it.
    """

    name = "netlist.read"
    value = result_def(TENSOR)

    queue: str = field(STR, str)

    @classmethod
    def build(cls, queue: QueueOp | str, type_: Attribute | None = None, location: Attribute | None = None) -> ReadOp:
        """Read a queue; the type is that of the queue unless given."""
        name = queue if isinstance(queue, str) else queue.sym
        wanted = queue.tensor if isinstance(queue, QueueOp) and type_ is None else type_
        if wanted is None:
            raise Error("E0901", f"reading queue '{name}' by name needs a type")
        return cls.new({"queue": name}, results=[wanted], location=location)


@irdl_op_definition
class ReceiveOp(NetlistBase):
    """The result of an op of a graph that runs in the same epoch on another chip, as a value of this graph.

    Returns: a tensor of the type of that op's result.
    """

    name = "netlist.receive"
    value = result_def(TENSOR)

    op: str = field(STR, str)

    @classmethod
    def build(cls, op: str, type_: Attribute, location: Attribute | None = None) -> ReceiveOp:
        """Return the result of the op of that name."""
        return cls.new({"op": op}, results=[type_], location=location)


@irdl_op_definition
class WriteOp(NetlistBase):
    """Put the result of an op into a queue."""

    name = "netlist.write"
    value = operand_def(TENSOR)

    queue: str = field(STR, str)

    @classmethod
    def build(cls, value: SSAValue, queue: QueueOp | str, location: Attribute | None = None) -> WriteOp:
        """Write a value to a queue."""
        return cls.new({"queue": queue if isinstance(queue, str) else queue.sym}, [value], location=location)


@irdl_op_definition
class YieldOp(NetlistBase):
    """Ends the work of an op: its operand is the result."""

    name = "netlist.yield"
    value = operand_def(TENSOR)
    traits = traits_def(IsTerminator())

    @classmethod
    def build(cls, value: SSAValue) -> YieldOp:
        """Create the end of a work block, which gives the value."""
        return cls.new({}, [value])


@irdl_op_definition
class NetlistOp(NetlistBase):
    """An op of a graph: tile (or nn) ops that run as one kernel, with name, place, blocking and buffers.

    Text: %y = netlist.op(%x, %w) {sym = "conv1", type = "conv2d", place = #netlist.grid<..>} : (..) -> .. { ^bb0(%a : .., %b : ..): ... }
    The region's arguments have the types of the operands, and netlist.yield that of the result.
    Fields are those of `model.Op`; intermediate, accumulate, fidelity, precision, cycles and rounding take its defaults while absent.
    """

    name = "netlist.op"
    inputs = var_operand_def(TENSOR)
    result = result_def(TENSOR)
    work = region_def("single_block")
    buffers_attr = opt_prop_def(ArrayAttr.constr(base(BufferAttr)), prop_name="buffers")
    traits = traits_def(IsolatedFromAbove())

    sym: str = field(STR, str)
    type: str = field(STR, str)
    place: Grid | Host | Ethernet | None = field(base(GridAttr) | base(HostAttr) | base(EthernetAttr), Grid, optional=True)
    blocking: Blocking | None = field(base(BlockingAttr), Blocking, optional=True)
    intermediate: str | None = field(STR, str, optional=True)
    accumulate: str | None = field(STR, str, optional=True)
    fidelity: str | None = field(STR, str, optional=True)
    precision: str | None = field(STR, str, optional=True)
    inner: tuple[int, int] | None = field(INTS, tuple, optional=True)
    cycles: int | None = field(INT, int, optional=True)
    rounding: str | None = field(STR, str, optional=True)
    settings: Settings | None = field(STRS, tuple, optional=True)

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """L1 blocks of one core; empty until they are decided."""
        return self.get("buffers") or ()

    @buffers.setter
    def buffers(self, value: Sequence[Buffer]) -> None:
        self.set("buffers", tuple(value) or None)

    @property
    def works(self) -> list[TtcOp]:
        """The ops of the work, without the yield."""
        return [op for op in self.work.block.ops if isinstance(op, TtcOp) and not isinstance(op, YieldOp)]

    @property
    def graph(self) -> GraphOp:
        """The graph it is in.  Raises E0302."""
        parent = self.parent_op()
        if not isinstance(parent, GraphOp):
            raise Error("E0302", f"op '{self.sym}' is in no graph")
        return parent

    def check(self) -> None:
        block = self.work.block
        last = block.last_op
        if not isinstance(last, YieldOp):
            raise VerifyException("the work of netlist.op ends in netlist.yield")
        if [a.type for a in block.args] != [v.type for v in self.inputs]:
            raise VerifyException("the work's arguments and the op's operands differ in type")
        if last.value.type != self.result.type:
            raise VerifyException(f"the work yields {last.value.type}, but the result is {self.result.type}")

    @classmethod
    def build(cls, name: str, operands: Sequence[SSAValue], work: Block, location: Attribute, *, type: str, **fields: Any) -> NetlistOp:
        """Return an op around a work block (arguments as the operands; it ends in YieldOp); fields by property name."""
        last = work.last_op
        if not isinstance(last, YieldOp):
            raise Error("E0901", f"the work of op '{name}' does not end in netlist.yield")
        attrs = {"sym": name, "type": type, **fields, "buffers": fields.get("buffers") or None}
        return cls.new(attrs, operands, [last.value.type], [Region(work)], location)


@irdl_op_definition
class GraphOp(Container):
    """One epoch on one chip: reads, receives, ops and writes.  Fields as of `model.Graph`."""

    name = "netlist.graph"

    sym: str = field(STR, str)
    chip: int = field(INT, int)
    input_count: int = field(INT, int)
    epoch: int | None = field(INT, int, optional=True)
    settings: Settings | None = field(STRS, tuple, optional=True)

    @property
    def reads(self) -> list[ReadOp]:
        return [op for op in self.block.ops if isinstance(op, ReadOp)]

    @property
    def ops(self) -> list[NetlistOp]:
        return [op for op in self.block.ops if isinstance(op, NetlistOp)]

    @property
    def writes(self) -> list[WriteOp]:
        return [op for op in self.block.ops if isinstance(op, WriteOp)]

    @classmethod
    def build(cls, name: str, *, chip: int = 0, input_count: int = 1, location: Attribute | None = None, **fields: Any) -> GraphOp:
        """Return an empty graph; fields: epoch, settings."""
        attrs = {"sym": name, "chip": chip, "input_count": input_count, **fields}
        return cls.new(attrs, regions=[Region(Block())], location=location)


OPS: tuple[type[NetlistBase], ...] = (
    QueueOp, ReadOp, ReceiveOp, WriteOp, YieldOp, NetlistOp, GraphOp, ProgramOp,
    LoopOp, ExecuteOp, VarOp, StaticvarOp, ParamOp, AllocateOp, DeallocateOp, SetOp, AddOp, MulOp, IncOp, IncwrapOp,
)  # fmt: skip


@cache
def dialect() -> Dialect:
    """Return the netlist dialect for xDSL."""
    return Dialect("netlist", list(OPS), [*RECORDS, AddressesAttr])


def queues_of(module: ModuleOp) -> dict[str, QueueOp]:
    """Return the module's queues by name, in order."""
    return {op.sym: op for op in module.ops if isinstance(op, QueueOp)}


def graphs_of(module: ModuleOp) -> dict[str, GraphOp]:
    """Return the module's graphs by name, in order."""
    return {op.sym: op for op in module.ops if isinstance(op, GraphOp)}


def programs_of(module: ModuleOp) -> dict[str, ProgramOp]:
    """Return the module's programs by name, in order."""
    return {op.sym: op for op in module.ops if isinstance(op, ProgramOp)}


def set_chip(module: ModuleOp, chip: Chip) -> None:
    """Record the machine the netlist is for, as module attribute `ttc.chip`."""
    module.attributes["ttc.chip"] = ChipAttr(chip)


def set_origin(module: ModuleOp, positions: str, settings: Settings) -> None:
    """Record who sets positions in queues (`ttc.positions`, absent for `order`), and what else the source says (`ttc.settings`)."""
    for name, value, default in (("ttc.positions", positions, "order"), ("ttc.settings", settings, ())):
        if value == default:
            module.attributes.pop(name, None)
        else:
            module.attributes[name] = netlist_attribute(value)


def origin_of(module: ModuleOp) -> dict[str, Any]:
    """`positions` and `settings` of the netlist, as far as the module has them."""
    found = {name: module.attributes.get(f"ttc.{name}") for name in ("positions", "settings")}
    return {name: netlist_value(value) for name, value in found.items() if value is not None}


def chip_of(module: ModuleOp) -> Chip:
    """The machine the netlist is for.  Raises E0609."""
    found = module.attributes.get("ttc.chip")
    if not isinstance(found, ChipAttr):
        raise Error("E0609", "the module does not say what chip its netlist is for (ttc.chip)")
    return found.data
