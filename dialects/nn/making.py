"""Making nn ops one after another at a location: what importers' mappings and gradient rules have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from xdsl.ir import Attribute, SSAValue

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.locations import source_names
from ttc.dialects.core.ir.spec import Spec, spec_of
from ttc.dialects.nn.base import NNOp, ops


class OpMaker(ABC):
    """Makes nn ops at its location.  A subclass says where they go, and where constants do."""

    @property
    @abstractmethod
    def location(self) -> Attribute:
        """The location of what is made now."""

    @abstractmethod
    def place(self, op: NNOp) -> tuple[SSAValue, ...]:
        """Put an op after all that were placed before it; returns its results."""

    @abstractmethod
    def constant(self, value: ArrayLike, dtype: np.dtype | None = None) -> SSAValue:
        """Return a constant of that value."""

    def nn(self, op: str, *operands: SSAValue | None, **attrs: Any) -> SSAValue:
        """Return the first result of a new op.  Raises E04xx at the location."""
        return self.nn_all(op, *operands, **attrs)[0]

    def nn_all(self, op: str, *operands: SSAValue | None, **attrs: Any) -> tuple[SSAValue, ...]:
        """Return all results of a new op.  Raises E04xx at the location."""
        kind = ops().get(op)
        if kind is None:
            raise Error("E0901", f"dialect nn has no op '{op}'", where=self.place_name)
        return self.place(kind.build(*operands, location=self.location, **attrs))

    @property
    def place_name(self) -> str | None:
        """The source names of the location, for errors; None if it has none."""
        return " + ".join(source_names(self.location)) or None

    def spec(self, value: SSAValue) -> Spec:
        """Shape and dtype of a value."""
        return spec_of(value.type)

    def shape(self, value: SSAValue) -> tuple[int, ...]:
        """Return the sizes of a value's dimensions.  Raises E0401 if one depends on data."""
        found = spec_of(value.type)
        if not found.is_static:
            raise Error("E0401", f"takes no tensor whose shape depends on data: {found}", where=self.place_name)
        return found.shape

    def rank(self, value: SSAValue) -> int:
        """Return the number of a value's dimensions, which always is known."""
        return len(spec_of(value.type).shape)

    def dtype(self, value: SSAValue) -> np.dtype:
        """Return the dtype of a value's elements."""
        return spec_of(value.type).dtype

    def reshape(self, value: SSAValue, *shape: int) -> SSAValue:
        """Return the value in another shape; itself if it has that shape."""
        return value if self.spec(value).shape == shape else self.nn("reshape", value, shape=shape)

    def cast(self, value: SSAValue, dtype: np.dtype) -> SSAValue:
        """Return the value in another dtype; itself if it has that dtype."""
        return value if self.dtype(value) == dtype else self.nn("cast", value, dtype=dtype)

    def scalar(self, value: float, like: SSAValue) -> SSAValue:
        """Return a constant of rank 0 in the dtype of another value."""
        return self.constant(np.array(value).astype(self.dtype(like)))


def zeros(b: OpMaker, like: SSAValue, shape: tuple[int, ...] | None = None) -> SSAValue:
    """Zeros of a value's dtype, and of its shape unless another is given."""
    return filled(b, 0.0, like, shape)


def filled(b: OpMaker, value: float, like: SSAValue, shape: tuple[int, ...] | None = None) -> SSAValue:
    """A tensor of one number, of a value's dtype and of its shape unless another is given."""
    sizes = b.shape(like) if shape is None else shape
    return b.nn("expand", b.scalar(value, like), shape=sizes) if sizes else b.scalar(value, like)


def without_negative(b: OpMaker, indices: SSAValue, size: int) -> SSAValue:
    """Return indices of a dimension of so many elements where a negative one is the size, so that it is an error, not an element from the
    end.
    """
    zero, beyond = (b.constant(np.array(number), b.dtype(indices)) for number in (0, size))
    return b.nn("where", b.nn("less", indices, zero), beyond, indices)


def part(b: OpMaker, x: SSAValue, axis: int, start: int, size: int) -> SSAValue:
    """Return a range of one dimension; x itself if it is all of it."""
    shape = b.shape(x)
    if size == shape[axis]:
        return x
    starts = tuple(start if i == axis else 0 for i in range(len(shape)))
    return b.nn("slice", x, starts=starts, sizes=(*shape[:axis], size, *shape[axis + 1 :]), steps=(1,) * len(shape))
