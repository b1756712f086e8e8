"""The pass that separates the two ways of a training program: forward keeps what backward reads."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.ir.entries import Port, finish_function, make_function, ports
from ttc.dialects.core.ir.leaves import LeafOp, ParamOp, StateOp
from ttc.dialects.core.records import record
from ttc.dialects.nn.gradients.maker import PREFIX
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.entries import entry_named
from ttc.passes.nn.gradient_entries import port_of
from ttc.passes.nn.gradient_roles import last_operands
from ttc.passes.nn.training_notes import BACKWARD, COUNT, FORWARD, SAVED


@record
class SplitBackward(Pass):
    """Let `forward` compute the model in training, and give what gradients read as results `saved.N`, which `backward` takes instead.

    It stands behind `recompute`, which has chosen what gradients read and what they compute again.  `forward` updates the states that the
    model changes; `backward` adds gradients up, and changes no others.  Between the two any number of other microbatches may go forward.

    Before:
        func.func @forward(%x: tensor<2xf32> {ttc.name = "x"}) -> (tensor<2xf32> {ttc.name = "y"}) {
          %0 = nn.tanh(%x) : (tensor<2xf32>) -> tensor<2xf32>
          %1 = nn.exp(%0) : (tensor<2xf32>) -> tensor<2xf32>
          func.return %1 : tensor<2xf32>
        }
        func.func @backward(%x: tensor<2xf32> {ttc.name = "x"}, %d: tensor<2xf32> {ttc.name = "grad.y"})
            -> (tensor<2xf32> {ttc.name = "y"}, tensor<2xf32> {ttc.name = "grad.x"}) {
          %0 = nn.tanh(%x) : (tensor<2xf32>) -> tensor<2xf32>
          %1 = nn.exp(%0) : (tensor<2xf32>) -> tensor<2xf32>
          %2 = nn.mul(%d, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
          %3 = nn.mul(%2, %0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
          func.return %1, %3 : tensor<2xf32>, tensor<2xf32>
        }
    After:
        func.func @forward(%x: tensor<2xf32> {ttc.name = "x"}) -> (tensor<2xf32> {ttc.name = "y"}, tensor<2xf32> {ttc.name = "saved.0"},
            tensor<2xf32> {ttc.name = "saved.1"}) {
          %0 = nn.tanh(%x) : (tensor<2xf32>) -> tensor<2xf32>
          %1 = nn.exp(%0) : (tensor<2xf32>) -> tensor<2xf32>
          func.return %1, %1, %0 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
        }
        func.func @backward(%y: tensor<2xf32> {ttc.name = "saved.0"}, %h: tensor<2xf32> {ttc.name = "saved.1"},
            %d: tensor<2xf32> {ttc.name = "grad.y"}) -> (tensor<2xf32> {ttc.name = "grad.x"}) {
          %2 = nn.mul(%d, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
          %3 = nn.mul(%2, %h) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
          func.return %3 : tensor<2xf32>
        }
    Missed:
        never: what cannot be kept, as it depends on gradients, is computed in `backward`.
    """

    name: ClassVar[str] = "split-backward"
    resigns: ClassVar[bool] = True

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        forward, joint = entry_named(unit.module, FORWARD), entry_named(unit.module, BACKWARD)
        if not rewriter.allow(self.name, joint, required=True):
            return
        ways = _Ways(forward, joint)
        ahead, back = ways.ahead(), ways.back()
        for old, new in ((forward, ahead), (joint, back)):
            unit.module.body.block.insert_op_before(new, old)
            old.detach()
            old.erase()
        rewriter.applied(back, f"{len(ways.saved)} values are kept between forward and backward", values=len(ways.saved))


class _Ways:
    """Divides the ops of a joint entry function into those of the forward and those of the backward pass.

    Attributes:
        saved: values of the forward way that the way back reads.
    """

    def __init__(self, forward: FuncOp, joint: FuncOp) -> None:
        self._joint = joint
        arguments, results = ports(joint)
        own = {port.name for port in ports(forward)[0]}
        rows = list(zip(arguments, joint.body.block.args, strict=True))
        self._inputs = [row for row in rows if row[0].name in own]
        self._cotangents = [row for row in rows if row[0].name not in own]
        self._ops = [op for op in joint.body.block.ops if op is not joint.body.block.last_op]
        late = self._late()
        named = list(zip(results, last_operands(joint), strict=True))
        self._given: list[tuple[Port, SSAValue]] = []
        self._found: list[tuple[Port, SSAValue]] = []
        for port, x in named:
            (self._found if x in late or _is_of_gradients(port) else self._given).append((port, x))
        self._ahead = self._needed([x for _, x in self._given], late)
        self._changed = {port.updates for port, _ in named if port.updates is not None}
        read = dict.fromkeys(x for op in self._ops if op not in self._ahead for x in op.operands)
        read |= dict.fromkeys(x for _, x in self._found)
        self._leaves = [x.owner for x in read if isinstance(x.owner, LeafOp) and not self._changes(x.owner) and x.owner in self._ahead]
        kept = {op for op in self._ahead if op not in self._leaves}
        inputs = {x for _, x in self._inputs}
        self.saved = [x for x in read if x.owner in kept or x in inputs]
        self._saved_rows = [(port_of(f"{SAVED}{number}", [*arguments, *results]), x) for number, x in enumerate(self.saved)]

    def _late(self) -> set[SSAValue]:
        """Return values that depend on gradients of outputs."""
        late: set[SSAValue] = {x for _, x in self._cotangents}
        for op in self._ops:
            if not late.isdisjoint(op.operands):
                late.update(op.results)
        return late

    def _needed(self, values: list[SSAValue], late: set[SSAValue]) -> set[Operation]:
        """Return ops that values are computed with, and those that do something besides."""
        found = {op for op in self._ops if getattr(op, "EFFECT", False) and late.isdisjoint(op.operands)}
        wanted = {x for op in found for x in op.operands} | set(values)
        for op in reversed(self._ops):
            if op in found or not wanted.isdisjoint(op.results):
                found.add(op)
                wanted.update(op.operands)
        return found

    def _changes(self, leaf: LeafOp) -> bool:
        """Return whether the forward way gives a leaf a new value, so that the way back cannot read the old one."""
        return isinstance(leaf, ParamOp | StateOp) and leaf.sym.data in self._changed

    def ahead(self) -> FuncOp:
        """Return the entry function of the forward pass."""
        made = make_function(FORWARD, [(port, x.type) for port, x in self._inputs], self._joint.location)
        values: dict[SSAValue, SSAValue] = dict(zip((x for _, x in self._inputs), made.body.block.args, strict=True))
        made.body.block.add_ops([op.clone(values) for op in self._ops if op in self._ahead])
        finish_function(made, [(port, values[x]) for port, x in (*self._given, *self._saved_rows)])
        return made

    def back(self) -> FuncOp:
        """Return the entry function of the backward pass."""
        rows = [*self._saved_rows, *self._cotangents]
        made = make_function(BACKWARD, [(port, x.type) for port, x in rows], self._joint.location)
        values: dict[SSAValue, SSAValue] = dict(zip((x for _, x in rows), made.body.block.args, strict=True))
        chosen = {*self._leaves, *(op for op in self._ops if op not in self._ahead)}
        made.body.block.add_ops([op.clone(values) for op in self._ops if op in chosen])
        finish_function(made, [(port, values[x]) for port, x in self._found])
        return made


def _is_of_gradients(port: Port) -> bool:
    """Return whether a result is of gradients alone: one of an input, or what is added up."""
    return port.name.startswith(PREFIX) or port.updates == COUNT
