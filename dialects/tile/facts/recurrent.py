"""Facts of recurrent layers over whole sequences, and of their gradient."""

from __future__ import annotations

from ttc.dialects.nn.shapes import recurrent
from ttc.dialects.tile.facts.base import BOOL, FLOAT, FLOATS, INT, INTS, STR, STRS, Role, rows_fact

_ATTRS = {"direction": STR, "activations": STRS, "alphas": FLOATS, "betas": FLOATS, "clip": FLOAT}

rows_fact(Role.RECURRENT, _ATTRS)(recurrent.rnn)
rows_fact(Role.RECURRENT, {**_ATTRS, "linear_before_reset": BOOL})(recurrent.gru)
rows_fact(Role.RECURRENT, {**_ATTRS, "input_forget": BOOL})(recurrent.lstm)
rows_fact(Role.RECURRENT, {**_ATTRS, "input_forget": BOOL})(recurrent.lstm_training)
rows_fact(Role.RECURRENT, {"sources": INTS, "targets": INTS, "sums": INT, "inner": INT, "reverse": BOOL})(recurrent.recurrent_gradient)
