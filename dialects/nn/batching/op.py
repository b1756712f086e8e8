"""One op on a batch: what rules of batching ask and answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ttc.dialects.core.batch_axis import BatchAxis
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.core.records import record
from ttc.dialects.core.shapes import axis_in

Axes = tuple[BatchAxis | None, ...]


@record
class Carriage:
    """How an op keeps samples apart.

    Args:
        operands: where each must carry the batch; None: it must be the same for all samples, or is absent.
        results: where each then carries it.
        scaled: attributes with numbers that grow with the samples: each with the place of the number, or None for all of them.
    """

    operands: Axes
    results: tuple[BatchAxis, ...]
    scaled: tuple[tuple[str, int | None], ...] = ()

    def attrs(self, attrs: Mapping[str, Any], size: int, new_size: int) -> dict[str, Any]:
        """Return the op's attributes for a batch of new_size samples, given those for `size` samples."""
        found = dict(attrs)
        for name, place in self.scaled:
            values: tuple[int, ...] = found[name]
            found[name] = tuple(v // size * new_size if place in (None, i) else v for i, v in enumerate(values))
        return found


@record
class BatchedOp:
    """An op, and where its operands carry a batch.

    Args:
        operands: their types, None where one is absent.
        results: their types.
        attrs: of the op.
        carried: where each operand carries the batch; None: it is not known to.  At least one does.
        size: samples of the batch, at least 2.
    """

    operands: tuple[Spec | None, ...]
    results: tuple[Spec, ...]
    attrs: Mapping[str, Any]
    carried: Axes
    size: int

    @property
    def first(self) -> tuple[int, BatchAxis]:
        """Return the first operand that carries the batch, and where."""
        return next((index, found) for index, found in enumerate(self.carried) if found is not None)

    @property
    def result(self) -> Spec:
        """Return the type of the first result."""
        return self.results[0]

    def rank(self, index: int = 0) -> int:
        """Return the rank of an operand; 0 of one that is absent."""
        return 0 if (found := self.operands[index]) is None else found.rank

    def size_of(self, index: int, axis: int) -> int:
        """Return the size of a dimension of an operand; 1 if it is absent or has no such dimension."""
        found = self.operands[index]
        return found.shape[axis] if found is not None and 0 <= axis < found.rank else 1

    def axis(self, name: str = "axis") -> int:
        """Return an attribute that names a dimension of the first operand, counted from the front."""
        return axis_in(self.attrs[name], self.rank())

    def beside(self, index: int, at: BatchAxis) -> BatchAxis | None:
        """Return where an operand that broadcasts to the first result carries the batch if that does so at a place.

        None if it is the same for all samples: it is absent, or has no such dimension or one of size 1.
        """
        axis = at.axis - self.result.rank + self.rank(index)
        return BatchAxis(axis, at.runs) if self.size_of(index, axis) != 1 else None

    def all_beside(self, at: BatchAxis) -> Carriage:
        """Return that all operands broadcast to the first result, and all results carry the batch at a place."""
        return Carriage(tuple(self.beside(index, at) for index in range(len(self.operands))), (at,) * len(self.results))

    def alone(self, *results: BatchAxis, scaled: tuple[tuple[str, int | None], ...] = ()) -> Carriage | None:
        """Return where all results carry the batch if no operand but the first does; one place stands for all results."""
        if self.carried[0] is None:
            return None
        rest = (None,) * (len(self.operands) - 1)
        return Carriage((self.carried[0], *rest), results * len(self.results) if len(results) == 1 else results, scaled)
