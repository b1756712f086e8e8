"""The formats of weights, and the passes of the device's multiplier, that single ops get."""

from __future__ import annotations

from collections.abc import Sequence

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.numerics import FIDELITIES
from ttc.dialects.core.plain.functions import Work
from ttc.dialects.core.records import record
from ttc.dialects.core.rules.precision import PrecisionRule, settle
from ttc.exporters.ttnn.weights import BFLOAT8, BFLOAT16, FLOAT32

FORMATS = {None: (BFLOAT16, BFLOAT16), "Float16_b": (BFLOAT16, BFLOAT16), "Bfp8_b": (BFLOAT8, BFLOAT16), "Float32": (FLOAT32, FLOAT32)}
"""The formats of weights of products and convolutions, and of all other tensors, by the format of a compilation."""
CONFIG = "precise"
"""The local variable that configures the multiplier for ops without a fidelity of their own; others have the fidelity behind it."""


@record
class Precision:
    """What rules of precision give the ops of an exported module.

    Args:
        weights: format of weights of products and convolutions: bfloat16, bfloat8_b or float32.
        other: format of all other tensors of the device.
        fidelity: of the multiplier.
        rules: what single ops get instead; of these `weights`, as far as TT-NN has the format, and `fidelity` count.
    """

    weights: str
    other: str
    fidelity: str
    rules: tuple[PrecisionRule, ...] = ()

    @staticmethod
    def of(format_: str | None, fidelity: str | None, rules: Sequence[PrecisionRule] = ()) -> Precision:
        """Return the precision of a module.

        Args:
            format_: of tensors, as `ttc compile --format` names it; None: 16 bits.
            fidelity: None: all passes for 16 bits and more, two for blocks of 8 bits.
        Raises: E0101 for a format that TT-NN lacks.
        """
        if format_ not in FORMATS:
            known = [name for name in FORMATS if name is not None]
            raise Error("E0101", f"TT-NN has no tensors of format {format_}", hint=nearest(str(format_), known))
        weights, other = FORMATS[format_]
        return Precision(weights, other, fidelity or ("HiFi2" if weights == BFLOAT8 else "HiFi4"), tuple(rules))

    def weights_of(self, work: Work) -> str:
        """Return the format of an op's weights."""
        format_ = self._setting(work, "weights")
        return FORMATS[format_][0] if format_ in FORMATS and format_ is not None else self.weights

    def config_of(self, work: Work) -> str:
        """Return the local variable that configures the multiplier for an op."""
        fidelity = self._setting(work, "fidelity") or self.fidelity
        return CONFIG if fidelity == self.fidelity else f"{CONFIG}_{fidelity.lower()}"

    def fidelity_of(self, config: str) -> str:
        """Return the fidelity that a variable of `config_of` stands for."""
        return next((name for name in FIDELITIES if config == f"{CONFIG}_{name.lower()}"), self.fidelity)

    def _setting(self, work: Work, key: str) -> str | None:
        found = settle(self.rules, (work.op.removeprefix("nn."),), work.location) if self.rules else {}
        return found[key][0] if key in found else None


def require_formats(rules: Sequence[PrecisionRule]) -> None:
    """Raise E0101 for a rule that asks for weights in a format that exports do not have."""
    for rule in rules:
        if rule.weights is not None and rule.weights not in FORMATS:
            known = ", ".join(name for name in FORMATS if name is not None)
            raise Error(
                "E0101", f"exports to TT-NN hold no weights in {rule.weights}", where=f"rule '{rule.text}'", hint=f"they take {known}"
            )
