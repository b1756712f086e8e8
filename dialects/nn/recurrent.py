"""Recurrent layers: RNN, GRU, LSTM, over whole sequences, as training computes them, and their gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from xdsl.irdl import AttrSizedOperandSegments, irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import BOOL, FLOAT, FLOATS, INT, INTS, STR, STRS
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.core.shapes import Shape
from ttc.dialects.nn.base import TENSOR, NNOp, require_float, same_dtype
from ttc.dialects.nn.index import require_indices
from ttc.dialects.nn.shapes import recurrent as shapes

LENGTHS = 4
"""Place of the lengths among the operands."""


class RecurrentOp(NNOp):
    """Attributes that all recurrent layers have, besides operands and results.  SHAPES: the rule of a layer's shapes."""

    SHAPES: ClassVar[Callable[..., list[Shape]]]
    direction = prop_def(STR)
    activations = prop_def(STRS)
    alphas = prop_def(FLOATS)
    betas = prop_def(FLOATS)
    clip = prop_def(FLOAT)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def infer(cls, *operands: Spec | None, **attrs: Any) -> tuple[Spec, ...]:
        return _layer(cls.SHAPES, operands, attrs)


class _OneStateOp(RecurrentOp):
    """Operands and results of layers that pass one state from step to step."""

    x = operand_def(TENSOR)
    w = operand_def(TENSOR)
    r = operand_def(TENSOR)
    bias = opt_operand_def(TENSOR)
    lengths = opt_operand_def(TENSOR)
    h = opt_operand_def(TENSOR)
    y = result_def(TENSOR)
    y_h = result_def(TENSOR)


def _layer(rule: Callable[..., list[Shape]], operands: Sequence[Spec | None], attrs: dict[str, Any]) -> tuple[Spec, ...]:
    """Specs of outputs and last states.  operands: x, w, r, bias, lengths, then states and what else the layer has."""
    x, *others = [operand for i, operand in enumerate(operands) if i != LENGTHS]
    if x is None:
        raise Error("E0302", "a recurrent layer lacks its input")
    dtype = same_dtype(require_float(x), *others)
    lengths = operands[LENGTHS] if len(operands) > LENGTHS else None
    if lengths is not None:
        require_indices(lengths)
    return tuple(Spec(shape, dtype) for shape in rule(*[None if x is None else x.shape for x in operands], **attrs))


@irdl_op_definition
class RnnOp(_OneStateOp):
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
    SHAPES = shapes.rnn


@irdl_op_definition
class GruOp(_OneStateOp):
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
    SHAPES = shapes.gru
    linear_before_reset = prop_def(BOOL)


class _LstmOp(RecurrentOp):
    """Operands of layers of long short-term memory."""

    x = operand_def(TENSOR)
    w = operand_def(TENSOR)
    r = operand_def(TENSOR)
    bias = opt_operand_def(TENSOR)
    lengths = opt_operand_def(TENSOR)
    h = opt_operand_def(TENSOR)
    c = opt_operand_def(TENSOR)
    peepholes = opt_operand_def(TENSOR)
    input_forget = prop_def(BOOL)


@irdl_op_definition
class LstmOp(_LstmOp):
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
    SHAPES = shapes.lstm
    y = result_def(TENSOR)
    y_h = result_def(TENSOR)
    y_c = result_def(TENSOR)


@irdl_op_definition
class LstmTrainingOp(_LstmOp):
    """A layer of long short-term memory that also gives what its gradient needs, so that no product is computed again.

    Args:    x, w, r, bias, lengths, h, c, peepholes, direction, activations, alphas, betas, clip, input_forget: those of `nn.lstm`.
    Returns: y: tensor[t, d, n, k].  y_h, y_c: tensor[d, n, k]: as `nn.lstm` gives them.
             sums: tensor[t, d, n, 4 k]: x w^T + h r^T + bias at each step: input, output, forget, new.  cells: tensor[t, d, n, k]: c'
             after each step, where a sequence is over that of its last one.
    Raises:  E0401 if shapes do not suit, E0402 for an attribute out of range, E0403 for integers or differing dtypes.
    Source:  ttc: made of `nn.lstm` by the pass train-recurrent.
    """

    name = "nn.lstm_training"
    SHAPES = shapes.lstm_training
    KEPT: ClassVar[int] = 2
    y = result_def(TENSOR)
    y_h = result_def(TENSOR)
    y_c = result_def(TENSOR)
    sums = result_def(TENSOR)
    cells = result_def(TENSOR)


@irdl_op_definition
class RecurrentGradientOp(NNOp):
    """Gradient of one direction of a recurrent layer, back through time, given what each step does to cotangents as factors.

    A cell treats each element of its states by itself, but for products: some of its sums have h r^T added; the last of these, the inner
    ones, may have p r^T instead, where p is computed in the step itself.  At each step, the last one first, there are cotangents a[i] of
    the states after it (slots 0 to s - 1), b[i] of those before it (slots s to 2 s - 1), g[j] of the sums (slots from 2 s on) and q of p
    (the slot behind them).  All begin with 0, but for a[0] = b[0] of the later step + g of the later step r + dy, without the inner sums,
    and a[i] = b[i] of the later step; for the last step, ends take the place of what later steps give.  Each term in order then adds
    factor * source to its target; before the first that reads q, q becomes g r of the inner sums.

    Args:    factors: tensor[t, n, f k], floating point: f of each step.  r: tensor[m k, k]: weights of the first m sums.
             dy: tensor[t, n, k]: cotangents of the first state after each step, as it is an output.  ends: tensor[s, n, k]: cotangents of
             the states after the last step.  sources, targets: slots of each of f terms, in order; a term whose target others read comes
             before them, and those that read q come last, with targets among b and the sums that no other term and no product has.
             sums: number of sums, m at least.  inner: how many of the first m are inner, 0 if nothing reads q.  reverse: the layer's
             first step is the last one in memory.
    Returns: of_sums: tensor[t, n, sums k]: g of each step.  starts: tensor[s, n, k]: cotangents of the states before the first step.
    Raises:  E0401 if shapes do not suit, E0402 for slots that there are not, E0403 for integers or differing dtypes.
    Source:  ttc: gradients of `nn.rnn`, `nn.gru` and `nn.lstm`.
    """

    name = "nn.recurrent_gradient"
    factors = operand_def(TENSOR)
    r = operand_def(TENSOR)
    dy = operand_def(TENSOR)
    ends = operand_def(TENSOR)
    sources = prop_def(INTS)
    targets = prop_def(INTS)
    sums = prop_def(INT)
    inner = prop_def(INT)
    reverse = prop_def(BOOL)
    of_sums = result_def(TENSOR)
    starts = result_def(TENSOR)

    @classmethod
    def infer(cls, factors: Spec, r: Spec, dy: Spec, ends: Spec, **attrs: Any) -> tuple[Spec, ...]:
        dtype = same_dtype(require_float(factors), r, dy, ends)
        return tuple(Spec(shape, dtype) for shape in shapes.recurrent_gradient(factors.shape, r.shape, dy.shape, ends.shape, **attrs))
