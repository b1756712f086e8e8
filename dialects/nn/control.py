"""Ops with regions: what runs, and how often, is decided by data.  They run on the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.traits import IsolatedFromAbove, IsTerminator
from xdsl.utils.exceptions import VerifyException

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.adapter import TtcOp
from ttc.dialects.core.ir.attributes import BOOL, INT, STR, LiteralAttr
from ttc.dialects.core.ir.leaves import ConstantOp
from ttc.dialects.core.ir.locations import source_names
from ttc.dialects.core.ir.spec import DYNAMIC, Spec, spec_of, tensor_type
from ttc.dialects.nn.base import TENSOR, NNOp

COUNT_TYPE = np.dtype(np.int64)
TRUTH_TYPE = np.dtype(np.bool_)
_LOWERED = "tile."
"""The dialect of what a lowering makes of ops in regions."""


class Ends(NamedTuple):
    """The types of what a region takes, and of what it yields."""

    takes: Sequence[Spec]
    yields: Sequence[Spec]


def joined(a: Spec, b: Spec) -> Spec:
    """Return the narrowest type of values of either: dimensions that differ are dynamic.  Raises E0401, E0403."""
    if a.rank != b.rank:
        raise Error("E0401", f"a value of a branch or loop is {a} or {b}, which differ in rank")
    if a.dtype != b.dtype:
        raise Error("E0403", f"a value of a branch or loop is {a} or {b}, which differ in type")
    return Spec(tuple(x if x == y else DYNAMIC for x, y in zip(a.shape, b.shape, strict=True)), a.dtype)


def accepts(outer: Spec, inner: Spec) -> bool:
    """Return whether every value of type `inner` is one of type `outer`."""
    return outer.rank == inner.rank and outer.dtype == inner.dtype and joined(outer, inner) == outer


@irdl_op_definition
class YieldOp(TtcOp):
    """Ends a region: its operands are what the region gives.

    Args:    values: one or more tensors.
    Source:  scf.yield.
    """

    name = "nn.yield"
    values = var_operand_def(TENSOR)
    traits = traits_def(IsTerminator())


class ControlOp(NNOp):
    """An op with regions, each one block that ends in nn.yield.

    Regions see nothing from outside: what they read comes in as arguments.  Inside are nn ops and literals, later tile ops; weights,
    parameters and states come in, too.  An argument may be of a wider type than the value that it takes: with dynamic dimensions where
    that has sizes.
    """

    @classmethod
    def infer_with(cls, operands: Sequence[Spec | None], attrs: dict[str, Any], ends: Sequence[Ends]) -> tuple[Spec, ...]:
        """Result specs, given what the regions take and yield.  Raises E04xx."""
        raise Error("E0901", f"{cls.name} has no infer_with")

    @classmethod
    def arguments(cls, operands: Sequence[Spec | None], attrs: dict[str, Any]) -> tuple[Spec, ...]:
        """Return what every region takes, given the operands: its arguments accept these."""
        raise Error("E0901", f"{cls.name} has no arguments")

    @classmethod
    def takes(cls, number: int, inner: Spec, outer: Spec, attrs: dict[str, Any]) -> bool:
        """Return whether an argument of a region, of type `inner`, takes what `arguments` says it is given."""
        return accepts(inner, outer)

    @classmethod
    def build_with(cls, *operands: SSAValue | None, location: Attribute, blocks: Sequence[Block], **attrs: Any) -> Self:
        """Create the op around blocks that end in YieldOp.  Raises E04xx at the location."""
        given = {k: v for k, v in attrs.items() if v is not None}
        specs = [None if x is None else spec_of(x.type) for x in operands]
        try:
            results = cls.infer_with(specs, given, [ends_of(block) for block in blocks])
        except Error as error:
            raise error.at(" + ".join(source_names(location)) or cls.name) from None
        return cast("Self", cls.make(operands, given, [tensor_type(s) for s in results], location, [Region(b) for b in blocks]))

    def check(self) -> None:
        specs = [None if v is None else spec_of(v.type) for v in self.named_operands()]
        attrs = self.plain_attrs()
        try:
            wanted = self.arguments(specs, attrs)
            for region in self.regions:
                self._check_region(region, wanted, attrs)
            found = self.infer_with(specs, attrs, [ends_of(region.block) for region in self.regions])
        except Error as error:
            raise VerifyException(error.message) from error
        if found != tuple(spec_of(r.type) for r in self.results):
            raise VerifyException(f"{self.name} gives {', '.join(map(str, found))}, which are not its results")

    def _check_region(self, region: Region, wanted: Sequence[Spec], attrs: dict[str, Any]) -> None:
        """Raises E0302 for what may not stand in a region, E0401 for arguments that do not accept the operands."""
        found = [spec_of(a.type) for a in region.block.args]
        fits = len(found) == len(wanted) and all(self.takes(i, a, b, attrs) for i, (a, b) in enumerate(zip(found, wanted, strict=True)))
        if not fits:
            raise Error("E0401", f"a region takes {', '.join(map(str, found))}, not {', '.join(map(str, wanted))}")
        if not isinstance(region.block.last_op, YieldOp):
            raise Error("E0302", "a region does not end in nn.yield")
        for op in region.block.ops:
            if not isinstance(op, NNOp | YieldOp) and not is_written_out(op) and not op.name.startswith(_LOWERED):
                raise Error("E0302", f"{op.name} does not belong into a region: only ops of nn and tile and literals do")


@irdl_op_definition
class BranchOp(ControlOp):
    """One of several regions, chosen by data.

    Args:    which: tensor[], bool: the first region runs if it is true, else the second; or int64: the region of that number, from 0,
             runs; the last one where there is none of it.  values: what the regions take, each all of them.
             branches: the regions; two for a bool, else one or more.  They yield as many tensors, alike in rank and dtype.
    Returns: ys: what the region yields; dimensions in which regions differ are dynamic.
    Raises:  E0401, E0403 where regions differ in what they yield, or which is of another type.
    Source:  ONNX If-21; torch.cond; TensorFlow If, Case.
    """

    name = "nn.branch"
    which = operand_def(TENSOR)
    values = var_operand_def(TENSOR)
    branches = var_region_def("single_block")
    ys = var_result_def(TENSOR)
    traits = traits_def(IsolatedFromAbove())

    @classmethod
    def arguments(cls, operands: Sequence[Spec | None], attrs: dict[str, Any]) -> tuple[Spec, ...]:
        return tuple(x for x in operands[1:] if x is not None)

    @classmethod
    def infer_with(cls, operands: Sequence[Spec | None], attrs: dict[str, Any], ends: Sequence[Ends]) -> tuple[Spec, ...]:
        which = operands[0]
        if which is None or which not in (Spec((), TRUTH_TYPE), Spec((), COUNT_TYPE)):
            raise Error("E0403", f"a branch is chosen by one bool or int64, not {which}")
        if not ends or (which.dtype == TRUTH_TYPE and len(ends) != 2):
            raise Error("E0401", f"{which} does not choose among {len(ends)} regions")
        first, *others = yields = [end.yields for end in ends]
        if any(len(other) != len(first) for other in others):
            raise Error("E0401", f"regions yield {', '.join(str(len(y)) for y in yields)} values")
        found = list(first)
        for other in others:
            found = [joined(a, b) for a, b in zip(found, other, strict=True)]
        return tuple(found)


@irdl_op_definition
class LoopOp(ControlOp):
    """A region that runs again and again on values that each iteration hands to the next.

    Iteration i runs if i is below the count, where there is one, and the condition holds, where there is one.  The region takes i
    (tensor[], int64), the carried values, and the values that stay the same; it yields whether to go on (if there is a condition), the new
    carried values, and any number of further ones, each of which is stacked over all iterations along a new first dimension.

    Args:    count: tensor[], int64: iterations at most; absent: no limit.  condition: tensor[], bool: of the first iteration; absent: every
             iteration goes on.  values: first the carried ones, then those that stay.  carried: how many are.
             length: iterations that run in any case, which excludes count and condition; absent: data decides.
             body: the region.
    Returns: ys: the carried values after the last iteration, of the types of the region's arguments, then the stacks: tensor[?, ...],
             or tensor[length, ...].  A loop that holds more than 4 GB, or that takes more than 2^26 iterations, is E0805 when it runs;
             iterations that give values of different shapes to stack are E0802.
    Raises:  E0401, E0402, E0403 if what the region takes or yields does not fit.
    Source:  ONNX Loop-21, Scan-21; torch.while_loop, torch.scan; TensorFlow While; scf.while.
    """

    name = "nn.loop"
    count = opt_operand_def(TENSOR)
    condition = opt_operand_def(TENSOR)
    values = var_operand_def(TENSOR)
    carried = prop_def(INT)
    length = opt_prop_def(INT)
    body = region_def("single_block")
    ys = var_result_def(TENSOR)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(IsolatedFromAbove())

    @classmethod
    def arguments(cls, operands: Sequence[Spec | None], attrs: dict[str, Any]) -> tuple[Spec, ...]:
        return Spec((), COUNT_TYPE), *(x for x in operands[2:] if x is not None)

    @classmethod
    def infer_with(cls, operands: Sequence[Spec | None], attrs: dict[str, Any], ends: Sequence[Ends]) -> tuple[Spec, ...]:
        count, condition, *values = operands
        carried, length = attrs["carried"], attrs.get("length")
        if count not in (None, Spec((), COUNT_TYPE)) or condition not in (None, Spec((), TRUTH_TYPE)):
            raise Error("E0403", f"a loop is bounded by one int64 and one bool, not {count} and {condition}")
        if not 0 <= carried <= len(values) or (length is not None and (length < 0 or count or condition)):
            raise Error("E0402", f"{carried} of {len(values)} values are carried, through {length} iterations")
        (end,) = ends
        found, takes = list(end.yields), end.takes[1 : 1 + carried]
        if condition is not None and (not found or found.pop(0) != Spec((), TRUTH_TYPE)):
            raise Error("E0403", "a loop with a condition yields first whether to go on")
        if len(found) < carried:
            raise Error("E0401", f"a loop that carries {carried} values yields {len(found)}")
        for outer, inner in zip(takes, found, strict=False):
            if not accepts(outer, inner):
                raise Error("E0401", f"a loop carries {outer}, of which an iteration makes {inner}")
        trips = DYNAMIC if length is None else length
        return *takes, *(Spec((trips, *x.shape), x.dtype) for x in found[carried:])


@irdl_op_definition
class RequireOp(NNOp):
    """The operand x itself; a run in which a truth value beside it is other than it has to be is refused.

    Args:    x: tensor[...], any dtype.  truth: tensor[], bool.  wanted: what it has to be.  message: why, for people.
    Returns: y: x.  Another truth is E0802 when the op runs, with the message.
    Raises:  E0403 if truth is not one bool.
    Source:  a branch whose other side does not fit the shapes that a model is compiled for (importers).
    """

    name = "nn.require"
    STRINGS: ClassVar[bool] = True
    x = operand_def(TENSOR)
    truth = operand_def(TENSOR)
    wanted = prop_def(BOOL)
    message = prop_def(STR)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec, truth: Spec, *, wanted: bool, message: str) -> Spec:
        if truth != Spec((), TRUTH_TYPE):
            raise Error("E0403", f"what is required of a run is one bool, not {truth}")
        return x


def ends_of(block: Block) -> Ends:
    """Return what a block of a region takes and yields."""
    last = block.last_op
    return Ends([spec_of(a.type) for a in block.args], [] if last is None else [spec_of(v.type) for v in last.operands])


def is_written_out(op: Operation) -> bool:
    """Return whether the op is a constant that stands in the IR itself."""
    return isinstance(op, ConstantOp) and isinstance(op.value, LiteralAttr)
