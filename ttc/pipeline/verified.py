"""A stage that is checked against a reference: PyTorch, or the reference engine in the formats of the source, on the same inputs.

The reference takes the parameters of the stage at the start and after every update, so that differences do not add up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import NDArray

from ttc.accuracy.distances import Comparison, Exactness, compare
from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.pipeline.stage import Arrays, Cotangents, Stage

REFERENCES = ("torch", "golden")
"""What a stage can be compared with: its own module in PyTorch, or its program on the reference engine."""


@record
class Bounds:
    """How far a stage may be from its reference; all three hold together.

    Args:
        max_abs: of the largest difference, as a multiple of max(1, the largest number).
        relative_l2: of the relative L2 error.
        pcc: the correlation at least, where there is one.
    """

    max_abs: float
    relative_l2: float
    pcc: float

    def hold(self, found: Comparison) -> bool:
        """Return whether a comparison keeps the bounds."""
        near = found.max_abs <= self.max_abs * found.scale
        # the relative error of what is all but zero says nothing: rounding alone makes it large
        close = found.relative_l2 <= self.relative_l2 or found.max_abs <= self.max_abs * 1e-2
        return near and close and not found.pcc < self.pcc


BOUNDS = {
    Exactness.FLOAT32: Bounds(1e-4, 1e-4, 0.9999),
    Exactness.HIGH: Bounds(1e-3, 1e-3, 0.9999),
    Exactness.BITS16: Bounds(5e-2, 2e-2, 0.999),
    Exactness.BITS8: Bounds(0.3, 0.15, 0.99),
}
"""Bounds that hold unless others are given, by how exact the formats of a device are."""


@record
class Verify:
    """How stages of a pipeline are verified.

    Args:
        against: torch or golden.
        bounds: None: those of the device's formats.
        raises: whether a stage out of its bounds is an error (E0812); else it is recorded alone.
    """

    against: str = "torch"
    bounds: Bounds | None = None
    raises: bool = True

    @staticmethod
    def of(value: Any) -> Verify | None:
        """Return the settings that a user means: True, a reference by name, or all of it; None for False and None. Raises E0101."""
        found = value if isinstance(value, Verify) else Verify(value) if isinstance(value, str) else Verify() if value is True else None
        if found is None and value not in (None, False):
            raise Error("E0101", f"verify is a {type(value).__name__}", hint=f"give {' or '.join(map(repr, REFERENCES))}, or a Verify")
        if found is not None and found.against not in REFERENCES:
            raise Error("E0101", f"stages cannot be verified against '{found.against[:80]}'", hint=f"known: {', '.join(REFERENCES)}")
        return found


@record
class Verdict:
    """One comparison of a stage with its reference.

    Args:
        stage: its name.
        what: is compared: `output 0 of microbatch 3`, `gradient of weight`, ...
        found: figures.
        bounds: that should hold.
    """

    stage: str
    what: str
    found: Comparison
    bounds: Bounds

    @property
    def within(self) -> bool:
        """Whether the figures keep all three bounds."""
        return self.bounds.hold(self.found)

    def __str__(self) -> str:
        figures = f"max abs {self.found.max_abs:.3g}, relative L2 {self.found.relative_l2:.3g}, PCC {self.found.pcc_text(6)}"
        allowed = f"{self.bounds.max_abs * self.found.scale:.3g}, {self.bounds.relative_l2:.3g} and {self.bounds.pcc:g}"
        return f"{self.what}: {figures}; allowed are {allowed}"


class VerifiedStage:
    """A stage that does everything twice, and compares.

    Args:
        stage: whose results count.
        reference: that computes the same otherwise.
        verdicts: is called with every comparison.
    """

    def __init__(self, stage: Stage, reference: Stage, bounds: Bounds, verdicts: Callable[[Verdict], None], *, raises: bool) -> None:
        self.name = stage.name
        self._stage = stage
        self._reference = reference
        self._bounds = bounds
        self._verdicts = verdicts
        self._raises = raises
        self._follow()

    @property
    def is_trained(self) -> bool:
        """Whether the stage has parameters that have gradients."""
        return self._stage.is_trained

    def forward(self, number: int, inputs: Arrays, *, training: bool) -> Arrays:
        """Compute outputs, and compare them.  Raises E0812."""
        outputs = self._stage.forward(number, inputs, training=training)
        wanted = self._reference.forward(number, tuple(x.copy() for x in inputs), training=training)
        for index, (found, other) in enumerate(zip(outputs, wanted, strict=True)):
            self._compare(f"output {index} of microbatch {number}", found, other)
        return outputs

    def backward(self, number: int, cotangents: Cotangents) -> Cotangents:
        """Compute gradients of inputs, and compare them.  Raises E0812."""
        gradients = self._stage.backward(number, cotangents)
        wanted = self._reference.backward(number, cotangents)
        for index, (found, other) in enumerate(zip(gradients, wanted, strict=True)):
            if found is not None and other is not None:
                self._compare(f"gradient of input {index} of microbatch {number}", found, other)
        return gradients

    def gradients(self, divisor: float) -> dict[str, NDArray[Any]]:
        """Return the accumulated gradients of the stage."""
        return self._stage.gradients(divisor)

    def update(self, divisor: float) -> None:
        """Compare gradients, update parameters, and compare these.  Raises E0812."""
        self._compare_all("gradient of", self._stage.gradients(divisor), self._reference.gradients(divisor))
        self._stage.update(divisor)
        self._reference.update(divisor)
        self._compare_all("updated", self._stage.parameters(), self._reference.parameters())
        self._follow()

    def clear_gradients(self) -> None:
        """Let the stage and its reference set their gradients to zero."""
        self._stage.clear_gradients()
        self._reference.clear_gradients()

    def forget(self) -> None:
        """Let the stage and its reference forget what they hold."""
        self._stage.forget()
        self._reference.forget()

    def step_schedule(self, total: int) -> None:
        """Let both go on to the next learning rate."""
        self._stage.step_schedule(total)
        self._reference.step_schedule(total)

    def parameters(self) -> dict[str, NDArray[Any]]:
        """Return the parameters of the stage."""
        return self._stage.parameters()

    def buffers(self) -> dict[str, NDArray[Any]]:
        """Return the buffers of the stage."""
        return self._stage.buffers()

    def set_parameters(self, values: Mapping[str, NDArray[Any]]) -> None:
        """Give the stage and its reference new parameters."""
        self._stage.set_parameters(values)
        self._follow()

    def taps(self) -> dict[str, NDArray[Any]]:
        """Return what is tapped of the stage."""
        return self._stage.taps()

    def check(self) -> None:
        """Raise E0811 if the stage's process has ended."""
        self._stage.check()

    def close(self) -> None:
        """Close the stage and its reference."""
        self._stage.close()
        self._reference.close()

    def _follow(self) -> None:
        """Give the reference the parameters of the stage."""
        known = self._reference.parameters()
        self._reference.set_parameters({name: value for name, value in self._stage.parameters().items() if name in known})

    def _compare_all(self, what: str, found: Mapping[str, NDArray[Any]], wanted: Mapping[str, NDArray[Any]]) -> None:
        for name in found:
            if name in wanted:
                self._compare(f"{what} {name}", found[name], wanted[name])

    def _compare(self, what: str, found: NDArray[Any], wanted: NDArray[Any]) -> None:
        verdict = Verdict(self.name, what, compare(found, wanted.reshape(found.shape)), self._bounds)
        self._verdicts(verdict)
        if self._raises and not verdict.within:
            hint = "verify=Verify(bounds=Bounds(...)) sets other bounds"
            raise Error("E0812", str(verdict), where=f"stage '{self.name}'", hint=hint)
