"""Recurrent layers over whole sequences."""

from __future__ import annotations

from xdsl.irdl import AttrSizedOperandSegments, irdl_op_definition, operand_def, opt_operand_def, result_def, traits_def
from xdsl.traits import Pure

from ttc.dialects.tile.base import TILE, SharedOp


class _Recurrent(SharedOp):
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())


@irdl_op_definition
class RnnOp(_Recurrent):
    """A layer of simple recurrent cells: h' = f(x w^T + h r^T + bias).

    Args:    x: tile[t, n, i].  w: tile[d, k, i].  r: tile[d, k, k]; d directions.  bias: tile[d, 2 k]: of inputs, then of states.
             lengths: integer tile[n]: of sequences in steps, absent: t.  h: tile[d, n, k]: first state, absent: 0.
             direction: forward, reverse or bidirectional (d = 2).  activations: one a direction, alphas, betas: their parameters.
             clip: what activations see is in [-clip, clip].
    Returns: y: tile[t, d, n, k]: states after each step, 0 beyond the sequence.  y_h: tile[d, n, k]: last states.
    Raises:  E0401 if shapes do not suit, E0402 for an attribute out of range.  E0802 at run time for a length out of range.
    """

    name = "tile.rnn"
    x = operand_def(TILE)
    w = operand_def(TILE)
    r = operand_def(TILE)
    bias = opt_operand_def(TILE)
    lengths = opt_operand_def(TILE)
    h = opt_operand_def(TILE)
    y = result_def(TILE)
    y_h = result_def(TILE)


@irdl_op_definition
class GruOp(_Recurrent):
    """A layer of gated recurrent units: h' = (1 - z) n + z h, with z = f(...) the update, s = f(...) the reset, n = g(...) the new state.

    z, s: of x w^T + h r^T + bias;  n: of x w^T + (s h) r^T + bias, or with linear_before_reset of x w^T + bias + s (h r^T + bias).

    Args:    x: tile[t, n, i].  w: tile[d, 3 k, i]: update, reset, new.  r: tile[d, 3 k, k]; d directions.
             bias: tile[d, 6 k]: of inputs, then of states.  lengths: integer tile[n]: of sequences in steps, absent: t.
             h: tile[d, n, k]: first state, absent: 0.  direction: forward, reverse or bidirectional (d = 2).
             activations: f, g of each direction, alphas, betas: their parameters.  clip: what they see is in [-clip, clip].
    Returns: y: tile[t, d, n, k]: states after each step, 0 beyond the sequence.  y_h: tile[d, n, k]: last states.
    Raises:  E0401 if shapes do not suit, E0402 for an attribute out of range.  E0802 at run time for a length out of range.
    """

    name = "tile.gru"
    x = operand_def(TILE)
    w = operand_def(TILE)
    r = operand_def(TILE)
    bias = opt_operand_def(TILE)
    lengths = opt_operand_def(TILE)
    h = opt_operand_def(TILE)
    y = result_def(TILE)
    y_h = result_def(TILE)


@irdl_op_definition
class LstmOp(_Recurrent):
    """A layer of long short-term memory: c' = forget c + input g(new), h' = output l(c').

    input, output, forget: f(x w^T + h r^T + bias + peephole * c), the output's c being c';  new: x w^T + h r^T + bias.

    Args:    x: tile[t, n, i].  w: tile[d, 4 k, i]: input, output, forget, new.  r: tile[d, 4 k, k]; d directions.
             bias: tile[d, 8 k]: of inputs, then of states.  lengths: integer tile[n]: of sequences in steps, absent: t.
             h, c: tile[d, n, k]: first states, absent: 0.  peepholes: tile[d, 3 k]: input, output, forget.
             direction: forward, reverse or bidirectional (d = 2).  activations: f, g, l of each direction, alphas, betas: their
             parameters.  clip: what they see is in [-clip, clip].  input_forget: forget is 1 - input.
    Returns: y: tile[t, d, n, k]: outputs after each step, 0 beyond the sequence.  y_h, y_c: tile[d, n, k]: last states.
    Raises:  E0401 if shapes do not suit, E0402 for an attribute out of range.  E0802 at run time for a length out of range.
    """

    name = "tile.lstm"
    x = operand_def(TILE)
    w = operand_def(TILE)
    r = operand_def(TILE)
    bias = opt_operand_def(TILE)
    lengths = opt_operand_def(TILE)
    h = opt_operand_def(TILE)
    c = opt_operand_def(TILE)
    peepholes = opt_operand_def(TILE)
    y = result_def(TILE)
    y_h = result_def(TILE)
    y_c = result_def(TILE)
