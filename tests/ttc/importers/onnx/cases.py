"""Models of one node or a few, imported and run by the reference semantics, against onnx's own reference evaluator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import ArrayLike, NDArray
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from xdsl.dialects.builtin import ModuleOp

from tests.draws import rng_of_test
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.ir.entries import entry_functions, ports
from ttc.dialects.core.ir.to_plain import plain_block
from ttc.dialects.core.ir.verification import verify
from ttc.dialects.core.plain.functions import Work
from ttc.dialects.core.plain.interpret import run
from ttc.dialects.core.plain.weights import WeightStore
from ttc.importers.onnx import import_onnx

Arrays = Mapping[str, NDArray]


def normal(*shape: int) -> NDArray:
    """Seeded normal float32 values."""
    return rng_of_test().standard_normal(shape).astype(np.float32)


def ints(*values: int) -> NDArray:
    return np.array(values, np.int64)


def value_info(name: str, array: NDArray) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def model_of(
    nodes: Sequence[onnx.NodeProto],
    feeds: Arrays,
    outputs: Sequence[str],
    constants: Arrays | None = None,
    opset: int = 18,
    functions: Sequence[onnx.FunctionProto] = (),
    domains: Mapping[str, int] | None = None,
) -> onnx.ModelProto:
    """A model of these nodes: feeds are its inputs, constants its initializers; types of outputs are left open."""
    graph = helper.make_graph(
        nodes,
        "case",
        [value_info(name, array) for name, array in feeds.items()],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()],
    )
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, v) for d, v in (domains or {}).items())]
    return helper.make_model(graph, opset_imports=imports, ir_version=10, functions=functions)


def node_model(
    op: str,
    *operands: NDArray | None,
    opset: int = 18,
    constant: Sequence[int] = (),
    outputs: int = 1,
    **attrs: Any,
) -> tuple[onnx.ModelProto, dict[str, NDArray]]:
    """A model of one node and its feeds; operands whose index is in `constant` are initializers, None is an absent one."""
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(operands)]
    arrays = {name: x for name, x in zip(names, operands, strict=True) if x is not None}
    constants = {f"x{i}": arrays[f"x{i}"] for i in constant}
    feeds = {k: v for k, v in arrays.items() if k not in constants}
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, names, results, name="node", **attrs)
    return model_of([node], feeds, results, constants, opset), feeds


def save(model: onnx.ModelProto, folder: Path) -> Path:
    path = folder / "model.onnx"
    onnx.save(model, path)
    return path


def run_module(module: ModuleOp, weights: WeightStore, feeds: Arrays) -> list[NDArray]:
    """Results of the entry function on inputs by name, in order."""
    verify(module)
    (function,) = entry_functions(module)
    arguments, _ = ports(function)
    plain = plain_block(function.body.block)
    inputs = [format_named(t.format).unpack(feeds[p.name]) for p, t in zip(arguments, plain.inputs, strict=True)]

    def resolve(work: Work) -> NDArray:
        return format_named(work.results[0].format).unpack(weights[str(work.attrs["key"])].value())

    return run(plain, inputs, resolve)


def imported(model: onnx.ModelProto, feeds: Arrays, folder: Path, **options: Any) -> list[NDArray]:
    """Save, import, run."""
    module, weights = import_onnx(save(model, folder), **options)
    return run_module(module, weights, feeds)


def check(model: onnx.ModelProto, feeds: Arrays, folder: Path, *, wanted: Sequence[ArrayLike] | None = None, atol: float = 1e-5) -> None:
    """The imported model gives what onnx's reference evaluator gives (or what is wanted): shapes, dtypes and values."""
    reference = [np.asarray(y) for y in (ReferenceEvaluator(model).run(None, dict(feeds)) if wanted is None else wanted)]
    found = imported(model, feeds, folder)
    assert len(found) == len(reference)
    for y, z in zip(found, reference, strict=True):
        assert y.shape == z.shape
        assert y.dtype == z.dtype
        np.testing.assert_allclose(y, z, rtol=1e-5, atol=atol)


def check_node(folder: Path, op: str, *operands: NDArray | None, atol: float = 1e-5, **options: Any) -> None:
    """`check` for a model of one node; options as `node_model` takes them."""
    model, feeds = node_model(op, *operands, **options)
    check(model, feeds, folder, atol=atol)


def function_proto(
    name: str, inputs: Sequence[str], outputs: Sequence[str], nodes: Sequence[onnx.NodeProto], **options: Any
) -> onnx.FunctionProto:
    """A model-local function of domain `local`, opset 18."""
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("local", 1)]
    return helper.make_function("local", name, list(inputs), list(outputs), list(nodes), imports, **options)
