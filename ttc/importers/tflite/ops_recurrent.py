"""Recurrent layers over sequences and single steps.  Their states are variables, of which rows give the new values after the results."""

from __future__ import annotations

from typing import TypeAlias

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import require_rank
from ttc.importers.common.builder import Builder
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.tflite.fused import activated
from ttc.importers.tflite.tables import VARIABLES, Rows

Maybe: TypeAlias = "SSAValue | None"
NO_CLIP = float("inf")
_ACTIVATIONS = {"TANH": "tanh", "RELU": "relu"}


def unidirectional_sequence_lstm(
    b: Builder,
    x: SSAValue,
    *operands: Maybe,
    fused_activation_function: str,
    cell_clip: float,
    proj_clip: float,
    time_major: bool,
    diagonal_recurrent_tensors: bool,
) -> tuple[SSAValue, ...]:
    """Compute an LSTM over x[n, t, i], or [t, n, i] if the time comes first."""
    if diagonal_recurrent_tensors:
        raise Unsupported("diagonal recurrent weights")
    require_rank(b.shape(x), 3)
    steps = x if time_major else b.nn("transpose", x, perm=(1, 0, 2))
    y, h, c = _lstm(b, steps, operands, fused_activation_function, cell_clip, proj_clip)
    return (y if time_major else b.nn("transpose", y, perm=(1, 0, 2))), h, c


def lstm(
    b: Builder, x: SSAValue, *operands: Maybe, fused_activation_function: str, cell_clip: float, proj_clip: float, kernel_type: str
) -> tuple[SSAValue, ...]:
    """Compute one step of an LSTM over x[n, i]."""
    if kernel_type != "FULL" or len(b.outputs) != 1:
        raise Unsupported(f"kernel {kernel_type} with {len(b.outputs)} results")
    require_rank(b.shape(x), 2)
    y, h, c = _lstm(b, b.reshape(x, 1, *b.shape(x)), operands, fused_activation_function, cell_clip, proj_clip)
    return b.reshape(y, *b.shape(y)[1:]), h, c


def bidirectional_sequence_lstm(
    b: Builder,
    x: SSAValue,
    *operands: Maybe,
    fused_activation_function: str,
    cell_clip: float,
    proj_clip: float,
    merge_outputs: bool,
    time_major: bool,
) -> tuple[SSAValue, ...]:
    """Compute two layers over x, the second from its end on, whose results are joined or stand side by side.

    Operands: weights and biases of the first as `_lstm` takes them, then those of the second, then the states of both.
    """
    given: list[Maybe] = [*operands, *(None,) * (47 - len(operands))]
    if any(v is not None for v in given[38:]):
        raise Unsupported("an auxiliary input")
    require_rank(b.shape(x), 3)
    steps = x if time_major else b.nn("transpose", x, perm=(1, 0, 2))
    layers = [
        _lstm(b, steps, (*given[at : at + 17], *given[states : states + 2]), fused_activation_function, cell_clip, proj_clip, direction)
        for at, states, direction in ((0, 34, "forward"), (17, 36, "reverse"))
    ]
    results = _both(b, [y for y, _, _ in layers], merge_outputs, time_major)
    return (*results, *(state for _, h, c in layers for state in (h, c)))


def bidirectional_sequence_rnn(
    b: Builder, x: SSAValue, *operands: Maybe, time_major: bool, fused_activation_function: str, merge_outputs: bool
) -> tuple[SSAValue, ...]:
    """Compute two layers over x, the second from its end on.  Operands: weights of x and of h, bias and state of each."""
    given = operands[:8]
    if any(v is not None for v in operands[8:]):
        raise Unsupported("an auxiliary input")
    if len(given) < 8:
        raise Error("E0203", f"two layers have 8 weights and states, not {len(given)}")
    require_rank(b.shape(x), 3)
    steps = x if time_major else b.nn("transpose", x, perm=(1, 0, 2))
    layers: list[tuple[SSAValue, SSAValue]] = []
    for at, direction in ((0, "forward"), (4, "reverse")):
        present = [v for v in given[at : at + 4] if v is not None]
        if len(present) < 4:
            raise Error("E0203", "a layer lacks an operand")
        w, r, bias, h = present
        layers.append(_rnn(b, steps, w, r, bias, h, fused_activation_function, direction))
    return (*_both(b, [y for y, _ in layers], merge_outputs, time_major), *(last for _, last in layers))


def _both(b: Builder, results: list[SSAValue], merged: bool, time_major: bool) -> list[SSAValue]:
    """[t, n, k] of two layers, joined along the last dimension or not, as the model wants them."""
    found = [b.nn("concat", *results, axis=2)] if merged else results
    return found if time_major else [b.nn("transpose", y, perm=(1, 0, 2)) for y in found]


def _lstm(
    b: Builder,
    x: SSAValue,
    operands: tuple[Maybe, ...],
    activation: str,
    cell_clip: float,
    proj_clip: float,
    direction: str = "forward",
) -> tuple[SSAValue, SSAValue, SSAValue]:
    """x[t, n, i] -> y[t, n, k], and the states h, c [n, k].  Operands, by gate in the order input, forget, cell, output: weights of x,
    weights of h, peepholes (without cell), biases; then the projection's weights and bias, the states h and c, and coefficients of a
    normalization.  Without weights of the input gate it is 1 - forget: the gate of the negated sum.
    """
    given: list[Maybe] = [*operands, *(None,) * (23 - len(operands))]
    w, r, peep, biases = given[:4], given[4:8], given[8:11], given[11:15]
    h, c = given[17:19]
    if cell_clip or proj_clip or any(v is not None for v in (*given[15:17], *given[19:])):
        raise Unsupported("clips, projections or normalization inside a layer")
    if activation not in _ACTIVATIONS:
        raise Unsupported(f"activation {activation}")
    coupled = w[0] is None
    if coupled:
        w, r, peep, biases = ([None if v[1] is None else b.nn("neg", v[1]), *v[1:]] for v in (w, r, [None, *peep[1:]], biases))
        peep = [None if given[9] is None else b.nn("neg", given[9]), given[9], given[10]]
    y, last_h, last_c = b.nn_all(
        "lstm",
        x,
        _stacked(b, w),
        _stacked(b, r),
        _biases(b, biases),
        None,
        _state(b, h),
        _state(b, c),
        None if peep[2] is None else _joined(b, [peep[0], peep[2], peep[1]]),
        direction=direction,
        activations=("sigmoid", _ACTIVATIONS[activation], _ACTIVATIONS[activation]),
        alphas=(0.0,) * 3,
        betas=(0.0,) * 3,
        clip=NO_CLIP,
        input_forget=coupled,
    )
    t, _, n, k = b.shape(y)
    return b.reshape(y, t, n, k), b.reshape(last_h, n, k), b.reshape(last_c, n, k)


def _stacked(b: Builder, parts: list[Maybe]) -> SSAValue:
    """Return weights of the gates input, output, forget, new as one [1, 4 k, i]."""
    ordered = [parts[0], parts[3], parts[1], parts[2]]
    for v in ordered:
        if v is None:
            raise Error("E0203", "a layer lacks weights of a gate")
        require_rank(b.shape(v), 2)
    return _joined(b, ordered)


def _biases(b: Builder, parts: list[Maybe]) -> SSAValue | None:
    """[1, 8 k]: those of x, and zeros."""
    if parts[1] is None:
        return None
    own = _joined(b, [parts[0], parts[3], parts[1], parts[2]])
    return b.nn("concat", own, b.nn("expand", b.scalar(0, own), shape=b.shape(own)), axis=1)


def _joined(b: Builder, parts: list[Maybe]) -> SSAValue:
    present = [v for v in parts if v is not None]
    if len(present) != len(parts):
        raise Error("E0203", "a layer lacks an operand of a gate")
    joined = b.nn("concat", *present, axis=0)
    return b.reshape(joined, 1, *b.shape(joined))


def _state(b: Builder, value: Maybe) -> SSAValue:
    if value is None:
        raise Error("E0203", "a layer lacks its state")
    require_rank(b.shape(value), 2)
    return b.reshape(value, 1, *b.shape(value))


def unidirectional_sequence_rnn(
    b: Builder, x: SSAValue, w: SSAValue, r: SSAValue, bias: SSAValue, h: SSAValue, *, time_major: bool, fused_activation_function: str
) -> tuple[SSAValue, ...]:
    """Compute a recurrent layer over x[n, t, i], or [t, n, i] if the time comes first."""
    require_rank(b.shape(x), 3)
    y, last = _rnn(b, x if time_major else b.nn("transpose", x, perm=(1, 0, 2)), w, r, bias, h, fused_activation_function)
    return (y if time_major else b.nn("transpose", y, perm=(1, 0, 2))), last


def rnn(
    b: Builder, x: SSAValue, w: SSAValue, r: SSAValue, bias: SSAValue, h: SSAValue, *, fused_activation_function: str
) -> tuple[SSAValue, ...]:
    """Compute one step of a recurrent layer over x[n, i]."""
    require_rank(b.shape(x), 2)
    y, last = _rnn(b, b.reshape(x, 1, *b.shape(x)), w, r, bias, h, fused_activation_function)
    return b.reshape(y, *b.shape(y)[1:]), last


def _rnn(
    b: Builder, x: SSAValue, w: SSAValue, r: SSAValue, bias: SSAValue, h: SSAValue, activation: str, direction: str = "forward"
) -> tuple[SSAValue, SSAValue]:
    if activation not in _ACTIVATIONS:
        raise Unsupported(f"activation {activation}")
    require_rank(b.shape(w), 2)
    require_rank(b.shape(r), 2)
    flat = b.nn("concat", bias, b.nn("expand", b.scalar(0, bias), shape=b.shape(bias)), axis=0)
    weights = (b.reshape(w, 1, *b.shape(w)), b.reshape(r, 1, *b.shape(r)), b.reshape(flat, 1, *b.shape(flat)))
    options = {"direction": direction, "activations": (_ACTIVATIONS[activation],), "alphas": (0.0,), "betas": (0.0,), "clip": NO_CLIP}
    y, last = b.nn_all("rnn", x, *weights, None, _state(b, h), **options)
    t, _, n, k = b.shape(y)
    return b.reshape(y, t, n, k), b.reshape(last, n, k)


def svdf(
    b: Builder, x: SSAValue, features: SSAValue, times: SSAValue, bias: Maybe, state: SSAValue, *, rank: int, fused_activation_function: str
) -> tuple[SSAValue, ...]:
    """Filter features, remembered for some steps, each of which has a weight: state[n, filters * steps]. Units are sums of `rank`
    filters.
    """
    for value in (x, features, times, state):
        require_rank(b.shape(value), 2)
    n, (filters, steps) = b.shape(x)[0], b.shape(times)
    if rank < 1 or filters % rank or steps < 1 or b.shape(state) != (n, filters * steps):
        raise Error("E0401", f"{filters} filters over {steps} steps do not fit rank {rank} and state {b.spec(state)}")
    now = b.reshape(b.nn("matmul", x, features, None, transpose_a=False, transpose_b=True), n, filters, 1)
    kept = b.nn("slice", b.reshape(state, n, filters, steps), starts=(0, 0, 1), sizes=(n, filters, steps - 1), steps=(1, 1, 1))
    memory = b.nn("concat", kept, now, axis=2)
    weighted = b.nn("reduce_sum", b.nn("mul", memory, times), axes=(2,), keepdims=False)
    units = b.nn("reduce_sum", b.reshape(weighted, n, filters // rank, rank), axes=(2,), keepdims=False)
    y = units if bias is None else b.nn("add", units, bias)
    return activated(b, y, fused_activation_function), b.reshape(memory, n, filters * steps)


ROWS: Rows = {
    "UNIDIRECTIONAL_SEQUENCE_LSTM": unidirectional_sequence_lstm,
    "BIDIRECTIONAL_SEQUENCE_LSTM": bidirectional_sequence_lstm,
    "LSTM": lstm,
    "UNIDIRECTIONAL_SEQUENCE_RNN": unidirectional_sequence_rnn,
    "BIDIRECTIONAL_SEQUENCE_RNN": bidirectional_sequence_rnn,
    "RNN": rnn,
    "SVDF": svdf,
}
VARIABLES.update(
    {
        "UNIDIRECTIONAL_SEQUENCE_LSTM": (18, 19),
        "BIDIRECTIONAL_SEQUENCE_LSTM": (35, 36, 37, 38),
        "LSTM": (18, 19),
        "UNIDIRECTIONAL_SEQUENCE_RNN": (4,),
        "BIDIRECTIONAL_SEQUENCE_RNN": (4, 8),
        "RNN": (4,),
        "SVDF": (4,),
    }
)
