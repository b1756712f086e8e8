"""Programs of dialect netlist, and their instructions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.irdl import base, irdl_op_definition, opt_prop_def, prop_def, traits_def
from xdsl.traits import NoTerminator

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import INT, INTS, STR
from ttc.dialects.netlist.attrs import ArgumentAttr, SettingAttr
from ttc.dialects.netlist.base import NUMBER, Container, NetlistBase, field
from ttc.dialects.netlist.model import Argument, Instruction, QueueSetting


@irdl_op_definition
class ProgramOp(Container):
    """An entry function: its arguments and results, and the instructions that run it.

    replicas: groups of chips that run it, each on an equal part of the batch that arguments hold; absent: one.  replica_chips: chips of
    all groups, one group after the other; graphs and queues of the module are those of the first group.
    """

    name = "netlist.program"
    arguments_attr = opt_prop_def(ArrayAttr.constr(base(ArgumentAttr)), prop_name="arguments")
    outputs_attr = opt_prop_def(ArrayAttr.constr(base(ArgumentAttr)), prop_name="results")

    sym: str = field(STR, str)
    replicas: int | None = field(INT, int, optional=True)
    replica_chips: tuple[int, ...] | None = field(INTS, tuple, optional=True)

    @property
    def arguments(self) -> tuple[Argument, ...]:
        return self.get("arguments") or ()

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """The program's results (property `results`)."""
        return self.get("results") or ()

    @classmethod
    def build(cls, name: str, arguments: Sequence[Argument], outputs: Sequence[Argument], location: Attribute | None = None) -> ProgramOp:
        """Return a program without instructions yet."""
        attrs = {"sym": name, "arguments": tuple(arguments) or None, "results": tuple(outputs) or None}
        return cls.new(attrs, regions=[Region(Block())], location=location)

    def instructions(self) -> Iterator[Instruction]:
        """Yield the instructions, loops flattened to `loop` ... `endloop`."""
        for op in self.block.ops:
            yield from _instructions(op)


def _instructions(op: Operation) -> Iterator[Instruction]:
    if isinstance(op, LoopOp):
        yield Instruction("loop", (op.get("count"),))
        for inner in op.block.ops:
            yield from _instructions(inner)
        yield Instruction("endloop")
    elif isinstance(op, InstructionOp):
        names = [name for name in op.get_irdl_definition().properties if name != "settings"]
        settings = op.get("settings") or ()
        yield Instruction(op.name.removeprefix("netlist."), tuple(op.get(name) for name in names), settings)
    else:
        raise Error("E0608", f"{op.name} is not an instruction of a program")


class InstructionOp(NetlistBase):
    """A step of a program; its properties, in the order of their definition, are the arguments of `model.Instruction`.

    Property `settings` is apart from them.
    """


@irdl_op_definition
class LoopOp(Container):
    """Run the instructions inside `count` times; count is an integer or a variable `$name`."""

    name = "netlist.loop"
    count_attr = prop_def(NUMBER, prop_name="count")
    traits = traits_def(NoTerminator())

    @classmethod
    def build(cls, count: int | str) -> LoopOp:
        """Return a loop without instructions yet."""
        return cls.new({"count": count}, regions=[Region(Block())])


@irdl_op_definition
class ExecuteOp(InstructionOp):
    """Run a graph for its input_count microbatches.  settings: of its queues, where programs set the positions."""

    name = "netlist.execute"
    settings_attr = opt_prop_def(ArrayAttr.constr(base(SettingAttr)), prop_name="settings")

    graph: str = field(STR, str)

    @classmethod
    def build(cls, graph: NetlistBase | str, settings: Sequence[QueueSetting] = ()) -> ExecuteOp:
        """Execute a graph, given by its op or name."""
        return cls.new({"graph": graph if isinstance(graph, str) else graph.get("sym"), "settings": tuple(settings) or None})


@irdl_op_definition
class VarOp(InstructionOp):
    """Declare the variable `$name` with a value."""

    name = "netlist.var"
    var_attr = prop_def(STR, prop_name="var")
    value_attr = prop_def(NUMBER, prop_name="value")


@irdl_op_definition
class StaticvarOp(InstructionOp):
    """Declare the variable `$name` that keeps its value between calls of the program; value: before the first."""

    name = "netlist.staticvar"
    var_attr = prop_def(STR, prop_name="var")
    value_attr = prop_def(NUMBER, prop_name="value")


@irdl_op_definition
class ParamOp(InstructionOp):
    """Declare the variable `$name`, whose value the caller gives."""

    name = "netlist.param"
    var_attr = prop_def(STR, prop_name="var")


@irdl_op_definition
class AllocateOp(InstructionOp):
    """Give a queue, empty from here on, memory of its own."""

    name = "netlist.allocate"
    queue_attr = prop_def(STR, prop_name="queue")


@irdl_op_definition
class DeallocateOp(InstructionOp):
    """Free a queue's memory, which other queues may use from here on."""

    name = "netlist.deallocate"
    queue_attr = prop_def(STR, prop_name="queue")


@irdl_op_definition
class SetOp(InstructionOp):
    """Set a variable to a value."""

    name = "netlist.set"
    var_attr = prop_def(STR, prop_name="var")
    value_attr = prop_def(NUMBER, prop_name="value")


class _Binary(InstructionOp):
    var_attr = prop_def(STR, prop_name="var")
    a_attr = prop_def(NUMBER, prop_name="a")
    b_attr = prop_def(NUMBER, prop_name="b")


@irdl_op_definition
class AddOp(_Binary):
    """Set a variable to a + b."""

    name = "netlist.add"


@irdl_op_definition
class MulOp(_Binary):
    """Set a variable to a * b."""

    name = "netlist.mul"


@irdl_op_definition
class IncOp(InstructionOp):
    """Add `by` to a variable."""

    name = "netlist.inc"
    var_attr = prop_def(STR, prop_name="var")
    by_attr = prop_def(NUMBER, prop_name="by")


@irdl_op_definition
class IncwrapOp(InstructionOp):
    """Add `by` to a variable, modulo `wrap`."""

    name = "netlist.incwrap"
    var_attr = prop_def(STR, prop_name="var")
    by_attr = prop_def(NUMBER, prop_name="by")
    wrap_attr = prop_def(NUMBER, prop_name="wrap")
