"""Every rule of StableHLO against the kernels of dialect nn, one op at a time: executed with numpy, and by jax where it is installed."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.ttc.exporters.one_op import CASES, MASKED, WINDOW, OpCase, graph_of_op, inputs_of, reference
from tests.ttc.exporters.stablehlo.interpreter import interpreted
from tests.ttc.exporters.stablehlo.running import run_text
from ttc.exporters.graph import ModelGraph
from ttc.exporters.stablehlo.entry import stablehlo_text
from ttc.exporters.stablehlo.rules import HLO_RULES

JAX = importlib.util.find_spec("jax") is not None
FLOATS = (
    *("abs", "neg", "sign", "exp", "log", "sqrt", "rsqrt", "reciprocal", "floor", "ceil", "round", "sin", "cos", "erf", "sinh", "cosh"),
    *("asin", "acos", "atan", "asinh", "acosh", "atanh", "is_nan", "is_inf", "identity", "stop_gradient"),
    *("tanh", "relu", "softplus", "hard_swish", "sigmoid", "gelu_tanh"),
)
PAIRS = ("add", "sub", "mul", "div", "minimum", "maximum", "pow", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
BITS = ("bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right")
WHOLE = np.array([[3, -4, 5], [6, 1, -2]], np.int32)
SMALL = np.array([[1, 2, 3], [3, 2, 0]], np.int32)
SHIFTS = np.array([[1, -1, 40], [0, 31, 2]], np.int32)
BYTES = np.array([[0, 1, 200], [255, 7, 0]], np.uint8)
TRUTHS = np.array([[True, False, True], [False, False, True]])
SIGNED = np.array([[-2, -0.5, 0], [0.5, 2, 7]], np.float32)
NO_NUMBERS = np.array([[1, np.nan, 3, np.nan], [-np.inf, -np.inf, -np.inf, -np.inf], [np.inf, 2, 2, np.inf]], np.float32)
TIES = np.array([[1, 3, 3, 2, 1], [0, 0, 0, 0, 0]], np.int64)
PLACES = np.array([[-1, 0], [1, -2]], np.int64)
TUPLES = np.array([[[0, -1], [1, 2]], [[1, 0], [-2, 1]]], np.int64)
PRODUCT = {"transpose_a": False, "transpose_b": False}
GROUPS = np.array([1, 0, 5, -1, 1], np.int32)
RESIZE = {
    "scales": (1.0, 1.5, 0.5, 1.0),
    "window": (0.0,) * 4 + (1.0,) * 4,
    **{
        "coordinates": "half_pixel",
        "rounding": "round_prefer_floor",
        "cubic": -0.75,
        "exclude_outside": False,
        "antialias": False,
        "fill": 0.0,
    },
}
RESIZED = [(1, 4, 6, 2)]
SIZES = {"sizes": (1, 6, 3, 2), **RESIZE}
CROPPED = {**SIZES, "coordinates": "tf_crop_and_resize", "window": (0.0, -0.5, 0.0, 0.0, 1.0, 1.0, 0.5, 1.0), "fill": 7.0}
HLO_CASES: dict[str, OpCase] = {
    **CASES,
    **{
        name: OpCase(name, [SIGNED if name not in ("log", "sqrt", "rsqrt", "acosh") else (3, 4)], {})
        for name in FLOATS
        if name[:4] != "atan"
    },
    **{name: OpCase(name, [SIGNED / 8], {}) for name in ("asin", "acos", "atan", "atanh")},
    **{f"{name} of floats": OpCase(name, [(3, 4), (2, 1, 4)], {}) for name in PAIRS},
    **{f"{name} of a number": OpCase(name, [(), (3, 4)], {}, (0,)) for name in ("add", "pow")},
    **{f"{name} of whole numbers": OpCase(name, [WHOLE, SMALL], {}) for name in (*PAIRS, *BITS)},
    **{f"{name} by any width": OpCase(name, [WHOLE, SHIFTS], {}) for name in ("shift_left", "shift_right")},
    **{f"{name} of bytes": OpCase(name, [BYTES, BYTES[:1]], {}) for name in ("add", "div", "shift_left", "shift_right", "less")},
    **{f"{name} of bytes alone": OpCase(name, [BYTES], {}) for name in ("abs", "sign", "relu")},
    **{f"{name} of truth values": OpCase(name, [TRUTHS, TRUTHS[:1]], {}) for name in ("and", "or", "xor", "equal", "less")},
    **{f"{name} of whole numbers alone": OpCase(name, [WHOLE], {}) for name in ("abs", "neg", "sign", "relu")},
    **{f"{name} of no numbers": OpCase(name, [NO_NUMBERS], {}) for name in ("is_nan", "is_inf", "sign", "relu")},
    "not": OpCase("not", [TRUTHS], {}),
    "pow by floats of whole numbers": OpCase("pow", [SMALL, np.array([0.5, 2, 1], np.float32)], {}),
    "mod of whole numbers": OpCase("mod", [WHOLE, SMALL - 1], {"fmod": False}),
    "fmod of whole numbers": OpCase("mod", [WHOLE, SMALL], {"fmod": True}),
    "mod of bytes": OpCase("mod", [BYTES, BYTES[:1]], {"fmod": False}),
    "where": OpCase("where", [TRUTHS, (2, 3), ()], {}),
    "cast to whole numbers": OpCase("cast", [SIGNED], {"dtype": np.dtype(np.int32)}),
    "cast to truth values": OpCase("cast", [SIGNED], {"dtype": np.dtype(np.bool_)}),
    "cast of truth values": OpCase("cast", [TRUTHS], {"dtype": np.dtype(np.float32)}),
    "bitcast": OpCase("bitcast", [SIGNED], {"source": np.dtype(np.float32), "dtype": np.dtype(np.int32)}),
    "gelu": OpCase("gelu", [SIGNED], {"approximate": "none"}),
    "leaky_relu": OpCase("leaky_relu", [SIGNED], {"alpha": 0.1}),
    "elu": OpCase("elu", [SIGNED], {"alpha": 0.5}),
    "hard_sigmoid": OpCase("hard_sigmoid", [SIGNED], {"alpha": 0.3, "beta": 0.5}),
    "softmax": OpCase("softmax", [(2, 3, 4)], {"axis": 1}),
    "softmax of what is masked": OpCase("softmax", [MASKED], {"axis": 1}),
    "log_softmax": OpCase("log_softmax", [(3, 4)], {"axis": -1}),
    "linear": OpCase("matmul", [(2, 3, 4), (4, 5), (5,)], {**PRODUCT, "activation": "hard_swish"}, (1, 2)),
    "products that broadcast": OpCase("matmul", [(2, 1, 2, 3), (5, 3, 4)], PRODUCT),
    "a matrix and several": OpCase("matmul", [(3, 2), (2, 4, 3)], {"transpose_a": True, "transpose_b": True}),
    "products of bytes": OpCase("matmul", [WHOLE.astype(np.int8) * 30, SMALL.T.astype(np.int8)], PRODUCT),
    "grouped_matmul": OpCase("grouped_matmul", [(5, 3), (2, 3, 4), GROUPS], {"transpose_w": False}),
    "grouped_matmul by rows": OpCase("grouped_matmul", [(5, 3), (2, 4, 3), GROUPS], {"transpose_w": True}),
    "pairs": OpCase("rotary_embedding", [(2, 3, 8), (3, 8), (3, 8)], {"interleaved": True}),
    "attention of a query that is no number": OpCase(
        "attention", [np.full((2, 3, 8), np.nan, np.float32), (2, 3, 8), (2, 3, 8), MASKED], {"scale": 0.3, "zero_masked": True}
    ),
    "attention that masks whole rows": OpCase("attention", [(2, 3, 8), (2, 3, 8), (2, 3, 8), MASKED], {"scale": 0.3, "zero_masked": False}),
    "layer_norm of two dimensions": OpCase("layer_norm", [(2, 3, 4), (3, 4), (4,)], {"axis": 1, "eps": 1e-5}),
    "convolution with channels first": OpCase(
        "conv2d", [(2, 4, 7, 6), (6, 2, 3, 2), (6,)], {**WINDOW, "dilations": (2, 1), "layout": "nchw", "groups": 2}
    ),
    "transposed in groups": OpCase(
        "conv_transpose2d", [(1, 5, 4, 4), (3, 2, 3, 4), (6,)], {**WINDOW, "dilations": (1, 2), "groups": 2, "output_padding": (1, 0)}
    ),
    "transposed in groups with channels first": OpCase(
        "conv_transpose2d", [(1, 4, 5, 4), (4, 3, 3, 2)], {**WINDOW, "layout": "nchw", "groups": 2, "output_padding": (0, 1)}
    ),
    "transposed and cut": OpCase(
        "conv_transpose2d", [(1, 5, 4, 2), (2, 2, 3, 2)], {**WINDOW, "pads": (3, 0, 2, 1), "groups": 1, "output_padding": (0, 0)}
    ),
    **{
        f"{name} {layout} {ceil}": OpCase(
            name,
            [(2, 8, 9, 3)],
            {
                **WINDOW,
                "kernel": (3, 2),
                "ceil_mode": ceil,
                "layout": layout,
                **({"count_include_pad": ceil} if name == "avg_pool2d" else {}),
            },
        )
        for name in ("max_pool2d", "avg_pool2d")
        for layout in ("nhwc", "nchw")
        for ceil in (False, True)
    },
    "pool with gaps": OpCase("max_pool2d", [(1, 8, 9, 3)], {**WINDOW, "kernel": (2, 3), "dilations": (2, 2), "ceil_mode": False}),
    "pool of whole numbers": OpCase("max_pool2d", [TIES.reshape(1, 2, 5, 1)], {**WINDOW, "kernel": (2, 2), "ceil_mode": False}),
    **{
        f"{name} {keepdims}": OpCase(name, [(2, 3, 4)], {"axes": (0, -1), "keepdims": keepdims})
        for name in ("reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod")
        for keepdims in (True, False)
    },
    **{
        f"{name} of several": OpCase(name, [WHOLE], {"axes": (0,), "keepdims": True})
        for name in ("reduce_max", "reduce_min", "reduce_mean")
    },
    **{f"{name} of truths": OpCase(name, [TRUTHS], {"axes": (1,), "keepdims": False}) for name in ("reduce_max", "reduce_min")},
    "reduce_max of nothing": OpCase("reduce_max", [(2, 0)], {"axes": (1,), "keepdims": False}),
    **{
        f"{name} {last} {kind}": OpCase(name, [values], {"axis": 1, "keepdims": last, "select_last": last})
        for name in ("argmax", "argmin")
        for last in (False, True)
        for kind, values in (("floats", (3, 4)), ("no numbers", NO_NUMBERS), ("ties", TIES))
    },
    **{
        f"{name} {exclusive} {backward}": OpCase(name, [(3, 4)], {"axis": -1, "exclusive": exclusive, "reverse": backward})
        for name in ("cumsum", "cumprod")
        for exclusive in (False, True)
        for backward in (False, True)
    },
    **{
        f"topk {largest} {kind}": OpCase("topk", [values], {"k": 3, "axis": 1, "largest": largest})
        for largest in (False, True)
        for kind, values in (("floats", (3, 4)), ("no numbers", NO_NUMBERS), ("ties", TIES))
    },
    "topk of columns": OpCase("topk", [(4, 2)], {"k": 1, "axis": 0, "largest": True}),
    "reverse_sequence": OpCase("reverse_sequence", [(4, 3, 2), np.array([4, 0, 3], np.int64)], {"time_axis": 0, "batch_axis": 1}),
    "reverse_sequence by rows": OpCase("reverse_sequence", [(2, 4), np.array([1, 3], np.int32)], {"time_axis": 1, "batch_axis": 0}),
    **{f"gather {axis}": OpCase("gather", [(3, 4, 2), PLACES], {"axis": axis}) for axis in (0, 1, -1)},
    "gather at known places": OpCase("gather", [(3, 4), PLACES], {"axis": 1}, (1,)),
    "gather at one place": OpCase("gather", [(3, 4), np.array(2, np.int32)], {"axis": 0}, (1,)),
    "gather_elements": OpCase("gather_elements", [(3, 3), PLACES], {"axis": 1}),
    "gather_nd": OpCase("gather_nd", [(2, 3, 4), TUPLES], {"batch_dims": 0}),
    "gather_nd by batches": OpCase("gather_nd", [(2, 2, 3, 4), TUPLES], {"batch_dims": 1}),
    **{
        f"scatter_elements {reduction}": OpCase("scatter_elements", [(3, 3), PLACES, (2, 2)], {"axis": 0, "reduction": reduction})
        for reduction in ("none", "add", "mul", "max", "min")
    },
    **{
        f"scatter_nd {reduction}": OpCase("scatter_nd", [(2, 3, 4), TUPLES, (2, 2, 4)], {"reduction": reduction})
        for reduction in ("none", "add")
    },
    "dequantize": OpCase("dequantize", [WHOLE.astype(np.int8), np.array(0.5, np.float32), np.array(-128, np.int8)], {}),
    "quantize what is no number": OpCase("quantize", [NO_NUMBERS, np.array(0.5, np.float32), np.array(3, np.int8)], {}),
    "shape": OpCase("shape", [(2, 3)], {}),
    **{
        f"margins {mode}": OpCase("pad", [(4, 5)], {"before": (1, 0), "after": (2, 3), "value": 0.5, "mode": mode})
        for mode in ("constant", "reflect", "edge", "wrap")
    },
    "reshape": OpCase("reshape", [(2, 3)], {"shape": (3, 2)}),
    "transpose": OpCase("transpose", [(2, 3, 4)], {"perm": (1, 2, 0)}),
    "expand": OpCase("expand", [(2, 1)], {"shape": (4, 2, 3)}),
    "repeat": OpCase("repeat", [(2, 3)], {"repeats": (2, 3)}),
    "split": OpCase("split", [(2, 4)], {"axis": -1, "sizes": (1, 0, 3)}),
    "concat": OpCase("concat", [(2, 3), (2, 1)], {"axis": 1}),
    "nothing of a dimension": OpCase("slice", [(2, 3)], {"starts": (0, 3), "sizes": (2, 0), "steps": (1, 1)}),
    **{f"resize {mode}": OpCase("resize", RESIZED, {**SIZES, "mode": mode}) for mode in ("nearest", "linear", "cubic")},
    **{f"resize a window {mode}": OpCase("resize", RESIZED, {**CROPPED, "mode": mode}) for mode in ("nearest", "linear")},
}


def agree(found: list[NDArray], graph: ModelGraph, inputs: dict[str, NDArray]) -> None:
    """Raises AssertionError unless results are those of the kernels of dialect nn."""
    for value, wanted in zip(found, reference(graph, inputs), strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-5, strict=True)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("case", HLO_CASES)
def test_single_ops(rng: np.random.Generator, case: str) -> None:
    chosen = HLO_CASES[case]
    arrays = chosen.arrays(rng)
    graph = graph_of_op(chosen.op, arrays, chosen.attrs, chosen.constants)
    inputs, text = inputs_of(graph, arrays), stablehlo_text(graph)
    agree(interpreted(text, list(inputs.values())), graph, inputs)
    if JAX:
        agree(run_text(text, list(inputs.values())), graph, inputs)


def test_every_rule_has_a_case() -> None:
    assert HLO_RULES.rules().keys() - {case.op for case in HLO_CASES.values()} == set()
