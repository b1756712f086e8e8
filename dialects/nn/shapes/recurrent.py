"""Shapes of the results of recurrent layers."""

from __future__ import annotations

from functools import wraps
from typing import Any

from ttc.dialects.core.errors import Error
from ttc.dialects.core.shapes import Shape, require_rank

DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}
ACTIVATIONS = (
    "relu",
    "tanh",
    "sigmoid",
    "affine",
    "leakyrelu",
    "thresholdedrelu",
    "scaledtanh",
    "hardsigmoid",
    "elu",
    "softsign",
    "softplus",
)
Floats = tuple[float, ...]
Ints = tuple[int, ...]
Texts = tuple[str, ...]


def rnn(
    x: Shape,
    w: Shape,
    r: Shape,
    bias: Shape | None = None,
    lengths: Shape | None = None,
    h: Shape | None = None,
    *,
    direction: str,
    activations: Texts,
    alphas: Floats,
    betas: Floats,
    clip: float,
) -> list[Shape]:
    """Return [t, d, n, k], then the last states [d, n, k].  Raises E0401, E0402."""
    _require_activations(direction, 1, activations, alphas, betas, clip)
    return _layer(x, w, r, bias, lengths, h, direction, 1)


def gru(
    x: Shape,
    w: Shape,
    r: Shape,
    bias: Shape | None = None,
    lengths: Shape | None = None,
    h: Shape | None = None,
    *,
    direction: str,
    activations: Texts,
    alphas: Floats,
    betas: Floats,
    clip: float,
    linear_before_reset: bool,
) -> list[Shape]:
    """Return [t, d, n, k], then the last states [d, n, k].  Raises E0401, E0402."""
    _require_activations(direction, 2, activations, alphas, betas, clip)
    return _layer(x, w, r, bias, lengths, h, direction, 3)


def lstm(
    x: Shape,
    w: Shape,
    r: Shape,
    bias: Shape | None = None,
    lengths: Shape | None = None,
    h: Shape | None = None,
    c: Shape | None = None,
    peepholes: Shape | None = None,
    *,
    direction: str,
    activations: Texts,
    alphas: Floats,
    betas: Floats,
    clip: float,
    input_forget: bool,
) -> list[Shape]:
    """Return [t, d, n, k], then the last states [d, n, k] twice.  Raises E0401, E0402."""
    _require_activations(direction, 3, activations, alphas, betas, clip)
    y, state = _layer(x, w, r, bias, lengths, h, direction, 4)
    _require(c, state, "c")
    _require(peepholes, (state[0], 3 * state[2]), "peepholes")
    return [y, state, state]


@wraps(lstm, assigned=())
def lstm_training(*operands: Any, **attrs: Any) -> list[Shape]:
    """Return the shapes of `lstm`, then [t, d, n, 4 k] and [t, d, n, k].  Raises E0401, E0402."""
    y, *states = lstm(*operands, **attrs)
    return [y, *states, (*y[:3], 4 * y[3]), y]


def recurrent_gradient(
    factors: Shape, r: Shape, dy: Shape, ends: Shape, *, sources: Ints, targets: Ints, sums: int, inner: int, reverse: bool
) -> list[Shape]:
    """Return [t, n, sums k], then the shape of the ends [s, n, k].  Raises E0401, E0402."""
    for operand in (factors, dy, ends):
        require_rank(operand, 3)
    require_rank(r, 2)
    (steps, samples, size), states = dy, ends[0]
    _require(factors, (steps, samples, len(sources) * size), "factors")
    _require(ends, (states, samples, size), "ends")
    multiplied = r[0] // size if size else sums
    _require(r, (multiplied * size, size), "r")
    if states < 1 or multiplied > sums or not 0 <= inner <= multiplied or len(sources) != len(targets):
        found = f"{states} states, {sums} sums of which {multiplied} have products, {inner} of them inner"
        raise Error("E0402", f"{found}, terms {sources} to {targets} do not fit")
    _require_terms(sources, targets, states, sums, range(multiplied - inner, multiplied))
    return [(steps, samples, sums * size), ends]


def outer_terms(sources: Ints, states: int, sums: int) -> int:
    """Return how many terms of `recurrent_gradient` come before the first one that reads the inner product."""
    product = 2 * states + sums
    return sources.index(product) if product in sources else len(sources)


def _require_terms(sources: Ints, targets: Ints, states: int, sums: int, inner: range) -> None:
    """Raises E0402 unless slots exist, and what an inner product gives is for older states and sums that have nothing else."""
    within = outer_terms(sources, states, sums)
    pairs = list(zip(sources, targets, strict=True))
    if not all(0 <= s < states and 0 <= t < 2 * states + sums and s != t for s, t in pairs[:within]):
        raise Error("E0402", f"terms {list(sources)} to {list(targets)} do not fit {states} states and {sums} sums")
    taken = {*targets[:within], *(2 * states + j for j in inner)}
    free = {*range(states, 2 * states), *(set(range(2 * states, 2 * states + sums)) - taken)}
    if (within < len(pairs)) != (len(inner) > 0) or not all(s == 2 * states + sums and t in free for s, t in pairs[within:]):
        raise Error("E0402", f"terms {list(sources[within:])} to {list(targets[within:])} do not fit {len(inner)} inner sums")


def _require_activations(direction: str, functions: int, activations: Texts, alphas: Floats, betas: Floats, clip: float) -> None:
    """Raises E0402 unless each direction has so many known activations, with their parameters."""
    total = DIRECTIONS.get(direction, 0) * functions
    if not total or not len(activations) == len(alphas) == len(betas) == total or not set(activations) <= set(ACTIVATIONS):
        raise Error("E0402", f"direction '{direction}' and activations {list(activations)} do not fit {functions} a direction")
    if not clip > 0:
        raise Error("E0402", f"clip is above 0, not {clip}")


def _layer(
    x: Shape, w: Shape, r: Shape, bias: Shape | None, lengths: Shape | None, h: Shape | None, direction: str, gates: int
) -> list[Shape]:
    """Return shapes of outputs and last state of a layer whose weights stack so many matrices."""
    for operand in (x, w, r):
        require_rank(operand, 3)
    (steps, samples, features), hidden, count = x, r[2], DIRECTIONS[direction]
    state = (count, samples, hidden)
    _require(w, (count, gates * hidden, features), "w")
    _require(r, (count, gates * hidden, hidden), "r")
    _require(bias, (count, 2 * gates * hidden), "bias")
    _require(lengths, (samples,), "lengths")
    _require(h, state, "h")
    return [(steps, *state), state]


def _require(operand: Shape | None, shape: Shape, role: str) -> None:
    """Raises E0401 unless the operand is absent or of that shape."""
    if operand is not None and operand != shape:
        raise Error("E0401", f"{role} {list(operand)} is not of shape {list(shape)}")
