"""Facts of the ops that compute attention and its gradient."""

from __future__ import annotations

from ttc.dialects.nn.shapes import attention as shapes
from ttc.dialects.tile.facts.base import BOOL, FLOAT, Role, fact, rows_fact

fact(Role.CONTRACTION, {"scale": FLOAT, "zero_masked": BOOL}, as_nn=True)(shapes.attention)
rows_fact(Role.CONTRACTION, {"scale": FLOAT, "zero_masked": BOOL})(shapes.attention_training)
rows_fact(Role.CONTRACTION, {"scale": FLOAT})(shapes.attention_gradient)
