"""Reverse-mode differentiation: a module with an entry function gets one that gives its gradients."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.func import FuncOp

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.records import record
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.gradient_entries import FORMS, GradientEntry, joint_entry, recomputing_entry, separate_entry
from ttc.passes.nn.gradient_roles import roles_of

JOINT, BACKWARD = "forward_backward", "backward"
"""Names of the entry functions that are made."""


@record
class Differentiate(Pass):
    """Give a module an entry function for the gradients of another: of a scalar loss, or of outputs whose cotangents come in.

    The cotangent of output `y` is the input `grad.y`, the gradient of a parameter or input `x` the output `grad.x`.  Gradients are located
    at what they are those of, `grad.` before its first name.

    Args:
        entry: the entry function.
        loss: the output that is differentiated, of one element; its cotangent is 1.
        outputs: outputs whose cotangents are inputs; none and no loss: all of floating point.
        parameters: whose gradients are given; none named: all that have one.
        inputs: whose gradients are given; none named, and no parameter in the entry: all of floating point.
        form: joint: `forward_backward` gives the entry's results, then the gradients.  separate: `backward` takes what it needs of the
            entry's values, which the entry gives as further results `saved.N`.  recompute: `backward` computes it again from the inputs.
        into: the name of what is made, instead of these.

    Before:
        func.func @forward(%x: tensor<2x3xf32> {ttc.name = "x"}) -> (tensor<2x3xf32> {ttc.name = "y"}) {
          %0 = nn.tanh(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
          %1 = nn.mul(%0, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
          func.return %1 : tensor<2x3xf32>
        }
    After:
        func.func @forward(%x: tensor<2x3xf32> {ttc.name = "x"}) -> (tensor<2x3xf32> {ttc.name = "y"}) {
          %0 = nn.tanh(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
          %1 = nn.mul(%0, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
          func.return %1 : tensor<2x3xf32>
        }
        func.func @forward_backward(%x: tensor<2x3xf32> {ttc.name = "x"}, %d: tensor<2x3xf32> {ttc.name = "grad.y"})
            -> (tensor<2x3xf32> {ttc.name = "y"}, tensor<2x3xf32> {ttc.name = "grad.x"}) {
          %0 = nn.tanh(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
          %1 = nn.mul(%0, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
          %2 = nn.mul(%d, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
          %3 = nn.mul(%d, %0) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
          %4 = nn.mul(%0, %0) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
          %5 = ttc.constant() {value = #ttc.literal<[1.0], tensor<f32>>} : () -> tensor<f32>
          %6 = nn.sub(%5, %4) : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
          %7 = nn.mul(%2, %6) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
          %8 = nn.add(%3, %7) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
          func.return %1, %8 : tensor<2x3xf32>, tensor<2x3xf32>
        }
    Missed:
        parameters that no differentiated output depends on, or only by way of integers, unless they are named: then they are E0506, as
        every op on the way is that has no gradient.
    """

    name: ClassVar[str] = "differentiate"
    resigns: ClassVar[bool] = True
    entry: str = "forward"
    loss: str | None = None
    outputs: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    form: str = "joint"
    into: str | None = None

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        if self.form not in FORMS:
            raise Error("E0101", f"gradients have no form '{self.form[:40]}'", hint=nearest(self.form, FORMS))
        function = self._function(unit)
        taken = {f.sym_name.data for f in entry_functions(unit.module)}
        name = self.into or (JOINT if self.form == "joint" else BACKWARD)
        if name in taken:
            raise Error("E0302", f"the module has an entry function '{name}' already")
        roles = roles_of(function, self.loss, self.outputs, self.parameters, self.inputs)
        if not rewriter.allow("differentiate", function, required=True):
            return
        gradients = GradientEntry.of(function, roles, unit.weights, name)
        for leaf, reason in gradients.lacking:
            rewriter.missed(leaf, reason)
        make = {"joint": joint_entry, "separate": separate_entry, "recompute": recomputing_entry}[self.form]
        unit.module.body.block.insert_ops_after([make(gradients, function)], function)
        rewriter.applied(function, f"gradients of {len(gradients.found)} values by {gradients.count} ops", ops=gradients.count)

    def _function(self, unit: Unit) -> FuncOp:
        """Return the entry function.  Raises E0206."""
        named = {function.sym_name.data: function for function in entry_functions(unit.module)}
        if self.entry not in named:
            raise Error("E0206", f"the model has no entry function '{self.entry[:80]}'", hint=nearest(self.entry, named))
        return named[self.entry]
