"""Numpy semantics of recurrent layers: one matrix product for all steps' inputs, then step by step."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.nn.kernels import KERNELS
from ttc.dialects.nn.shapes.recurrent import outer_terms

Activation: TypeAlias = Callable[[NDArray], NDArray]
States: TypeAlias = tuple[NDArray, ...]
Step: TypeAlias = Callable[[NDArray, States], States]
Keep: TypeAlias = Callable[[int, int, NDArray, States, States], None]
_ACTIVATIONS: dict[str, Callable[[NDArray, float, float], NDArray]] = {
    "relu": lambda x, a, b: np.maximum(x, 0),
    "tanh": lambda x, a, b: np.tanh(x),
    "sigmoid": lambda x, a, b: 1 / (1 + np.exp(-x)),
    "affine": lambda x, a, b: a * x + b,
    "leakyrelu": lambda x, a, b: np.where(x >= 0, x, a * x),
    "thresholdedrelu": lambda x, a, b: np.where(x >= a, x, 0),
    "scaledtanh": lambda x, a, b: a * np.tanh(b * x),
    "hardsigmoid": lambda x, a, b: np.clip(a * x + b, 0, 1),
    "elu": lambda x, a, b: np.where(x >= 0, x, a * np.expm1(x)),
    "softsign": lambda x, a, b: x / (1 + np.abs(x)),
    "softplus": lambda x, a, b: np.logaddexp(x, np.zeros_like(x)),
}


@KERNELS.rule("rnn")
def rnn(
    x: NDArray,
    w: NDArray,
    r: NDArray,
    bias: NDArray | None = None,
    lengths: NDArray | None = None,
    h: NDArray | None = None,
    *,
    direction: str,
    activations: tuple[str, ...],
    alphas: tuple[float, ...],
    betas: tuple[float, ...],
    clip: float,
) -> tuple[NDArray, ...]:
    """h' = f(x w^T + h r^T + bias)."""
    functions = _functions(activations, alphas, betas, clip)

    def cell(d: int) -> Step:
        (f,) = functions[d : d + 1]
        return lambda gates, states: (f(gates + states[0] @ r[d].T),)

    biases = None if bias is None else _sum_of_halves(bias)
    return _layer(x, w, biases, lengths, [_start(h, x, w, r)], cell, direction)


@KERNELS.rule("gru")
def gru(
    x: NDArray,
    w: NDArray,
    r: NDArray,
    bias: NDArray | None = None,
    lengths: NDArray | None = None,
    h: NDArray | None = None,
    *,
    direction: str,
    activations: tuple[str, ...],
    alphas: tuple[float, ...],
    betas: tuple[float, ...],
    clip: float,
    linear_before_reset: bool,
) -> tuple[NDArray, ...]:
    """h' = (1 - z) n + z h; z, s = f(x w^T + h r^T + bias); n = g(x w_n^T + (s h) r_n^T + bias), or with s (h r_n^T + bias) if linear."""
    functions = _functions(activations, alphas, betas, clip)
    size = r.shape[2]
    inner = np.zeros((len(r), 6 * size), x.dtype) if bias is None else bias

    def cell(d: int) -> Step:
        f, g = functions[2 * d : 2 * d + 2]
        return partial(_gru_step, r=r[d], inner=inner[d, 3 * size :], f=f, g=g, linear=linear_before_reset)

    return _layer(x, w, inner[:, : 3 * size], lengths, [_start(h, x, w, r)], cell, direction)


def _gru_step(gates: NDArray, states: States, *, r: NDArray, inner: NDArray, f: Activation, g: Activation, linear: bool) -> States:
    (h,) = states
    size = h.shape[1]
    both = f(gates[:, : 2 * size] + h @ r[: 2 * size].T + inner[: 2 * size])
    update, reset = both[:, :size], both[:, size:]
    last, outer = r[2 * size :].T, inner[2 * size :]
    hidden = reset * (h @ last + outer) if linear else (reset * h) @ last + outer
    return ((1 - update) * g(gates[:, 2 * size :] + hidden) + update * h,)


def _lstm(
    keep: Keep | None,
    x: NDArray,
    w: NDArray,
    r: NDArray,
    bias: NDArray | None = None,
    lengths: NDArray | None = None,
    h: NDArray | None = None,
    c: NDArray | None = None,
    peepholes: NDArray | None = None,
    *,
    direction: str,
    activations: tuple[str, ...],
    alphas: tuple[float, ...],
    betas: tuple[float, ...],
    clip: float,
    input_forget: bool,
) -> tuple[NDArray, ...]:
    functions = _functions(activations, alphas, betas, clip)
    peek = np.zeros((len(r), 3 * r.shape[2]), x.dtype) if peepholes is None else peepholes

    def cell(d: int) -> Step:
        f, g, last = functions[3 * d : 3 * d + 3]
        return partial(_lstm_step, r=r[d], peek=np.split(peek[d], 3), f=f, g=g, last=last, coupled=input_forget)

    biases = None if bias is None else _sum_of_halves(bias)
    return _layer(x, w, biases, lengths, [_start(h, x, w, r), _start(c, x, w, r)], cell, direction, keep)


_SIGNATURE = partial(_lstm, None)


@KERNELS.rule("lstm")
@wraps(_SIGNATURE, assigned=())
def lstm(*operands: Any, **attrs: Any) -> tuple[NDArray, ...]:
    """c' = forget c + input g(...), h' = output l(c'); gates f(x w^T + h r^T + bias + peephole * c): input, output, forget, new."""
    return _lstm(None, *operands, **attrs)


@KERNELS.rule("lstm_training")
@wraps(_SIGNATURE, assigned=())
def lstm_training(*operands: Any, **attrs: Any) -> tuple[NDArray, ...]:
    """Return what `lstm` does, then the sums x w^T + h r^T + bias of all steps, and c' after each."""
    x, w, r = operands[:3]
    sums = np.zeros((len(x), len(w), x.shape[1], r.shape[1]), x.dtype)
    cells = np.zeros((len(x), len(w), x.shape[1], r.shape[2]), x.dtype)

    def keep(t: int, d: int, gates: NDArray, before: States, after: States) -> None:
        sums[t, d] = gates + before[0] @ r[d].T
        cells[t, d] = after[1]

    return *_lstm(keep, *operands, **attrs), sums, cells


def _lstm_step(
    gates: NDArray, states: States, *, r: NDArray, peek: list[NDArray], f: Activation, g: Activation, last: Activation, coupled: bool
) -> States:
    h, c = states
    enter, leave, forget, new = np.split(gates + h @ r.T, 4, axis=1)
    enter = f(enter + peek[0] * c)
    forget = 1 - enter if coupled else f(forget + peek[2] * c)
    c = forget * c + enter * g(new)
    return f(leave + peek[1] * c) * last(c), c


@KERNELS.rule("recurrent_gradient")
def recurrent_gradient(
    factors: NDArray,
    r: NDArray,
    dy: NDArray,
    ends: NDArray,
    *,
    sources: tuple[int, ...],
    targets: tuple[int, ...],
    sums: int,
    inner: int,
    reverse: bool,
) -> tuple[NDArray, NDArray]:
    """Return cotangents of the sums of all steps, and of the first states: back through time."""
    steps, samples, size = dy.shape
    states, product, outer = len(ends), 2 * len(ends) + sums, len(r) - inner * size
    of_sums, carried = np.zeros((steps, samples, sums, size), dy.dtype), ends.copy()
    within = outer_terms(sources, states, sums)
    for t in range(steps)[:: 1 if reverse else -1]:
        slots = np.zeros((product + 1, samples, size), dy.dtype)
        slots[:states] = carried
        slots[0] += dy[t]
        for i, (source, target) in enumerate(zip(sources, targets, strict=True)):
            if i == within:
                slots[product] = _side_by_side(slots[2 * states : product])[:, outer : len(r)] @ r[outer:]
            slots[target] += factors[t, :, i * size : (i + 1) * size] * slots[source]
        of_sums[t] = slots[2 * states : product].transpose(1, 0, 2)
        carried = slots[states : 2 * states]
        carried[0] += _side_by_side(slots[2 * states : product])[:, :outer] @ r[:outer]
    return of_sums.reshape(steps, samples, sums * size), carried


def _side_by_side(parts: NDArray) -> NDArray:
    """Return [parts, samples, size] as [samples, parts * size]."""
    count, samples, size = parts.shape
    return parts.transpose(1, 0, 2).reshape(samples, count * size)


def _functions(names: tuple[str, ...], alphas: tuple[float, ...], betas: tuple[float, ...], clip: float) -> list[Activation]:
    """Return the activations; each sees its operand brought into [-clip, clip]."""
    return [
        partial(_apply, function=_ACTIVATIONS[name], alpha=alpha, beta=beta, clip=clip)
        for name, alpha, beta in zip(names, alphas, betas, strict=True)
    ]


def _apply(x: NDArray, *, function: Callable[..., NDArray], alpha: float, beta: float, clip: float) -> NDArray:
    return function(np.clip(x, -clip, clip) if np.isfinite(clip) else x, alpha, beta).astype(x.dtype, copy=False)


def _sum_of_halves(bias: NDArray) -> NDArray:
    """[directions, gates * hidden]: the biases of inputs and of states."""
    half = bias.shape[1] // 2
    return bias[:, :half] + bias[:, half:]


def _start(state: NDArray | None, x: NDArray, w: NDArray, r: NDArray) -> NDArray:
    """Return the state before the first step, [directions, batch, hidden]: as given, or zeros."""
    return np.zeros((len(w), x.shape[1], r.shape[2]), x.dtype) if state is None else state


def _layer(
    x: NDArray,
    w: NDArray,
    bias: NDArray | None,
    lengths: NDArray | None,
    starts: list[NDArray],
    cell: Callable[[int], Step],
    direction: str,
    keep: Keep | None = None,
) -> tuple[NDArray, ...]:
    """Outputs [time, directions, batch, hidden] and last states [directions, batch, hidden] of a layer over x[time, batch, features].

    keep: is told each step, the direction, gates of the inputs, and the states before and after.
    """
    steps, samples = x.shape[:2]
    if lengths is not None and np.any((lengths < 0) | (lengths > steps)):
        raise Error("E0802", f"lengths {lengths.tolist()[:16]} are not all from 0 to {steps}, the steps of a sequence")
    y = np.zeros((steps, len(w), samples, starts[0].shape[2]), x.dtype)
    ends: list[States] = []
    for d in range(len(w)):
        gates = x @ w[d].T if bias is None else x @ w[d].T + bias[d]
        step, states = cell(d), tuple(s[d] for s in starts)
        backward = direction == "reverse" or d == 1
        for t in range(steps)[:: -1 if backward else 1]:
            new = step(gates[t], states)
            running = np.ones((samples, 1), bool) if lengths is None else (t < lengths)[:, None]
            before, states = states, tuple(np.where(running, n, s) for n, s in zip(new, states, strict=True))
            if keep is not None:
                keep(t, d, gates[t], before, states)
            y[t, d] = np.where(running, states[0], 0)
        ends.append(states)
    return (y, *(np.stack(s) for s in zip(*ends, strict=True)))
