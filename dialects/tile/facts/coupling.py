"""Facts of probabilities of classes from those of pairs of them."""

from __future__ import annotations

from ttc.dialects.nn.shapes import coupling
from ttc.dialects.tile.facts.base import INT, Role, rows_fact

rows_fact(Role.TRANSFORM, {"classes": INT})(coupling.couple_probabilities)
