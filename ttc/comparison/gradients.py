"""Whether the gradients of a training program are those of its own forward part: inner products with directions against differences.

The program is computed in Float64, near the parameters that it has: at a random point beside them, where no two numbers are equal that
decide what an op does.  For a direction d of all variables, the gradients g must have <g, d> = (L(w + h d) - L(w - h d)) / 2h.  How far
the right sides for a step h and a tenth of it are apart says how far they can be trusted; where none can, as in a function that jumps,
nothing is known.  Random ops draw the same in every run, as each starts from the states of the program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ttc.comparison.suspects import suspects
from ttc.comparison.widened import WIDE, widened
from ttc.dialects.core.formats import format_of
from ttc.dialects.core.records import record
from ttc.dialects.netlist.model import Argument
from ttc.dialects.nn.gradients.maker import PREFIX
from ttc.passes.nn.training_notes import BACKWARD, SCALE, STEP, SUM
from ttc.runtime.arguments import inputs_of
from ttc.runtime.executor import Executor
from ttc.runtime.program import Program

Arrays = Mapping[str, NDArray]
STEPS = (1e-4, 1e-5, 1e-6, 1e-7)
"""The sizes of differences that are tried, in units of each variable's root mean square."""
BESIDE = 1e-3
"""How far from the parameters the gradients are compared, in units of each variable's root mean square."""
STEADY, BOUND, SAFETY = 1e-3, 3e-5, 10.0
"""How far apart two trusted differences may be, how far a product may be from them, both relative to the product's terms, and the factor on
the former.
"""
COARSE = {"bfloat16": 1e-2, "float16": 1e-3}
"""The error that numbers in the rules leave, which are rounded to the type of a model of 16 bits."""
NEGLIGIBLE = 1e-7
"""The share of the loss, or of what all gradients say, below which what those of one variable say is rounding."""
TRIES = 3


@record
class Slope:
    """The slopes in a direction that gradients of some variables, and differences of the loss, give.

    Args:
        names: of the variables.
        found: the inner product of their gradients with the direction.
        wanted: what differences of the loss say; None where they do not agree with each other.
        size: of the terms of the inner product.
        doubt: how far two differences are apart.
    """

    names: tuple[str, ...]
    found: float
    wanted: float | None
    size: float
    doubt: float = 0.0

    @property
    def error(self) -> float:
        """How far the product of gradients is off, relative to the size of its terms; NaN where nothing is known."""
        return float("nan") if self.wanted is None else abs(self.found - self.wanted) / self._scale

    @property
    def bound(self) -> float:
        """The error that differences leave open, up to which gradients count as right."""
        return max(BOUND, SAFETY * self.doubt / self._scale)

    @property
    def _scale(self) -> float:
        return max(self.size, abs(self.wanted or 0.0), 1e-300)

    @property
    def is_wrong(self) -> bool:
        """Whether the gradients are not those of the loss."""
        return self.error > self.bound


@record(frozen=False)
class GradientAgreement:
    """How the gradients of a program compare with differences of its loss.

    Attributes:
        whole: all variables at once; None where nothing was compared.
        each: where that is wrong, each variable by itself.
        suspects: where that is wrong, source names of ops that it can come from.
        rule: what a check of each rule by itself says is wrong; empty where nothing is, or there was none.
        reason: why nothing was compared; empty where it was.
    """

    whole: Slope | None = None
    each: list[Slope] = field(default_factory=list)
    suspects: tuple[str, ...] = ()
    rule: str = ""
    reason: str = ""

    @property
    def within(self) -> bool:
        """Whether no gradient is known to be wrong."""
        return not self.rule and not any(slope.is_wrong for slope in (*([] if self.whole is None else [self.whole]), *self.each))

    @property
    def wrong(self) -> tuple[str, ...]:
        """Names of the parameters and inputs whose gradients are wrong."""
        return tuple(name for slope in self.each if slope.is_wrong for name in slope.names)


def has_gradients(program: Program, name: str) -> bool:
    """Return whether an entry program of an archive takes gradients whose forward part can be computed by itself."""
    return program.description.training is not None and name in (BACKWARD, STEP) and BACKWARD in program.netlists.surface.programs


def compare_gradients(program: Program, inputs: Arrays, seed: int = 0) -> GradientAgreement:
    """Compare the gradients that `backward` adds up with differences of its loss.

    Args:
        program: of training.
        inputs: by name, of `backward`, or of `step`, of which the first microbatch counts.
        seed: of the point and of directions.
    """
    training = program.description.training
    if training is not None and training.stops:
        return GradientAgreement(reason=f"gradients stop at {training.stops[0]} on purpose, which differences of the loss do not see")
    given = {result.name for result in program.entry(BACKWARD).results}
    if SUM not in given and training is not None and given.isdisjoint(training.outputs):
        return GradientAgreement(reason="forward keeps what backward reads, which does not compute it by itself")
    loss = _Loss(program, inputs, np.random.default_rng(seed))
    if not loss.variables:
        return GradientAgreement(reason="no variable has a gradient of floating point")
    whole = loss.slope(tuple(loss.variables))
    found = GradientAgreement(whole)
    if whole.is_wrong:
        least = NEGLIGIBLE * whole.size
        found.each += [loss.slope((name,), least) for name in loss.variables]
        right = [name for slope in found.each if slope.error <= slope.bound and abs(slope.found) > least for name in slope.names]
        found.suspects = suspects(program, BACKWARD, found.wrong, right) if found.wrong else ()
    return found


class _Loss:
    """The loss of `backward` as a function of variables: parameters, and inputs whose gradients it gives."""

    def __init__(self, program: Program, inputs: Arrays, draws: np.random.Generator) -> None:
        self._program, self._draws = widened(program), draws
        self._coarse = max((COARSE.get(variable.dtype, 0.0) for variable in program.description.parameters.values()), default=0.0)
        self._inputs = {a.name: _given(inputs[a.name], a) for a in inputs_of(self._program.entry(BACKWARD))}
        with Executor(self._program) as executor:
            self._parameters = executor.parameters()
        given = {r.name for r in self._program.entry(BACKWARD).results}
        states, known = self._program.description.states, self._parameters
        trained = {name: known[name] for name in known if f"{PREFIX}{name}" in states}
        asked = {name: x for name, x in self._inputs.items() if f"{PREFIX}{name}" in given}
        self._values = {name: x for name, x in (trained | asked).items() if x.dtype == WIDE and x.size}
        self._scales = {name: float(np.sqrt(np.mean(np.square(x)))) or 1.0 for name, x in self._values.items()}
        beside = {name: BESIDE * self._direction(name) for name in self._values}
        self._values = {name: x + beside[name] for name, x in self._values.items()}

    @property
    def variables(self) -> Sequence[str]:
        """Names of the variables."""
        return tuple(self._values)

    @cached_property
    def _here(self) -> tuple[float, dict[str, NDArray]]:
        """The loss, and the gradients by variable, as the program has them."""
        return self._run(self._values)

    def slope(self, names: tuple[str, ...], least: float = 0.0) -> Slope:
        """Return what gradients and differences say of a random direction of some variables; of the first that can be told.

        least: size that terms count as at least.
        """
        slope = None
        for _ in range(TRIES):
            slope = self._slope({name: self._direction(name) for name in names}, least)
            if slope.wanted is not None:
                break
        assert slope is not None
        return slope

    def _direction(self, name: str) -> NDArray:
        return self._scales[name] * self._draws.standard_normal(self._values[name].shape)

    def _slope(self, direction: Arrays, least: float) -> Slope:
        terms = np.concatenate([(self._here[1][name] * d).ravel() for name, d in direction.items()])
        found, size = float(terms.sum()), float(np.sqrt(np.square(terms).sum()) + abs(terms.sum()))
        size = max(size, least, NEGLIGIBLE * abs(self._here[0]))
        slope = Slope(tuple(direction), found, None, size)
        before = None
        for step in STEPS if np.isfinite(size) else ():
            ahead, behind = (self._run({n: x + s * step * direction.get(n, 0.0) for n, x in self._values.items()})[0] for s in (1, -1))
            now = (ahead - behind) / (2 * step)
            doubt = np.inf if before is None or not np.isfinite(now) else abs(now - before)
            if doubt <= STEADY * max(size, abs(now)) and (slope.wanted is None or doubt < slope.doubt):
                slope = replace(slope, wanted=now, doubt=doubt)
            if slope.wanted is not None and SAFETY * slope.doubt <= BOUND * size:
                break
            before = now
        return slope if slope.wanted is None else replace(slope, doubt=max(slope.doubt, self._coarse * size / SAFETY))

    def _run(self, values: Arrays) -> tuple[float, dict[str, NDArray]]:
        """Return the loss and the gradients for values of the variables."""
        moved = {name: x for name, x in values.items() if name in self._parameters}
        inputs = {name: values.get(name, x) if name not in self._parameters else x for name, x in self._inputs.items()}
        with Executor(self._program.with_parameters(moved)) as executor:
            found = executor.run(inputs, BACKWARD)
            states = executor.states()
        scale = float(states.get(SCALE, 1.0))
        gradients = {name: states.get(f"{PREFIX}{name}", found.get(f"{PREFIX}{name}")) for name in values}
        return _loss(found, inputs), {name: np.asarray(g) / scale for name, g in gradients.items()}


def _loss(found: Arrays, inputs: Arrays) -> float:
    """Return the loss that gradients are those of: its sum, or the product of outputs with the cotangents that come in."""
    if SUM in found:
        return float(found[SUM])
    return float(sum((y * inputs[f"{PREFIX}{name}"]).sum() for name, y in found.items() if f"{PREFIX}{name}" in inputs))


def _given(value: NDArray, argument: Argument) -> NDArray:
    """Return an input in the type and with the rows of an argument: those of the first microbatch."""
    rows = value[: argument.shape[0]] if argument.shape and value.ndim == len(argument.shape) else value
    return format_of(rows.dtype).unpack(rows).astype(argument.dtype) if argument.dtype == str(WIDE) else rows
