"""What passes of stage nn look for: constants, scalars among them, single uses, permutations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Block, Operation, SSAValue

from ttc.dialects.core.ir.adapter import TtcOp
from ttc.dialects.core.ir.attributes import LiteralAttr
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.ir.leaves import ConstantOp, ParamOp
from ttc.dialects.core.ir.locations import source_names
from ttc.dialects.core.ir.spec import Spec, spec_of
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.base import ops as nn_ops
from ttc.dialects.nn.elementwise import ElementwiseOp
from ttc.dialects.nn.shape import ExpandOp, ReshapeOp, TransposeOp
from ttc.passes.base import Rewriter, Unit

OpT = TypeVar("OpT", bound=Operation)

TOLERANCE = 1e-3
"""How far, relatively, a constant of an exporter's decomposition may be from the number it stands for."""
MAX_READ = 1 << 20
"""The most elements of a constant that a pass looks through."""

MAX_EXPRESSION = 32
"""The most ops of a constant expression that is recognized as one."""


@cache
def elementwise() -> frozenset[type[NNOp]]:
    """Return the classes of ops that compute each element from the elements of the same place, operands broadcast."""
    return frozenset(kind for kind in nn_ops().values() if issubclass(kind, ElementwiseOp))


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """Return the shape of a value, -1 where it depends on data."""
    return spec_of(value.type).shape


def spec(value: SSAValue) -> Spec:
    """Return the spec of a value."""
    return spec_of(value.type)


def size_bytes(value: SSAValue) -> int:
    """Return bytes of a static value in its source dtype."""
    found = spec_of(value.type)
    return found.elements * found.dtype.itemsize


def owner(value: SSAValue, *kinds: type[OpT]) -> OpT | None:
    """Return the op that computes the value, if it is of one of these kinds."""
    found = value.owner
    return found if isinstance(found, kinds) else None


def users(value: SSAValue) -> list[Operation]:
    """Return the ops that read the value, each once, in the order of first use."""
    return list(dict.fromkeys(use.operation for use in value.uses))


def sole_user(value: SSAValue) -> Operation | None:
    """Return the op that reads the value, if there is exactly one use."""
    uses = iter(value.uses)
    first = next(uses, None)
    return first.operation if first is not None and next(uses, None) is None else None


def single_use(value: SSAValue) -> bool:
    """Return whether the value is used exactly once."""
    return sole_user(value) is not None


def either_way(op: Operation) -> Iterator[tuple[SSAValue, SSAValue]]:
    """Yield the two operands of a commutative op, in both orders."""
    a, b = op.operands
    yield a, b
    yield b, a


def is_constant(value: SSAValue) -> bool:
    """Return whether the value is made of constants and parameters alone, by an expression of at most MAX_EXPRESSION ops."""
    return _expression_ops(value.owner) is not None


class KnownConstants:
    """Tells which values are constant, as `is_constant` does, and remembers it: expressions that grow op by op are walked once.

    For passes that never change what a constant expression reads.
    """

    def __init__(self) -> None:
        self._ops: dict[Operation | Block, int | None] = {}

    def __contains__(self, value: SSAValue) -> bool:
        owner = value.owner
        if isinstance(owner, ConstantOp | ParamOp):
            return True
        if owner not in self._ops:
            self._ops[owner] = self._count(owner)
        return self._ops[owner] is not None

    def _count(self, owner: Operation | Block) -> int | None:
        """At most how many ops compute the owner's value; None if it is no constant.  What operands share is counted once if need be."""
        if isinstance(owner, NNOp) and owner.operands:
            parts = {x.owner for x in owner.operands if not isinstance(x.owner, ConstantOp | ParamOp)}
            counts = [self._ops.get(part, MAX_EXPRESSION) for part in parts]
            if None in counts:
                return None
            bound = 1 + sum(count for count in counts if count is not None)
            if bound <= MAX_EXPRESSION:
                return bound
        return _expression_ops(owner)


def _expression_ops(owner: Operation | Block) -> int | None:
    """Return how many ops compute the owner's value from constants and parameters; None if it reads anything else, or they are too many."""
    seen: set[Operation] = set()
    pending = [owner]
    while pending:
        op = pending.pop()
        if isinstance(op, ConstantOp | ParamOp) or op in seen:
            continue
        if not isinstance(op, NNOp) or not op.operands or len(seen) == MAX_EXPRESSION:
            return None
        seen.add(op)
        pending.extend(x.owner for x in op.operands)
    return len(seen)


def constant_array(value: SSAValue, weights: WeightStore, max_elements: int) -> NDArray | None:
    """Return the value of a constant of at most so many elements.

    None for everything else: parameters and floats derived from them too, as they may change.
    """
    op = value.owner
    if not isinstance(op, ConstantOp) or spec_of(value.type).elements > max_elements:
        return None
    if isinstance(op.value, LiteralAttr):
        return op.value.array
    weight = weights[op.value.key.data]
    return None if weight.derived and weight.dtype.kind not in "iub" else weight.value()


def constant_scalar(value: SSAValue, weights: WeightStore) -> float | None:
    """Return the number that every element of a constant is: one element, possibly expanded or reshaped."""
    while isinstance(value.owner, ExpandOp | ReshapeOp):
        value = value.owner.operands[0]
    found = constant_array(value, weights, 1)
    return None if found is None or found.size != 1 else float(found.reshape(()))


def is_scalar(value: SSAValue, wanted: float, weights: WeightStore) -> bool:
    """Return whether the value is a constant close to a number."""
    found = constant_scalar(value, weights)
    return found is not None and abs(found - wanted) <= TOLERANCE * abs(wanted)


def has_elements(value: SSAValue, wanted: float, weights: WeightStore) -> bool:
    """Return whether every element of a constant of at most MAX_READ is exactly the number wanted, whatever the sign of a zero."""
    while isinstance(value.owner, ExpandOp | ReshapeOp):
        value = value.owner.operands[0]
    found = constant_array(value, weights, MAX_READ)
    return found is not None and found.size > 0 and bool(np.all(found == wanted))


def sweep_entries(unit: Unit, rewriter: Rewriter, handlers: Mapping[type[Operation], Callable[[Any], None]]) -> None:
    """Call the handler of each op's type in all entry functions; expressions of derived tensors stay as they are."""
    for function in entry_functions(unit.module):
        rewriter.sweep(function, handlers)


def rebuilt(
    rewriter: Rewriter, anchor: Operation, op: NNOp, operands: Sequence[SSAValue | None], sources: Sequence[Operation], **changes: Any
) -> NNOp:
    """Return the op over other operands and with some attributes changed, before `anchor`, located at the sources."""
    return rewriter.build(anchor, type(op), *operands, sources=sources, **{**op.plain_attrs(), **changes})


def reshaped(rewriter: Rewriter, anchor: Operation, value: SSAValue, shape: Sequence[int]) -> SSAValue:
    """Return the value in another shape, before `anchor`; itself if it has that shape."""
    if shape_of(value) == tuple(shape):
        return value
    return rewriter.build(anchor, ReshapeOp, value, shape=tuple(shape)).results[0]


def transposed(rewriter: Rewriter, anchor: Operation, value: SSAValue, perm: Sequence[int], sources: Sequence[Operation] = ()) -> SSAValue:
    """Return the value transposed, before `anchor`, located at the sources; merged with the transpose that makes it; itself where nothing
    moves.
    """
    inner = owner(value, TransposeOp)
    if inner is not None:
        value, perm = inner.operands[0], composed(perm_of(inner), perm)
    if is_identity(perm):
        return value
    return rewriter.build(anchor, TransposeOp, value, sources=sources, perm=tuple(perm)).results[0]


# ---- permutations ----------------------------------------------------------------------------------------------------------------


def composed(first: Sequence[Any], second: Sequence[int]) -> tuple[Any, ...]:
    """Return the permutation that equals transposing by `first` and then by `second`."""
    return tuple(first[i] for i in second)


def inverse(perm: Sequence[int]) -> tuple[int, ...]:
    """Return the permutation that undoes one."""
    return tuple(sorted(range(len(perm)), key=perm.__getitem__))


def is_identity(perm: Sequence[int]) -> bool:
    """Return whether a permutation moves nothing."""
    return tuple(perm) == tuple(range(len(perm)))


def swap_last_two(rank: int) -> tuple[int, ...]:
    """Return the permutation that exchanges the last two dimensions."""
    return (*range(rank - 2), rank - 1, rank - 2)


def perm_of(op: TransposeOp) -> tuple[int, ...]:
    """Return the permutation of a transpose."""
    return op.plain_attrs()["perm"]


def attr(op: Operation, name: str) -> Any:
    """Return a plain attribute of an nn op; None if absent."""
    return op.plain_attrs().get(name) if isinstance(op, TtcOp) else None


def stem_of(op: Operation) -> str:
    """Return a stem for the name of a tensor that an op gives: its first source name and its mnemonic."""
    mnemonic = op.name.partition(".")[2]
    names = source_names(op.location)
    return f"{names[0]}.{mnemonic}" if names else mnemonic
