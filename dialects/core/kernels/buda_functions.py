"""Functions of Buda netlists by the names that `tile.map` has for them."""

from __future__ import annotations

FUNCTIONS: dict[str, str] = {
    "abs": "abs",
    "add": "add",
    "cos": "cosine",
    "exp": "exp",
    "gelu": "gelu",
    "gelu_tanh": "gelu",
    "identity": "nop",
    "leaky_relu": "lrelu",
    "log": "log",
    "maximum": "maximum",
    "mul": "multiply",
    "reciprocal": "reciprocal",
    "sigmoid": "sigmoid",
    "sin": "sine",
    "sqrt": "sqrt",
    "sub": "subtract",
    "tanh": "tanh",
    # attributes of the op before, or of a nop
    "clip": "relu",
    "relu": "relu",
}
"""Functions of `tile.map`: the Buda op that each is.  gelu is the form with tanh, clip starts at 0."""
