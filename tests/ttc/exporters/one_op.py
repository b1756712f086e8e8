"""Programs of one op, and the cases that tests of all exporters run: an op, its operands, its attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.ops.cases import one_op_module
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.ir.parsing import parse_module
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.core.ir.to_plain import plain_block
from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.core.plain import interpret
from ttc.dialects.core.plain.functions import Function, Work
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.core.records import record
from ttc.dialects.nn.base import dialect as nn
from ttc.dialects.nn.base import ops
from ttc.exporters.graph import ModelGraph, ProgramOutput


@record
class OpCase:
    """An op of dialect nn with operands.

    Args:
        op: its mnemonic.
        operands: an array, or the shape of one of random numbers from 0.1 to 1.5.
        attrs: attributes by name.
        constants: places of operands that are weights; all others are inputs of the program.
    """

    op: str
    operands: Sequence[NDArray | tuple[int, ...]]
    attrs: dict[str, Any]
    constants: tuple[int, ...] = ()

    def arrays(self, rng: np.random.Generator) -> list[NDArray]:
        """The operands."""
        return [x if isinstance(x, np.ndarray) else rng.uniform(0.1, 1.5, x).astype(np.float32) for x in self.operands]


def graph_of_op(name: str, arrays: Sequence[NDArray], attrs: dict[str, Any], constants: Sequence[int] = ()) -> ModelGraph:
    """A program of one op.  constants: places of the operands that are weights."""
    module = one_op_module(ops()[name], [Spec(array.shape, array.dtype) for array in arrays], attrs)
    (function,) = entry_functions(module)
    plain = plain_block(function.body.block)
    outputs = tuple(ProgramOutput(f"y{index}", None) for index in range(len(plain.outputs)))
    inputs = [index for index in range(len(arrays)) if index not in constants]
    weights = WeightStore()
    for index in constants:
        weights.add_array(f"w{index}", arrays[index])
    order = [*inputs, *constants]
    leaves = tuple(Work("ttc.constant", (), {"key": f"w{index}"}, (plain.inputs[index],)) for index in constants)
    (work,) = plain.works
    operands = tuple(None if number is None else order.index(number) for number in work.operands)
    moved = Work(work.op, operands, work.attrs, work.results, location=work.location)
    made = Function(tuple(plain.inputs[index] for index in inputs), (*leaves, moved), plain.outputs)
    return ModelGraph("one", tuple(f"x{index}" for index in inputs), outputs, made, weights, load_target("n150"))


def graph_of_text(text: str) -> ModelGraph:
    """A program as IR text has it, without any pass."""
    (function,) = entry_functions(parse_module(text, "test", [nn]))
    plain = plain_block(function.body.block)
    outputs = tuple(ProgramOutput(f"y{index}", None) for index in range(len(plain.outputs)))
    return ModelGraph("text", tuple(f"x{index}" for index in range(len(plain.inputs))), outputs, plain, WeightStore(), load_target("n150"))


def inputs_of(graph: ModelGraph, arrays: Sequence[NDArray]) -> dict[str, NDArray]:
    """The inputs of a program of one op by name, given all operands."""
    return {name: arrays[int(name.removeprefix("x"))] for name in graph.inputs}


def reference(graph: ModelGraph, inputs: dict[str, NDArray]) -> list[NDArray]:
    """What the kernels of dialect nn give."""
    return interpret.run(graph.function, list(inputs.values()), graph.leaf)


WINDOW = {"strides": (2, 3), "pads": (1, 0, 1, 1), "dilations": (1, 1), "layout": "nhwc"}
MASKED = np.array([[0, 0, 0], [-np.inf, -np.inf, -np.inf], [-np.inf, 0, 1]], np.float32)
"""A mask whose second row leaves nothing."""
QUOTIENTS = np.array([1e8, -1, -1e-20, 7, 5, 1, -6, 6, -0.5], np.float32)
DIVISORS = np.array([3, np.inf, 3, 0, np.inf, -np.inf, 3, -3, 0.3], np.float32)
CASES: dict[str, OpCase] = {
    "mod": OpCase("mod", [(3, 4), (4,)], {"fmod": False}),
    "mod of large, infinite and negative numbers": OpCase("mod", [QUOTIENTS, DIVISORS], {"fmod": False}),
    "fmod": OpCase("mod", [QUOTIENTS, DIVISORS], {"fmod": True}),
    "silu": OpCase("silu", [(3, 4)], {}),
    "gelu": OpCase("gelu", [(3, 4)], {"approximate": "tanh"}),
    "clip": OpCase("clip", [(3, 4)], {"max": 0.5}),
    "clip without limits": OpCase("clip", [(3, 4)], {}),
    "clip to infinity": OpCase("clip", [(3, 4)], {"min": np.inf, "max": np.inf}),
    "clip between whole numbers": OpCase("clip", [np.array([-7, 1, 2, 3, 7], np.int32)], {"min": 1.5, "max": 2.5}),
    "clip of bytes": OpCase("clip", [np.array([-128, 1, 127], np.int8)], {"min": -1000.0, "max": 300.0}),
    "clip of bytes without a sign": OpCase("clip", [np.array([0, 1, 200], np.uint8)], {"min": -1.0, "max": 100.0}),
    "clip of wide numbers": OpCase("clip", [np.array([2**62, 1, -(2**63)], np.int64)], {"min": -np.inf, "max": 1e30}),
    "product": OpCase(
        "matmul",
        [(2, 3, 4), (5, 4), (5,)],
        {"transpose_a": False, "transpose_b": True, "activation": "elu", "activation_args": (0.5,)},
    ),
    "gemm": OpCase("matmul", [(4, 3), (4, 5), (3, 5)], {"transpose_a": True, "transpose_b": False}),
    "convolution": OpCase("conv2d", [(2, 7, 6, 4), (3, 2, 2, 6), (6,)], {**WINDOW, "groups": 2, "activation": "relu"}, (1, 2)),
    "transposed": OpCase(
        "conv_transpose2d",
        [(1, 5, 4, 4), (3, 2, 3, 4)],
        {**WINDOW, "pads": (1, 0, 1, 0), "groups": 1, "output_padding": (1, 0)},
        (1,),
    ),
    "largest": OpCase("max_pool2d", [(1, 8, 9, 3)], {**WINDOW, "kernel": (3, 2), "pads": (0, 0, 0, 0), "ceil_mode": True}),
    "means": OpCase("avg_pool2d", [(1, 8, 9, 3)], {**WINDOW, "kernel": (3, 2), "ceil_mode": False, "count_include_pad": False}),
    "layer_norm": OpCase("layer_norm", [(2, 3, 4), (4,), (4,)], {"axis": -1, "eps": 1e-5}, (1, 2)),
    "rms_norm": OpCase("rms_norm", [(2, 3, 4), (4,)], {"axis": 2, "eps": 1e-5}, (1,)),
    "batch_norm": OpCase("batch_norm", [(2, 3, 4), (4,), (4,), (4,), (4,)], {"axis": 2, "eps": 0.5}, (1, 2, 3, 4)),
    "attention": OpCase("attention", [(2, 3, 5, 8), (2, 1, 7, 8), (2, 1, 7, 8), (5, 7)], {"scale": 0.3, "zero_masked": True}),
    "attention with a row masked whole": OpCase(
        "attention", [(2, 2, 3, 8), (2, 2, 3, 8), (2, 2, 3, 8), MASKED], {"scale": 0.3, "zero_masked": True}
    ),
    "attention with a constant row masked whole": OpCase(
        "attention", [(2, 3, 8), (2, 3, 8), (2, 3, 8), MASKED], {"scale": 0.3, "zero_masked": True}, (3,)
    ),
    "attention with rows of lowest numbers": OpCase(
        "attention",
        [(2, 3, 32), (2, 3, 32), (2, 3, 32), np.where(np.isinf(MASKED), np.finfo(np.float32).min, 0)],
        {"scale": 0.3, "zero_masked": True},
    ),
    "halves": OpCase("rotary_embedding", [(2, 3, 8), (3, 8), (3, 8)], {"interleaved": False}),
    "pairs": OpCase("rotary_embedding", [(2, 3, 8), (3, 8), (3, 8)], {"interleaved": True}),
    "backward": OpCase("slice", [(6, 5)], {"starts": (5, 0), "sizes": (3, 2), "steps": (-2, 3)}),
    "whole backward": OpCase("slice", [(6,)], {"starts": (5,), "sizes": (6,), "steps": (-1,)}),
    "reflected": OpCase("pad", [(4, 5)], {"before": (1, 2), "after": (0, 1), "value": 0.0, "mode": "reflect"}),
    "topk": OpCase("topk", [(3, 6)], {"k": 2, "axis": 1, "largest": False}),
    "no axes": OpCase("reduce_sum", [(3, 4)], {"axes": (), "keepdims": True}),
    "quantize": OpCase("quantize", [np.array([[1, 30, -100, 0.5]], np.float32), np.array(0.5, np.float32), np.array(3, np.uint8)], {}),
    "quantize to wide numbers": OpCase(
        "quantize", [np.array([[1e12, -1e12, 3]], np.float32), np.array(0.5, np.float32), np.array(3, np.int32)], {}
    ),
}
"""Cases that every exporter writes, by what is special about them."""
