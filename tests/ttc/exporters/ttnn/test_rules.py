"""Every rule of TT-NN and of the host against the kernels of dialect nn, one op at a time, on the stand-in for TT-NN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

torch: Any = pytest.importorskip("torch", reason="exported modules compute on the host by PyTorch")

from tests.ttc.exporters.one_op import CASES, MASKED, WINDOW, OpCase, graph_of_op, graph_of_text, inputs_of, reference  # noqa: E402
from tests.ttc.exporters.ttnn.running import run_module  # noqa: E402 - it needs torch
from ttc.dialects.core.errors import Error  # noqa: E402
from ttc.dialects.core.rule_tables import RuleTable  # noqa: E402
from ttc.exporters.graph import ModelGraph, dtype_of  # noqa: E402
from ttc.exporters.ttnn import emitter  # noqa: E402
from ttc.exporters.ttnn.export import export  # noqa: E402
from ttc.exporters.ttnn.host import HOST_RULES  # noqa: E402
from ttc.exporters.ttnn.rules import RULES  # noqa: E402

FLOATS = (
    *("abs", "neg", "sign", "exp", "log", "sqrt", "rsqrt", "reciprocal", "floor", "ceil", "round", "sin", "cos", "erf", "sinh", "cosh"),
    *("asin", "acos", "atan", "asinh", "acosh", "atanh", "is_nan", "is_inf", "identity", "stop_gradient"),
    *("tanh", "relu", "softplus", "hard_swish", "sigmoid", "gelu_tanh"),
)
PAIRS = ("add", "sub", "mul", "div", "minimum", "maximum", "pow", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
WHOLE_PAIRS = (*PAIRS, "bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right")
TRUTHS = np.array([[True, False, True], [False, False, True]])
WHOLE = np.array([[3, -4, 5], [6, 1, -2]], np.int32)
SMALL = np.array([[1, 2, 3], [3, 2, 1]], np.int32)
PLACES = np.array([[-1, 0], [1, -2]], np.int64)
ENDS = np.array([np.nan, np.inf, -np.inf, 1], np.float32)
ONE = np.full((1, 1, 1), 2, np.float32)
"""A number of more dimensions than the matrices that it meets."""
PRODUCT = {"transpose_a": False, "transpose_b": False}
SCAN = {"axis": -1, "exclusive": False, "reverse": False}
PLACE = {"axis": 1, "keepdims": True, "select_last": False}
LINES = np.array([[[0, 1], [0, 1]], [[1, -1], [-1, 3]]], np.int64)
RULE_CASES: dict[str, OpCase] = {
    **{name: OpCase(name, [(3, 4)], {}) for name in FLOATS},
    **{f"{name} of a vector": OpCase(name, [(5,)], {}) for name in ("exp", "relu")},
    **{f"{name} of a number": OpCase(name, [()], {}) for name in ("exp", "identity")},
    **{name: OpCase(name, [(3, 4), (2, 1, 4)], {}) for name in PAIRS},
    **{f"{name} and a number": OpCase(name, [(3, 4), ()], {}, (1,)) for name in (*PAIRS, "mod") if name != "mod"},
    **{f"a number {name}": OpCase(name, [(), (3, 4)], {}, (0,)) for name in PAIRS},
    **{f"{name} of whole numbers": OpCase(name, [WHOLE, SMALL], {}) for name in WHOLE_PAIRS},
    **{f"{name} of truth values": OpCase(name, [TRUTHS, TRUTHS[:1]], {}) for name in ("and", "or", "xor", "equal", "less")},
    **{f"{name} of whole numbers alone": OpCase(name, [WHOLE], {}) for name in ("abs", "neg", "sign", "relu", "identity", "stop_gradient")},
    **{f"{name} of no numbers": OpCase(name, [ENDS], {}) for name in ("is_nan", "is_inf")},
    **{f"{name} of truth values on the device": OpCase(name, [TRUTHS, TRUTHS[:1]], {}, (0, 1)) for name in ("and", "or", "xor")},
    **{f"{name} on the device": OpCase(name, [TRUTHS], {}, (0,)) for name in ("not", "identity", "stop_gradient")},
    **{f"{name} on the device": OpCase(name, [(3, 4), (2, 1, 4)], {}, (0, 1)) for name in PAIRS},
    **{f"{name} on the device": OpCase(name, [ENDS], {}, (0,)) for name in ("is_nan", "is_inf")},
    "not": OpCase("not", [TRUTHS], {}),
    "scatter_nd": OpCase("scatter_nd", [(2, 5, 3, 4), LINES, (2, 2, 3, 4)], {"reduction": "none"}),
    "mod with a number": OpCase("mod", [(3, 4), ()], {"fmod": False}, (1,)),
    "mod of whole numbers": OpCase("mod", [WHOLE, SMALL], {"fmod": False}),
    "fmod of whole numbers": OpCase("mod", [WHOLE, SMALL], {"fmod": True}),
    "a constant of more dimensions": OpCase("add", [(2, 3), ONE], {}, (1,)),
    "a vector and a constant of more dimensions": OpCase("sub", [ONE, (3,)], {}, (0,)),
    "where on the device": OpCase("where", [TRUTHS, (2, 3), ()], {}, (0, 1, 2)),
    "where": OpCase("where", [TRUTHS, (2, 3), ()], {}, (2,)),
    "where with constants of more dimensions": OpCase("where", [TRUTHS, ONE, np.array(3, np.float32)], {}, (1, 2)),
    "where of whole numbers": OpCase("where", [TRUTHS, WHOLE, SMALL], {}),
    "cast to whole numbers": OpCase("cast", [(3, 4)], {"dtype": np.dtype(np.int32)}),
    "cast of truth values on the device": OpCase("cast", [TRUTHS], {"dtype": np.dtype(np.float32)}, (0,)),
    "cast to truth values on the device": OpCase("cast", [np.eye(3, dtype=np.float32)], {"dtype": np.dtype(np.bool_)}, (0,)),
    "cast to half": OpCase("cast", [(3, 4)], {"dtype": np.dtype(np.float16)}),
    "cast to truth values": OpCase("cast", [WHOLE], {"dtype": np.dtype(np.bool_)}),
    "leaky_relu": OpCase("leaky_relu", [(3, 4)], {"alpha": 0.1}),
    "elu": OpCase("elu", [(3, 4)], {"alpha": 0.5}),
    "hard_sigmoid": OpCase("hard_sigmoid", [(3, 4)], {"alpha": 0.3, "beta": 0.5}),
    "relu6": OpCase("clip", [(3, 4)], {"min": 0.0, "max": 6.0}),
    "softmax": OpCase("softmax", [(2, 3, 4)], {"axis": 1}),
    "log_softmax": OpCase("log_softmax", [(3, 4)], {"axis": -1}),
    "linear": OpCase("matmul", [(2, 3, 4), (4, 5), (5,)], {**PRODUCT, "activation": "relu"}, (1, 2)),
    "linear with a weight of more dimensions": OpCase("matmul", [(2, 3), (1, 3, 4)], PRODUCT, (1,)),
    "linear with a bias that is no row": OpCase("matmul", [(2, 3), (3, 4), (2, 1)], {**PRODUCT, "activation": "tanh"}, (1,)),
    "products that broadcast": OpCase("matmul", [(2, 1, 2, 3), (5, 3, 4)], PRODUCT),
    "a matrix and a product of more dimensions": OpCase("matmul", [(2, 3), (1, 1, 3, 4)], PRODUCT),
    "products of whole numbers": OpCase("matmul", [(2, 3), (3, 4)], {**PRODUCT, "transpose_a": False}),
    "layer_norm of two dimensions": OpCase("layer_norm", [(2, 3, 4), (3, 4), (4,)], {"axis": 1, "eps": 1e-5}, (1, 2)),
    "max_pool2d": OpCase("max_pool2d", [(2, 8, 9, 3)], {**WINDOW, "kernel": (3, 2), "ceil_mode": False}),
    "attention of wider values": OpCase("attention", [(2, 2, 3, 16), (2, 2, 5, 16), (2, 2, 5, 40)], {"scale": 0.3, "zero_masked": False}),
    "attention with a mask for each batch": OpCase(
        "attention", [*[(2, 2, 3, 32)] * 3, np.stack([MASKED[None], MASKED[None, ::-1]])], {"scale": 0.3, "zero_masked": True}
    ),
    "sum of whole numbers": OpCase("reduce_sum", [WHOLE], {"axes": (1,), "keepdims": False}),
    "sum of no axes": OpCase("reduce_sum", [WHOLE], {"axes": (), "keepdims": False}),
    **{
        f"{name} {keepdims}": OpCase(name, [(2, 3, 4)], {"axes": (0, 2), "keepdims": keepdims})
        for name in ("reduce_sum", "reduce_mean", "reduce_max", "reduce_min")
        for keepdims in (True, False)
    },
    **{f"{name} of whole numbers": OpCase(name, [WHOLE], {"axes": (0,), "keepdims": True}) for name in ("reduce_max", "reduce_min")},
    "reduce_prod": OpCase("reduce_prod", [(3, 4)], {"axes": (1,), "keepdims": True}),
    "reduce_prod on the host": OpCase("reduce_prod", [(3, 4)], {"axes": (1,), "keepdims": False}),
    "argmax": OpCase("argmax", [(3, 4)], PLACE),
    "argmin": OpCase("argmin", [(3, 4)], {**PLACE, "keepdims": False}),
    "cumsum": OpCase("cumsum", [(3, 4)], SCAN),
    "cumprod": OpCase("cumprod", [(3, 4)], SCAN),
    "cumsum backward": OpCase("cumsum", [(3, 4)], {**SCAN, "reverse": True}),
    "cumprod of whole numbers": OpCase("cumprod", [SMALL], SCAN),
    "topk": OpCase("topk", [WHOLE], {"k": 2, "axis": 1, "largest": True}),
    "gather of rows": OpCase("gather", [WHOLE.astype(np.float32), PLACES], {"axis": 0}, (0,)),
    "gather of rows by a vector": OpCase("gather", [WHOLE.astype(np.float32), PLACES[0]], {"axis": 0}, (0,)),
    "gather on the host": OpCase("gather", [WHOLE, PLACES], {"axis": 1}),
    "gather_elements": OpCase("gather_elements", [(2, 3), PLACES], {"axis": 1}),
    "gather_nd": OpCase("gather_nd", [(2, 3), np.array([[1, -1], [0, 2]], np.int64)], {"batch_dims": 0}),
    "scatter_elements": OpCase("scatter_elements", [(2, 3), PLACES, (2, 2)], {"axis": 1, "reduction": "none"}),
    "scatter_elements that adds": OpCase("scatter_elements", [(2, 3), PLACES, (2, 2)], {"axis": 1, "reduction": "add"}),
    "dequantize": OpCase("dequantize", [WHOLE.astype(np.int8), np.array(0.5, np.float32), np.array(3, np.int8)], {}),
    "shape": OpCase("shape", [(2, 3)], {}),
    "shape of a number": OpCase("shape", [()], {}),
    "constant margins": OpCase("pad", [(4, 5)], {"before": (1, 0), "after": (0, 2), "value": 0.5, "mode": "constant"}),
    "margins of whole numbers": OpCase("pad", [WHOLE], {"before": (1, 0), "after": (0, 2), "value": 2.0, "mode": "constant"}),
    "margins of the edge": OpCase("pad", [(4, 5)], {"before": (0, 2), "after": (0, 1), "value": 0.0, "mode": "edge"}),
    "expand to nothing": OpCase("expand", [(1, 2)], {"shape": (0, 2)}, (0,)),
    "pieces of which one is empty": OpCase("split", [(3, 2)], {"axis": 0, "sizes": (0, 3)}, (0,)),
    **{
        f"{name}{kind}": OpCase(name, operands, attrs, constants)
        for name, shapes, attrs in (
            ("reshape", [(2, 3)], {"shape": (3, 2)}),
            ("transpose", [(2, 3)], {"perm": (1, 0)}),
            ("expand", [(2, 1)], {"shape": (4, 2, 3)}),
            ("repeat", [(2, 3)], {"repeats": (2, 1)}),
            ("slice", [(2, 3)], {"starts": (0, 1), "sizes": (2, 1), "steps": (1, 2)}),
            ("split", [(2, 3)], {"axis": 1, "sizes": (1, 2)}),
            ("concat", [(2, 3), (2, 1)], {"axis": 1}),
        )
        for kind, operands, constants in (
            ("", shapes, ()),
            (" of constants", shapes, tuple(range(len(shapes)))),
            (" of whole numbers", [np.arange(np.prod(shape), dtype=np.int64).reshape(shape) for shape in shapes], ()),
        )
    },
}


def check(graph: ModelGraph, inputs: dict[str, NDArray]) -> str:
    """The exported program gives what the kernels give, in its dtypes; returns its text."""
    files = export(graph, "Float32")
    found = run_module(files, {name: torch.from_numpy(value.copy()) for name, value in inputs.items()})
    kinds = [graph.function.value_types[number] for number in graph.function.outputs]
    for value, wanted, kind in zip(found.values(), reference(graph, inputs), kinds, strict=True):
        assert str(value.dtype) == f"torch.{dtype_of(kind)}"
        np.testing.assert_allclose(value.numpy(), wanted.astype(dtype_of(kind)), rtol=1e-5, atol=1e-5, strict=True)
    return files["model.py"].decode()


@pytest.mark.parametrize("case", [*CASES, *RULE_CASES])
def test_single_ops(rng: np.random.Generator, case: str) -> None:
    chosen = (CASES | RULE_CASES)[case]
    arrays = chosen.arrays(rng)
    graph = graph_of_op(chosen.op, arrays, chosen.attrs, chosen.constants)
    check(graph, inputs_of(graph, arrays))


@pytest.mark.parametrize("table", [RULES, HOST_RULES], ids=["device", "host"])
def test_every_rule_has_a_case(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, table: RuleTable[Any]) -> None:
    written: set[str] = set()

    def noting(name: str, rule: Callable[[Any], None]) -> Callable[[Any], None]:
        def noted(step: Any) -> None:
            rule(step)
            written.add(name)

        return noted

    for name, rule in list(table.rules().items()):
        monkeypatch.setitem(table.rules(), name, noting(name, rule))
    for case in (CASES | RULE_CASES).values():
        export(graph_of_op(case.op, case.arrays(rng), case.attrs, case.constants))
    for op in OF_COUNTS:
        export(of_counts(op))
    assert sorted(set(table.rules()) - written) == []


def program(results: str, *lines: str) -> ModelGraph:
    """A program of inputs x0 (3 x 8), x1 (3 x 3) and x2 (1 x 8); types of results, and its lines, of which the last is the first result."""
    return graph_of_text(f"""builtin.module {{
  func.func @main(%x0: tensor<3x8xf32>, %x1: tensor<3x3xf32>, %x2: tensor<1x8xi64>) -> ({results}) {{
    {chr(10).join(lines)}
    func.return %y : {results}
  }}
}}""")


DRAWN: dict[str, Callable[[np.random.Generator], NDArray]] = {
    "x0": lambda rng: rng.random((3, 8), np.float32),
    "x1": lambda rng: -MASKED,
    "x2": lambda rng: rng.integers(-3, 3, (1, 8)),
}


OF_COUNTS = ("sin", "cos", "exp", "log", "sqrt", "rsqrt", "reciprocal")


def of_counts(op: str) -> ModelGraph:
    """A program that computes with large whole numbers."""
    return program(
        "tensor<1x8xf32>",
        "%k = ttc.constant() {value = #ttc.literal<[4097], tensor<i64>>} : () -> tensor<i64>",
        "%a = nn.add(%x2, %k) : (tensor<1x8xi64>, tensor<i64>) -> tensor<1x8xi64>",
        "%u = nn.cast(%a) {dtype = f32} : (tensor<1x8xi64>) -> tensor<1x8xf32>",
        f"%y = nn.{op}(%u) : (tensor<1x8xf32>) -> tensor<1x8xf32>",
    )


@pytest.mark.parametrize("op", OF_COUNTS)
def test_what_is_made_of_whole_numbers_keeps_them_apart(rng: np.random.Generator, op: str) -> None:
    graph, inputs = of_counts(op), {name: draw(rng) for name, draw in DRAWN.items()}
    (found,) = run_module(export(graph), {name: torch.from_numpy(value) for name, value in inputs.items()}).values()
    (wanted,) = reference(graph, inputs)  # in 16 bits, 4094 to 4099 would be one number
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-6, strict=True)


def test_masks_that_the_device_computes(rng: np.random.Generator) -> None:
    graph = program(
        "tensor<3x8xf32>",
        "%m = nn.neg(%x1) : (tensor<3x3xf32>) -> tensor<3x3xf32>",
        "%y = nn.attention(%x0, %x0, %x0, %m) {scale = 0.3, zero_masked = true}"
        " : (tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x3xf32>) -> tensor<3x8xf32>",
    )
    text = check(graph, {name: draw(rng) for name, draw in DRAWN.items()})
    assert "ttnn.isinf(" in text


def test_what_the_host_reads_of_the_device_has_the_program_s_dtype(rng: np.random.Generator) -> None:
    graph = program(
        "tensor<3x8xf32>",
        "%a = nn.exp(%x0) : (tensor<3x8xf32>) -> tensor<3x8xf32>",
        "%u = nn.cast(%x2) {dtype = f32} : (tensor<1x8xi64>) -> tensor<1x8xf32>",
        '%y = nn.scatter_elements(%a, %x2, %u) {axis = 0, reduction = "add"}'
        " : (tensor<3x8xf32>, tensor<1x8xi64>, tensor<1x8xf32>) -> tensor<3x8xf32>",
    )
    inputs = {name: draw(rng) for name, draw in DRAWN.items()}
    check(graph, inputs)
    files = export(graph)
    (found,) = run_module(files, {name: torch.from_numpy(value) for name, value in inputs.items()}).values()
    assert found.dtype == torch.float32


def test_large_tensors_on_the_way_are_let_go(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emitter, "FREED_BYTES", 1)
    graph = graph_of_op("log_softmax", [rng.random((3, 4), np.float32)], {"axis": -1})
    text = check(graph, {"x0": rng.random((3, 4), np.float32)})
    assert "    del largest, shifted, exp, total, log, sent\n" in text


@pytest.mark.parametrize("op", ["add", "less", "mod", "gather", "reduce_sum", "argmax", "cumsum", "clip"])
def test_what_torch_does_not_compute_with_is_refused(op: str) -> None:
    wide = np.ones((2, 3), np.uint32)
    operands, attrs = {
        "mod": ([wide, wide], {"fmod": False}),
        "gather": ([wide, PLACES], {"axis": 0}),
        "reduce_sum": ([wide], {"axes": (0,), "keepdims": True}),
        "argmax": ([wide], PLACE),
        "cumsum": ([wide], SCAN),
        "clip": ([wide], {"max": 2.0}),
    }.get(op, ([wide, wide], {}))
    with pytest.raises(Error, match="torch does not compute with uint32") as caught:
        export(graph_of_op(op, operands, attrs))
    assert caught.value.code == "E0503"


@pytest.mark.parametrize(("size", "overrides"), [(512, 1), (128, 0)])
def test_convolutions_of_many_pixels_have_low_blocks(rng: np.random.Generator, size: int, overrides: int) -> None:
    arrays = [rng.standard_normal(shape, np.float32) for shape in ((1, size, size, 2), (3, 3, 2, 2))]
    attrs = {"strides": (1, 1), "pads": (1, 1, 1, 1), "dilations": (1, 1), "layout": "nhwc", "groups": 1}
    graph = graph_of_op("conv2d", arrays, attrs, (1,))
    files = export(graph, "Float32")
    assert files["model.py"].decode().count("act_block_h_override=32") == overrides
    inputs = inputs_of(graph, arrays)
    (found,) = run_module(files, {name: torch.from_numpy(value) for name, value in inputs.items()}).values()
    (wanted,) = reference(graph, inputs)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-3, atol=1e-4)
