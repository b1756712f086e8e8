"""Builds dialect nn for the mappings: ops at the current node's location, leaves once each, constants that are known at import."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats.text import STRING
from ttc.dialects.core.ir.attributes import LiteralAttr, WeightAttr
from ttc.dialects.core.ir.entries import ports
from ttc.dialects.core.ir.leaves import ConstantOp, LeafOp, ParamOp, StateOp, is_unread
from ttc.dialects.core.ir.locations import location_of, named_location
from ttc.dialects.core.ir.spec import DYNAMIC, Spec, spec_of, tensor_type
from ttc.dialects.core.ir.values import Attribute, Block, BlockArgument, SSAValue, func
from ttc.dialects.core.names import FreeNames
from ttc.dialects.core.plain.weights import Weight, WeightStore
from ttc.dialects.nn.base import NNOp
from ttc.importers.common.draws import DrawingMaker
from ttc.importers.common.partial import Partial
from ttc.importers.common.tracking import NO_INPUTS, Tracker
from ttc.importers.common.unsupported import Misses, Unsupported

MAX_ELEMENTS = 1 << 40
"""The most elements that a tensor of a model may have."""
MAX_RANK = 32
NOTHING_DECLARED: Mapping[str, tuple[int, ...]] = MappingProxyType({})


class Builder(DrawingMaker):
    """A builder of the function that a model becomes.

    Args:
        reserved: names of the model's own weights, which constants made on the way must not take.
        inputs: values of arguments that `need` may use: the program then holds for these values alone.
    """

    def __init__(self, reserved: frozenset[str] = frozenset(), inputs: Mapping[SSAValue, NDArray] = NO_INPUTS) -> None:
        self._taken = set(reserved)
        self._names = FreeNames(".")
        self._weights: dict[str, Weight] = {}
        self._leaves: list[LeafOp] = []
        self._large: dict[tuple[Spec, bytes], SSAValue] = {}
        self._body: list[NNOp] = []
        self._tracker = Tracker(self._weights)
        self._given = Tracker(self._weights, inputs)
        self._location: Attribute = named_location("")
        self._node = ""
        self.outputs: tuple[str, ...] = ()
        self.declared = NOTHING_DECLARED
        self.opset = 0
        self.misses = Misses()
        self.wanted: set[SSAValue] = set()
        """Arguments of integers and booleans whose values would have made what was needed known."""
        self.depth = 0
        """How many bodies of loops and branches lie around what is built."""
        self.spent = 0
        """Ops of all bodies so far."""
        self.widened: dict[str, tuple[Spec, ...]] = {}
        """By node: types that the carried values of its loop turned out to need, which a loop around it asks for again."""

    def enter(
        self,
        node: str,
        outputs: tuple[str, ...] = (),
        opset: int = 0,
        *,
        sources: tuple[str, ...] = (),
        declared: Mapping[str, tuple[int, ...]] = NOTHING_DECLARED,
    ) -> None:
        """Place all further ops at this node of the source.

        Args:
            node: its name.
            outputs: its output names, empty where it does not want one.
            opset: version of its op's meaning, where the format has such.
            sources: further names of where it came from: a module's path, `file:line`.
            declared: static shapes that the source says its outputs have, by name; what runs must check them where they follow from data.
        """
        self._node, self.outputs, self.opset, self.declared = node, outputs, opset, declared
        self._location = location_of((node, *sources))

    @property
    def node(self) -> str:
        """The node that ops are placed at."""
        return self._node

    # ---- ops ------------------------------------------------------------------------------------------------------------------

    def place(self, op: NNOp) -> tuple[SSAValue, ...]:
        """Put an op that exists already behind all others, and return its results. Raises E0203 for results too large."""
        for result in op.results:
            spec = spec_of(result.type)
            if spec.elements > MAX_ELEMENTS or spec.rank > MAX_RANK:
                raise Error("E0203", f"a result is too large: {spec}", where=self._node)
        self._body.append(op)
        return tuple(op.results)

    @contextmanager
    def collected(self) -> Iterator[list[NNOp]]:
        """Collect the ops made inside the block in a list: they are to stand in a region (see `control`), or may be given up.

        The node is the one from before when it ends.
        """
        outer, node = self._body, (self._node, self._location, self.outputs, self.opset, self.declared)
        self._body = []
        try:
            yield self._body
        finally:
            self._body = outer
            self._node, self._location, self.outputs, self.opset, self.declared = node

    @property
    def made(self) -> tuple[NNOp, ...]:
        """The ops of the function so far, in order."""
        return tuple(self._body)

    @property
    def location(self) -> Attribute:
        """The location of the node that is being imported."""
        return self._location

    def shape(self, value: SSAValue) -> tuple[int, ...]:
        """Return the sizes of a value's dimensions. Raises Unsupported if one depends on data: mappings that can do without ask for
        `spec`.
        """
        found = spec_of(value.type)
        if not found.is_static:
            raise Unsupported(f"takes no tensor whose shape depends on data: {found}")
        return found.shape

    def sizes(self, value: SSAValue, first: int, end: int | None = None) -> tuple[int, ...]:
        """Return the sizes of dimensions from first up to end.  Raises Unsupported, as `shape` does, if one of these depends on data."""
        found = spec_of(value.type).shape[first:end]
        return self.shape(value)[first:end] if DYNAMIC in found else found

    # ---- leaves ---------------------------------------------------------------------------------------------------------------

    def initializer(self, name: str, weight: Weight, *, trainable: bool | None = None) -> SSAValue:
        """Return the leaf of a weight of the model.

        trainable: whether it is a parameter, else it is a constant; None: the format does not say, and floating-point ones with a
        dimension count as parameters.
        """
        spec = Spec(weight.shape, weight.dtype)
        if weight.dtype == STRING:
            return self._texts(weight.value(), name)
        if trainable or (trainable is None and _is_float(weight.dtype) and weight.shape):
            self._weights[name] = weight
            return self._leaf(ParamOp, {"sym": name, "value": WeightAttr.of(name, spec)}, spec, name)
        if spec.elements <= LiteralAttr.MAX_ELEMENTS:
            return self._leaf(ConstantOp, {"value": LiteralAttr.of(weight.value())}, spec, name)
        self._weights[name] = weight
        return self._leaf(ConstantOp, {"value": WeightAttr.of(name, spec)}, spec, name)

    def state(self, name: str, first: Weight) -> SSAValue:
        """Return the leaf of a state: its value when the function is entered; `first` is the value that it starts with."""
        spec = Spec(first.shape, first.dtype)
        self._weights[name] = first
        return self._leaf(StateOp, {"sym": name, "value": WeightAttr.of(name, spec)}, spec, name)

    def counter(self, name: str) -> SSAValue:
        """Return the leaf of a state that starts as the integer 0."""
        return self._leaf(StateOp, {"sym": name, "value": LiteralAttr.of(np.array(0))}, Spec((), np.dtype(np.int64)), name)

    def constant(self, value: ArrayLike, dtype: np.dtype | None = None) -> SSAValue:
        """Return a constant of the current node: written out if it is small, else made once, as loops repeat their bodies' constants."""
        array = np.asarray(value, dtype)
        spec = Spec(array.shape, array.dtype)
        if array.dtype == STRING:
            return self._texts(array, self._node)
        if spec.elements <= LiteralAttr.MAX_ELEMENTS:
            return self._leaf(ConstantOp, {"value": LiteralAttr.of(array)}, spec, self._node)
        content = spec, sha256(np.ascontiguousarray(array).tobytes()).digest()
        if content not in self._large:
            key = self._fresh(self._node)
            self._weights[key] = Weight(array.shape, array.dtype, lambda: array)
            self._large[content] = self._leaf(ConstantOp, {"value": WeightAttr.of(key, spec)}, spec, self._node)
        return self._large[content]

    def _texts(self, array: NDArray, name: str) -> SSAValue:
        """Text is always written out: weights are numbers.  Raises E0203 for too many."""
        if array.size > LiteralAttr.MAX_TEXTS:
            raise Error("E0203", f"'{name}' holds {array.size} texts; at most {LiteralAttr.MAX_TEXTS} are possible", where=name)
        return self._leaf(ConstantOp, {"value": LiteralAttr.of(array)}, Spec(array.shape, STRING), name)

    def _leaf(self, kind: type[LeafOp], attrs: dict[str, Any], spec: Spec, name: str) -> SSAValue:
        leaf = kind.make((), attrs, [tensor_type(spec)], named_location(name))
        self._leaves.append(leaf)
        return leaf.result

    def _fresh(self, stem: str) -> str:
        key = self._names.of(stem, self._taken)
        self._taken.add(key)
        return key

    # ---- values known at import -------------------------------------------------------------------------------------------------

    def known(self, value: SSAValue) -> NDArray | None:
        """Return the value if it follows from constants and static shapes by little work, else None."""
        return self._tracker.known(value)

    def part(self, value: SSAValue) -> Partial | None:
        """Return which elements of a list of integers are known, where sizes that data decide stand beside others in it."""
        return self._tracker.part(value)

    def need(self, value: SSAValue, what: str) -> NDArray:
        """Return the known value of an operand that nn has as an attribute.  Raises Unsupported."""
        found = self.known(value)
        found = self._given.known(value) if found is None else found
        if found is None:
            self.wanted |= self._given.missing(value)
            raise Unsupported(f"needs a constant {what}")
        return found

    def is_of_data(self, value: SSAValue) -> bool:
        """Return whether a value follows from data, so that no values of integer inputs would make it known (those are for a contract).

        Inputs of two dimensions and more are data, as masks are, unless their values are given.
        """
        return self._given.known(value) is None and all(self.rank(x) > 1 for x in self._given.missing(value))

    def undecided(self, condition: SSAValue, error: Error) -> Error:
        """Return the error of a branch that may not be the one taken, with a hint at the inputs whose values would decide."""
        names = sorted(_name(argument) for argument in self._given.missing(condition))
        if names and error.hint is None:
            flags = " ".join(f"--values {name}=..." for name in names)
            error.hint = f"if this branch is not to be taken, compile for one value of {', '.join(names)}: {flags}"
        return error

    @property
    def fixed(self) -> dict[SSAValue, NDArray]:
        """The arguments whose values were needed, with these, in the compute dtypes of their formats."""
        return self._given.used

    def ints(self, value: SSAValue, what: str) -> tuple[int, ...]:
        """Return the known integers of an operand of rank 0 or 1.  Raises Unsupported, E0203."""
        found = self.need(value, what)
        if found.ndim > 1 or found.dtype.kind not in "iu" or found.size > 4096:
            raise Error("E0203", f"{what} must be a list of integers, not {found.dtype}{list(found.shape)}", where=self._node)
        return tuple(int(x) for x in found.ravel())

    def number(self, value: SSAValue, what: str) -> float:
        """Return the known number of an operand with one element.  Raises Unsupported, E0203."""
        found = self.need(value, what)
        if found.size != 1:
            raise Error("E0203", f"{what} must be one number, not {list(found.shape)}", where=self._node)
        return float(found.ravel()[0])

    # ---- the end ----------------------------------------------------------------------------------------------------------------

    def finish(self, block: Block, results: set[SSAValue]) -> WeightStore:
        """Fill the block: leaves that are used, in order of first use, then the ops; gives the store of the leaves' weights."""
        store = WeightStore()
        for leaf in self._leaves:
            if is_unread(leaf) and leaf.result not in results:
                continue
            block.add_op(leaf)
            if leaf.key is not None:
                store.add(leaf.key, self._weights[leaf.key])
        block.add_ops(self._body)
        return store


def _name(argument: SSAValue) -> str:
    """Return the name of an argument of the function being built."""
    function = argument.owner.parent_op() if isinstance(argument, BlockArgument) else None
    return ports(function)[0][argument.index].name if isinstance(argument, BlockArgument) and isinstance(function, func.FuncOp) else "?"


def _is_float(dtype: np.dtype) -> bool:
    return dtype.kind in "fV"
