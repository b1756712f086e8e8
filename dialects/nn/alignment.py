"""How operands stand to a result: what they may broadcast to, what is done to it at the end."""

from __future__ import annotations

from collections.abc import Sequence

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.core.kernels.epilogue import activation_attrs
from ttc.dialects.core.shapes import broadcast_shapes
from ttc.dialects.nn.base import require_float


def require_broadcastable(operand: Spec | None, shape: tuple[int, ...], role: str) -> None:
    """Raises E0401 unless the operand is absent or broadcasts to the shape without enlarging it."""
    if operand is not None and broadcast_shapes(operand.shape, shape) != shape:
        raise Error("E0401", f"{role} {operand} does not broadcast to {list(shape)}")


def require_activation(result: Spec, activation: str | None, args: Sequence[float]) -> None:
    """Raises E0402 unless the activation is absent or a unary float op with that many arguments; E0403 for a result of integers."""
    if activation is not None:
        require_float(result)
        activation_attrs(activation, tuple(args))
    elif args:
        raise Error("E0402", "activation_args without an activation")
