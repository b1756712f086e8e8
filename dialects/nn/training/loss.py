"""Losses as nn functions: each gives a sum over rows and a count, and is their quotient.

Microbatches add their sums and their counts, and divide once: so a loss over several is that of all their rows together, where targets
are ignored in some rows alone, too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.nn.training.settings import NamedSettings

if TYPE_CHECKING:  # losses have names and settings where nothing is compiled, too
    from xdsl.ir import SSAValue

    from ttc.dialects.core.ir.spec import Spec
    from ttc.dialects.nn.making import OpMaker

Ints = tuple[int, ...]
FLOAT32 = np.dtype(np.float32)
REDUCTIONS = ("mean", "sum")


class Loss(NamedSettings, ABC):
    """A loss of one output of a model.

    Settings of all but `Output` include `reduction`: `mean`, the sum divided by the count, or `sum`, the sum alone.
    """

    WHAT: ClassVar[str] = "loss"
    reduction: str

    @abstractmethod
    def target(self, output: Spec) -> Spec | None:
        """Shape and dtype of the targets for an output; None where the loss takes none.  Raises E0401, E0403, E0412."""

    @abstractmethod
    def terms(self, b: OpMaker, output: SSAValue, target: SSAValue | None) -> tuple[SSAValue, SSAValue]:
        """The sum and the count, of rank 0, in float32, or float64 for an output of that type."""

    def classes(self, output: Spec) -> dict[str, int]:
        """Return where targets are numbers of classes: how many there are, and which target counts for nothing."""
        return {}

    def check(self, output: Spec) -> None:
        """Refuse an output that no loss can be taken of, and settings that fit no output.  Raises E0403, E0101."""
        if output.dtype.kind not in "fV":
            raise Error("E0403", f"loss {self.NAME} takes an output of floating point, not {output}")
        self._require("reduction", self.reduction, self.reductions)

    @property
    def reductions(self) -> tuple[str, ...]:
        """Values that the setting `reduction` can have."""
        return REDUCTIONS

    def _require(self, key: str, value: str, known: tuple[str, ...]) -> None:
        if value not in known:
            raise Error("E0101", f"loss {self.NAME}: {key} cannot be '{value[:80]}'", hint=f"it is one of {', '.join(known)}")

    def _require_at_least(self, key: str, value: float, least: float) -> None:
        if value < least:
            raise Error("E0101", f"loss {self.NAME}: {key} cannot be {value:g}", hint=f"it is at least {least:g}")


def wide(b: OpMaker, x: SSAValue) -> SSAValue:
    """Return a value in float32; one of float64 as it is."""
    return x if b.dtype(x) == np.float64 else b.cast(x, FLOAT32)


def summed(b: OpMaker, x: SSAValue) -> SSAValue:
    """Return the sum of all elements, of rank 0."""
    return b.nn("reduce_sum", x, axes=tuple(range(b.rank(x))), keepdims=False) if b.rank(x) else x


def vector(b: OpMaker, numbers: tuple[float, ...], like: SSAValue, shape: Ints) -> SSAValue:
    """Return numbers as a constant of a value's dtype."""
    return b.constant(np.array(numbers).astype(b.dtype(like)).reshape(shape))


def wide_dtype(output: Spec) -> np.dtype:
    """Return the dtype that a loss of an output is computed in: float32, or float64 for one of that type."""
    return output.dtype if output.dtype == np.float64 else FLOAT32
