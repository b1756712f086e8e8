"""What matmuls and convolutions do to their result before it leaves: add a bias, apply a unary op named by an attribute."""

from __future__ import annotations

import inspect
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.interpret import kernel


@lru_cache
def activation_attrs(activation: str, args: tuple[float, ...] = ()) -> dict[str, float]:
    """Attributes by name of the unary float op that an activation names, from its arguments in the order of the kernel's.

    Raises E0402 if there is no such op, it does not map floats to floats one by one, or the number of arguments does not fit.
    """
    try:
        function = kernel(f"nn.{activation}")
    except Error as error:
        raise Error("E0402", f"there is no activation '{activation}'", hint=error.hint) from None
    operands, floats, others = _parameters(inspect.signature(function))
    needed = [p for p in floats if p.default is p.empty]
    if operands != 1 or any(p.default is p.empty for p in others):
        raise Error("E0402", f"'{activation}' is not an activation")
    if not len(needed) <= len(args) <= len(floats):
        names = ", ".join(p.name for p in floats)
        raise Error("E0402", f"activation '{activation}' takes {len(floats)} arguments ({names}), not {len(args)}")
    attrs = {p.name: value for p, value in zip(floats, args, strict=False)}
    probe = np.zeros((2, 3), np.float32)
    with np.errstate(all="ignore"):
        found = function(probe, **attrs)
    if not isinstance(found, np.ndarray) or (found.shape, found.dtype) != (probe.shape, probe.dtype):
        raise Error("E0402", f"'{activation}' is not an activation")
    return attrs


def _parameters(signature: inspect.Signature) -> tuple[int, list[inspect.Parameter], list[inspect.Parameter]]:
    """Number of operands, float attributes and other attributes of a kernel."""
    parameters = list(signature.parameters.values())
    attrs = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    floats = [p for p in attrs if str(p.annotation).startswith("float")]
    return len(parameters) - len(attrs), floats, [p for p in attrs if p not in floats]


def finish(y: NDArray, bias: NDArray | None, activation: str | None, args: tuple[float, ...]) -> NDArray:
    """activation(y + bias); y is overwritten."""
    if bias is not None:
        y += bias
    if activation is None:
        return y
    found = kernel(f"nn.{activation}")(y, **activation_attrs(activation, tuple(args)))
    return found if isinstance(found, np.ndarray) else np.asarray(found)
