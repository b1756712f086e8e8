"""The side effects of ops, as xDSL asks for them."""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.traits import EffectInstance, MemoryEffect


class DeclaredEffects(MemoryEffect):
    """Tells xDSL that an op is free of side effects unless its class, or that of an op inside it, declares an `EFFECT`."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance] | None:
        return None if any(getattr(inner, "EFFECT", True) for inner in op.walk()) else set()
