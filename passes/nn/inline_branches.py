"""The pass that runs both regions of a branch, if both may run, and chooses between their values."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import SSAValue

from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.core.records import record
from ttc.dialects.nn.binary import WhereOp
from ttc.dialects.nn.control import TRUTH_TYPE, BranchOp, RequireOp
from ttc.dialects.nn.total import is_total
from ttc.passes.base import Pass, Rewriter, Unit


@record
class InlineBranches(Pass):
    """Replace a branch of two regions that cannot fail and give the same static types by both regions and a choice of values.

    All that follows sees the ops of the regions: they are fused, get constants, and run on the device.  The native engine runs of them
    what the choice takes.  Branches of which the importer left one side are remarked on.

    Before:
        (%c: tensor<i1>, %x: tensor<2xf32>)
        %0 = nn.branch(%c, %x) : (tensor<i1>, tensor<2xf32>) -> tensor<2xf32> {
        ^bb0(%1: tensor<2xf32>):
          %2 = nn.exp(%1) : (tensor<2xf32>) -> tensor<2xf32>
          nn.yield(%2) : (tensor<2xf32>) -> ()
        } {
        ^bb0(%3: tensor<2xf32>):
          %4 = nn.neg(%3) : (tensor<2xf32>) -> tensor<2xf32>
          nn.yield(%4) : (tensor<2xf32>) -> ()
        }
        return %0 : tensor<2xf32>
    After:
        (%c: tensor<i1>, %x: tensor<2xf32>)
        %2 = nn.exp(%x) : (tensor<2xf32>) -> tensor<2xf32>
        %4 = nn.neg(%x) : (tensor<2xf32>) -> tensor<2xf32>
        %0 = nn.where(%c, %2, %4) : (tensor<i1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
        return %0 : tensor<2xf32>
    Missed:
        an integer chooses; the regions differ in what they give; its shape depends on data; an op may fail on data that are not its own.
    """

    name: ClassVar[str] = "inline-branches"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        for function in entry_functions(unit.module):
            for op in list(function.body.block.ops):
                if isinstance(op, BranchOp):
                    _inline(op, rewriter)
                elif isinstance(op, RequireOp):
                    rewriter.analysis(op, f"one side of a branch is left, for runs that take it: otherwise {op.message.data}")


def _inline(branch: BranchOp, rewriter: Rewriter) -> None:
    """Branches inside come first: one that has to stay keeps those around it."""
    for region in branch.regions:
        for op in list(region.block.ops):
            if isinstance(op, BranchOp):
                _inline(op, rewriter)
    why = _refusal(branch)
    if why is not None:
        rewriter.missed(branch, f"a branch is taken by the host: {why}")
        return
    if not rewriter.allow("inline-branch", branch):
        return
    given = [_moved_out(branch, index, rewriter) for index in range(2)]
    chosen: list[SSAValue] = []
    for first, second in zip(*given, strict=True):
        same = first is second
        chosen.append(first if same else rewriter.build(branch, WhereOp, branch.which, first, second).results[0])
    rewriter.applied(branch, "both branches run, or what is needed of them; values are chosen")
    rewriter.replace(branch, chosen)


def _moved_out(branch: BranchOp, index: int, rewriter: Rewriter) -> list[SSAValue]:
    """Return what a region gives, its ops before the branch."""
    block = branch.regions[index].block
    for argument, value in zip(block.args, branch.values, strict=True):
        argument.replace_all_uses_with(value)
    *ops, last = block.ops
    for op in ops:
        op.detach()
        rewriter.insert(branch, op)
    return list(last.operands)


def _refusal(branch: BranchOp) -> str | None:
    """Why it has to stay; None if it can go."""
    if spec_of(branch.which.type).dtype != TRUTH_TYPE:
        return "an integer chooses it"
    results = [result.type for result in branch.results]
    for region in branch.regions:
        *ops, last = region.block.ops
        if [value.type for value in last.operands] != results:
            return "the results of its regions differ in shape"
        if [argument.type for argument in region.block.args] != [value.type for value in branch.values]:
            return "its regions take values of other shapes"
        failing = next((op for op in ops if not is_total(op)), None)
        if failing is not None:
            return f"{failing.name} may fail on data for which the other is meant, or has no static shape"
    return None
