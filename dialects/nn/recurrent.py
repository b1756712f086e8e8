"""Recurrent layers: RNN, GRU, LSTM, over whole sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.irdl import AttrSizedOperandSegments, irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import BOOL, FLOAT, FLOATS, STR, STRS
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.nn.base import TENSOR, NNOp, require_float, require_rank, same_dtype
from ttc.dialects.nn.index import require_indices

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


class RecurrentOp(NNOp):
    """Attributes that all recurrent layers have, besides operands x, w, r, bias, lengths, h and results y, y_h.

    GATES: matrices that w and r stack.  FUNCTIONS: activations a direction.
    """

    GATES: ClassVar[int] = 1
    FUNCTIONS: ClassVar[int] = 1
    direction = prop_def(STR)
    activations = prop_def(STRS)
    alphas = prop_def(FLOATS)
    betas = prop_def(FLOATS)
    clip = prop_def(FLOAT)
    traits = traits_def(Pure())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def _infer_layer(
        cls,
        operands: Sequence[Spec | None],
        direction: str,
        activations: tuple[str, ...],
        alphas: tuple[float, ...],
        betas: tuple[float, ...],
        clip: float,
    ) -> tuple[Spec, Spec]:
        """Specs of outputs and last state.  operands: x, w, r, bias, lengths, h."""
        x, w, r, bias, lengths, h = operands
        if x is None or w is None or r is None:
            raise Error("E0302", f"{cls.name} lacks an operand")
        dtype = same_dtype(require_float(require_rank(x, 3)), require_rank(w, 3), require_rank(r, 3), bias, h)
        count = DIRECTIONS.get(direction, 0)
        total = count * cls.FUNCTIONS
        if not count or not len(activations) == len(alphas) == len(betas) == total or not set(activations) <= set(ACTIVATIONS):
            raise Error("E0402", f"direction '{direction}' and activations {list(activations)} do not fit {cls.name}")
        if not clip > 0:
            raise Error("E0402", f"a clip of {clip} leaves nothing")
        steps, samples, features = x.shape
        hidden = r.shape[2]
        _require_shape(w, (count, cls.GATES * hidden, features), "w")
        _require_shape(r, (count, cls.GATES * hidden, hidden), "r")
        _require_shape(bias, (count, 2 * cls.GATES * hidden), "bias")
        _require_shape(lengths if lengths is None else require_indices(lengths), (samples,), "lengths")
        _require_shape(h, (count, samples, hidden), "h")
        return Spec((steps, count, samples, hidden), dtype), Spec((count, samples, hidden), dtype)


def _require_shape(operand: Spec | None, shape: tuple[int, ...], role: str) -> None:
    """Raises E0401 unless the operand is absent or of that shape."""
    if operand is not None and operand.shape != shape:
        raise Error("E0401", f"{role} {operand} is not of shape {list(shape)}")


@irdl_op_definition
class RnnOp(RecurrentOp):
    """A layer of simple recurrent cells: h' = f(x w^T + h r^T + bias).

    Args:    x: tensor[t, n, i], floating point.  w: tensor[d, k, i].  r: tensor[d, k, k]; d directions.
             bias: tensor[d, 2 k]: of inputs, then of states.  lengths: tensor[n], int32 or int64: of sequences in steps, absent: t.
             h: tensor[d, n, k]: first state, absent: 0.  direction: forward, reverse or bidirectional (d = 2).
             activations: one a direction (see ACTIVATIONS), alphas, betas: their parameters.
             clip: what activations see is in [-clip, clip].
    Returns: y: tensor[t, d, n, k]: states after each step, 0 beyond the sequence.  y_h: tensor[d, n, k]: last states.
    Raises:  E0401 if shapes do not suit, E0402 for an attribute out of range, E0403 for integers or differing dtypes.
    Source:  ONNX RNN-14 (layout 1: the importer transposes); torch.nn.RNN.
    """

    name = "nn.rnn"
    x = operand_def(TENSOR)
    w = operand_def(TENSOR)
    r = operand_def(TENSOR)
    bias = opt_operand_def(TENSOR)
    lengths = opt_operand_def(TENSOR)
    h = opt_operand_def(TENSOR)
    y = result_def(TENSOR)
    y_h = result_def(TENSOR)

    @classmethod
    def infer(
        cls,
        x: Spec,
        w: Spec,
        r: Spec,
        bias: Spec | None = None,
        lengths: Spec | None = None,
        h: Spec | None = None,
        **attrs: Any,
    ) -> tuple[Spec, ...]:
        return cls._infer_layer((x, w, r, bias, lengths, h), **attrs)


@irdl_op_definition
class GruOp(RecurrentOp):
    """A layer of gated recurrent units: h' = (1 - z) n + z h, with z = f(...) the update, s = f(...) the reset, n = g(...) the new state.

    z, s: of x w^T + h r^T + bias;  n: of x w^T + (s h) r^T + bias, or with linear_before_reset of x w^T + bias + s (h r^T + bias).

    Args:    x: tensor[t, n, i], floating point.  w: tensor[d, 3 k, i]: update, reset, new.  r: tensor[d, 3 k, k]; d directions.
             bias: tensor[d, 6 k]: of inputs, then of states.  lengths: tensor[n], int32 or int64: of sequences in steps, absent: t.
             h: tensor[d, n, k]: first state, absent: 0.  direction: forward, reverse or bidirectional (d = 2).
             activations: f, g of each direction (see ACTIVATIONS), alphas, betas: their parameters.
             clip: what they see is in [-clip, clip].
    Returns: y: tensor[t, d, n, k]: states after each step, 0 beyond the sequence.  y_h: tensor[d, n, k]: last states.
    Raises:  E0401 if shapes do not suit, E0402 for an attribute out of range, E0403 for integers or differing dtypes.
    Source:  ONNX GRU-14 (layout 1: the importer transposes); torch.nn.GRU is linear_before_reset, with reset before update.
    """

    name = "nn.gru"
    GATES: ClassVar[int] = 3
    FUNCTIONS: ClassVar[int] = 2
    x = operand_def(TENSOR)
    w = operand_def(TENSOR)
    r = operand_def(TENSOR)
    bias = opt_operand_def(TENSOR)
    lengths = opt_operand_def(TENSOR)
    h = opt_operand_def(TENSOR)
    y = result_def(TENSOR)
    y_h = result_def(TENSOR)
    linear_before_reset = prop_def(BOOL)

    @classmethod
    def infer(
        cls,
        x: Spec,
        w: Spec,
        r: Spec,
        bias: Spec | None = None,
        lengths: Spec | None = None,
        h: Spec | None = None,
        *,
        linear_before_reset: bool,
        **attrs: Any,
    ) -> tuple[Spec, ...]:
        return cls._infer_layer((x, w, r, bias, lengths, h), **attrs)


@irdl_op_definition
class LstmOp(RecurrentOp):
    """A layer of long short-term memory: c' = forget c + input g(new), h' = output l(c').

    input, output, forget: f(x w^T + h r^T + bias + peephole * c), the output's c being c';  new: x w^T + h r^T + bias.

    Args:    x: tensor[t, n, i], floating point.  w: tensor[d, 4 k, i]: input, output, forget, new.  r: tensor[d, 4 k, k]; d directions.
             bias: tensor[d, 8 k]: of inputs, then of states.  lengths: tensor[n], int32 or int64: of sequences in steps, absent: t.
             h, c: tensor[d, n, k]: first states, absent: 0.  peepholes: tensor[d, 3 k]: input, output, forget.
             direction: forward, reverse or bidirectional (d = 2).  activations: f, g, l of each direction (see ACTIVATIONS), alphas,
             betas: their parameters.  clip: what they see is in [-clip, clip].  input_forget: forget is 1 - input.
    Returns: y: tensor[t, d, n, k]: outputs after each step, 0 beyond the sequence.  y_h, y_c: tensor[d, n, k]: last states.
    Raises:  E0401 if shapes do not suit, E0402 for an attribute out of range, E0403 for integers or differing dtypes.
    Source:  ONNX LSTM-14 (layout 1: the importer transposes); torch.nn.LSTM, with gates in the order input, forget, new, output.
    """

    name = "nn.lstm"
    GATES: ClassVar[int] = 4
    FUNCTIONS: ClassVar[int] = 3
    x = operand_def(TENSOR)
    w = operand_def(TENSOR)
    r = operand_def(TENSOR)
    bias = opt_operand_def(TENSOR)
    lengths = opt_operand_def(TENSOR)
    h = opt_operand_def(TENSOR)
    c = opt_operand_def(TENSOR)
    peepholes = opt_operand_def(TENSOR)
    input_forget = prop_def(BOOL)
    y = result_def(TENSOR)
    y_h = result_def(TENSOR)
    y_c = result_def(TENSOR)

    @classmethod
    def infer(
        cls,
        x: Spec,
        w: Spec,
        r: Spec,
        bias: Spec | None = None,
        lengths: Spec | None = None,
        h: Spec | None = None,
        c: Spec | None = None,
        peepholes: Spec | None = None,
        *,
        input_forget: bool,
        **attrs: Any,
    ) -> tuple[Spec, ...]:
        y, state = cls._infer_layer((x, w, r, bias, lengths, h), **attrs)
        same_dtype(x, c, peepholes)
        _require_shape(c, state.shape, "c")
        _require_shape(peepholes, (state.shape[0], 3 * state.shape[2]), "peepholes")
        return y, state, state
