"""Recurrent layers over whole sequences, several on top of each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.parts import part
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.ops_random import dropout as dropped
from ttc.importers.torch.tables import Row, Rows


class _Kind(NamedTuple):
    """A cell: nn's op, the order of PyTorch's gates that nn stacks, activations of a direction, further attributes."""

    op: str
    gates: tuple[int, ...]
    activations: tuple[str, ...]
    attrs: dict[str, bool]


LSTM = _Kind("lstm", (0, 3, 1, 2), ("sigmoid", "tanh", "tanh"), {"input_forget": False})
"""The order of gates for nn: PyTorch stacks input, forget, new, output; nn input, output, forget, new."""
GRU = _Kind("gru", (1, 0, 2), ("sigmoid", "tanh"), {"linear_before_reset": True})
"""The order of gates for nn: PyTorch stacks reset, update, new; nn update, reset, new."""
RNN_TANH = _Kind("rnn", (0,), ("tanh",), {})
RNN_RELU = _Kind("rnn", (0,), ("relu",), {})


def _ordered(b: TorchBuilder, weight: SSAValue, gates: tuple[int, ...]) -> SSAValue:
    """Return the gates' matrices, or biases, in nn's order."""
    if gates == tuple(range(len(gates))):
        return weight
    size = b.shape(weight)[0] // len(gates)
    return b.nn("concat", *(part(b, weight, 0, g * size, size) for g in gates), axis=0)


def _together(b: TorchBuilder, values: Sequence[SSAValue]) -> SSAValue:
    """Return one a direction, along a new first dimension."""
    wide = [b.reshape(v, 1, *b.shape(v)) for v in values]
    return wide[0] if len(wide) == 1 else b.nn("concat", *wide, axis=0)


def _layer(
    b: TorchBuilder, kind: _Kind, x: SSAValue, params: Sequence[Sequence[SSAValue]], states: Sequence[SSAValue]
) -> tuple[SSAValue, ...]:
    """Return one layer over x[t, n, i]: its output [t, n, directions * k] and last states [directions, n, k].

    params: of each direction input weights, state weights and, if there are biases, those of both.
    """
    w, r = (_together(b, [_ordered(b, p[i], kind.gates) for p in params]) for i in (0, 1))
    biases = [b.nn("concat", *(_ordered(b, v, kind.gates) for v in p[2:]), axis=0) for p in params] if len(params[0]) > 2 else []
    results = b.nn_all(
        kind.op,
        x,
        w,
        r,
        _together(b, biases) if biases else None,
        None,
        *states,
        *([None] if kind.op == "lstm" else []),
        direction="forward" if len(params) == 1 else "bidirectional",
        activations=kind.activations * len(params),
        alphas=(0.0,) * len(kind.activations) * len(params),
        betas=(0.0,) * len(kind.activations) * len(params),
        clip=float("inf"),
        **kind.attrs,
    )
    y, *ends = results
    steps, directions, samples, width = b.shape(y)
    return b.reshape(b.nn("transpose", y, perm=(0, 2, 1, 3)), steps, samples, directions * width), *ends


def _stack(kind: _Kind) -> Row:
    def row(
        b: TorchBuilder,
        x: SSAValue,
        first: SSAValue | tuple[SSAValue, ...],
        params: tuple[SSAValue, ...],
        has_biases: bool,
        layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[SSAValue, ...]:
        """Output, then last states of all layers."""
        directions, each = 2 if bidirectional else 1, 4 if has_biases else 2
        starts = first if isinstance(first, tuple) else (first,)
        if len(params) != layers * directions * each:
            raise Unsupported("projections of the states")
        y = b.nn("transpose", x, perm=(1, 0, 2)) if batch_first else x
        ends: list[tuple[SSAValue, ...]] = []
        for layer in range(layers):
            at = layer * directions
            y = dropped(b, y, dropout, train and layer > 0)
            own = [params[(at + d) * each : (at + d + 1) * each] for d in range(directions)]
            y, *last = _layer(b, kind, y, own, [part(b, s, 0, at, directions) for s in starts])
            ends.append(tuple(last))
        joined = [states[0] if layers == 1 else b.nn("concat", *states, axis=0) for states in zip(*ends, strict=True)]
        return b.nn("transpose", y, perm=(1, 0, 2)) if batch_first else y, *joined

    return row


ROWS: Rows = {
    "aten.lstm.input": _stack(LSTM),
    "aten.gru.input": _stack(GRU),
    "aten.rnn_tanh.input": _stack(RNN_TANH),
    "aten.rnn_relu.input": _stack(RNN_RELU),
}
