"""Shapes of recurrent layers."""

from __future__ import annotations

from ttc.runtime.engines.native.prepare.shape_rules import Floats, Shape, require

_DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}


def rnn(
    x: Shape,
    w: Shape,
    r: Shape,
    bias: Shape | None = None,
    lengths: Shape | None = None,
    h: Shape | None = None,
    *,
    direction: str,
    activations: tuple[str, ...],
    alphas: Floats,
    betas: Floats,
    clip: float,
) -> list[Shape]:
    """[t, d, n, k], then the last states [d, n, k]."""
    require(clip > 0 and len(activations) == len(alphas) == len(betas) == _DIRECTIONS.get(direction), "activations")
    return _layer(x, w, r, (bias, lengths, h), direction, 1)


def gru(
    x: Shape,
    w: Shape,
    r: Shape,
    bias: Shape | None = None,
    lengths: Shape | None = None,
    h: Shape | None = None,
    *,
    direction: str,
    activations: tuple[str, ...],
    alphas: Floats,
    betas: Floats,
    clip: float,
    linear_before_reset: bool,
) -> list[Shape]:
    """[t, d, n, k], then the last states [d, n, k]."""
    del linear_before_reset
    require(clip > 0 and len(activations) == len(alphas) == len(betas) == 2 * _DIRECTIONS.get(direction, 0), "activations")
    return _layer(x, w, r, (bias, lengths, h), direction, 3)


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
    activations: tuple[str, ...],
    alphas: Floats,
    betas: Floats,
    clip: float,
    input_forget: bool,
) -> list[Shape]:
    """[t, d, n, k], then the last states [d, n, k] twice."""
    del input_forget
    require(clip > 0 and len(activations) == len(alphas) == len(betas) == 3 * _DIRECTIONS.get(direction, 0), "activations")
    y, state = _layer(x, w, r, (bias, lengths, h), direction, 4)
    require(c in (None, state) and peepholes in (None, (state[0], 3 * state[2])), "a state or peepholes of another shape")
    return [y, state, state]


def _layer(
    x: Shape, w: Shape, r: Shape, others: tuple[Shape | None, Shape | None, Shape | None], direction: str, gates: int
) -> list[Shape]:
    """others: bias, lengths, first state."""
    count = _DIRECTIONS.get(direction, 0)
    require(count and len(x) == 3 and len(r) == 3, "operands of other ranks")
    (steps, samples, features), hidden = x, r[2]
    state = (count, samples, hidden)
    require(w == (count, gates * hidden, features) and r == (count, gates * hidden, hidden), "weights of another shape")
    bias, lengths, h = others
    require(
        bias in (None, (count, 2 * gates * hidden)) and lengths in (None, (samples,)) and h in (None, state), "operands of other shapes"
    )
    return [(steps, *state), state]
