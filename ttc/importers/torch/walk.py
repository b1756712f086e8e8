"""From a graph of torch.fx to dialect nn: each node by its mapping; sizes are numbers, as all shapes are static."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import fx

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.spec import DYNAMIC
from ttc.dialects.core.ir.values import SSAValue, VerifyException
from ttc.importers.common.unsupported import REFUSED, Refused, Unsupported
from ttc.importers.torch.arguments import bind
from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.complexes import ComplexTensor, complex_row, holds_complex
from ttc.importers.torch.decompositions import overload_name
from ttc.importers.torch.dtypes import COMPLEX_DTYPES, DTYPES, dtype_of
from ttc.importers.torch.places import sources_of
from ttc.importers.torch.tables import rows
from ttc.importers.torch.values import DataNumber, Value, holds_refused
from ttc.importers.torch.weights import weight_of

MAX_DEPTH = 64
"""The most subgraphs nested in each other."""
MAX_INNER = 1 << 18
"""The most nodes of subgraphs, each counted as often as it is mapped."""
_PLAIN_MODULES = ("_operator", "math")
_SYMBOLIC = frozenset(
    getattr(torch, f"sym_{name}") for name in ("float", "int", "ite", "max", "min", "not", "sum", "sqrt") if hasattr(torch, f"sym_{name}")
)
SIZES: Mapping[str, Callable[..., Any]] = {
    "aten.sym_size.int": lambda shape, dim: shape[dim],
    "aten.sym_size.default": lambda shape: shape,
    "aten.sym_numel.default": math.prod,
    "aten.sym_stride.int": lambda shape, dim: math.prod(shape[dim % len(shape) + 1 :]),
    "aten.sym_stride.default": lambda shape: tuple(math.prod(shape[i + 1 :]) for i in range(len(shape))),
    "aten.sym_storage_offset.default": lambda shape: 0,
}
CHECKS = frozenset(
    (
        *("aten._assert_scalar.default", "aten._assert_tensor_metadata.default", "aten._assert_async.msg", "aten._assert_async.default"),
        *("aten.sym_constrain_range_for_size.default", "aten.sym_constrain_range.default"),
    )
)
"""Ops that check what tracing assumed, and compute nothing."""


_SCALARS = frozenset(("aten.item.default", "aten._local_scalar_dense.default"))
"""Ops that make a number of a tensor: the number where it is known, else the tensor without dimensions."""
_MAPPED_HERE = CHECKS | _SCALARS | SIZES.keys()


class TorchWalker:
    """Maps the nodes of a graph in order; refused ones go to the misses of the builder."""

    def __init__(self, builder: TorchBuilder) -> None:
        self.builder = builder
        self._inner = 0

    def walk(self, module: fx.GraphModule, arguments: Sequence[Value], caller: str = "", depth: int = 0) -> Value:
        """Return what the graph returns, as it nests its outputs.  Raises E0203, E04xx at the node."""
        if depth > MAX_DEPTH:
            raise Error("E0203", f"subgraphs are nested more than {MAX_DEPTH} deep", where=caller)
        self._inner += len(module.graph.nodes) if depth else 0
        if self._inner > MAX_INNER:
            raise Error("E0203", f"more than {MAX_INNER} nodes once loops and branches are written out", where=caller)
        values: dict[fx.Node, Value] = {}
        given = iter(arguments)
        passed_over = _for_checks(module.graph)
        for node in module.graph.nodes:
            if node.op == "output":
                return self._plain(node.args[0], values)
            if node in passed_over:
                values[node] = None
                continue
            if node.op == "placeholder":
                values[node] = next(given, REFUSED)
                continue
            name = f"{caller}/{node.name}" if caller else node.name
            try:
                values[node] = self._node(node, values, module, name, depth)
            except Unsupported as reason:
                values[node] = self._miss(node, str(reason), name)
            except Error as error:
                raise error.at(name) from None
            except (VerifyException, OverflowError) as error:
                raise Error("E0203", f"a number of {node.target} is out of range: {error}", where=name) from error
        return None

    def _miss(self, node: fx.Node, why: str, name: str) -> Value:
        domain, _, op = overload_name(node.target).partition(".")
        self.builder.misses.add(op or domain, domain if op else node.op, why, name)
        return REFUSED

    def _plain(self, argument: Any, values: Mapping[fx.Node, Value]) -> Value:
        """Return an argument of a node: nodes by their values, lists as tuples, dtypes as numpy's."""
        if isinstance(argument, fx.Node):
            return values[argument]
        if isinstance(argument, list | tuple):
            return tuple(self._plain(a, values) for a in argument)
        if isinstance(argument, dict):
            return {key: self._plain(a, values) for key, a in argument.items()}
        if isinstance(argument, slice):
            return slice(*(self._plain(a, values) for a in (argument.start, argument.stop, argument.step)))
        if isinstance(argument, torch.dtype):
            return COMPLEX_DTYPES[argument] if argument in COMPLEX_DTYPES else dtype_of(argument)
        return argument

    def _node(self, node: fx.Node, values: Mapping[fx.Node, Value], module: fx.GraphModule, name: str, depth: int) -> Value:
        if node.op == "get_attr":
            return self._attribute(module, str(node.target), name, depth)
        if node.op != "call_function":
            raise Unsupported(f"{node.op} is not of exported graphs")
        args, kwargs = self._plain(tuple(node.args), values), self._plain(dict(node.kwargs), values)
        if node.target is operator.getitem:
            return self._item(node, args, name)
        if holds_refused(args) or holds_refused(tuple(kwargs.values())):
            apply = rows().get(overload_name(node.target))
            known = apply is not None or not isinstance(node.target, torch._ops.OpOverload) or str(node.target) in _MAPPED_HERE
            return REFUSED if known else self._miss(node, "no mapping", name)
        if isinstance(node.target, torch._ops.OpOverload | torch._ops.HigherOrderOperator):
            return self._op(node, args, kwargs, name)
        return self._number(node, args, kwargs)

    def _attribute(self, module: fx.GraphModule, target: str, name: str, depth: int) -> Value:
        """Return a subgraph as a function of its operands, or a tensor that tracing found."""
        found: Any = module
        for part in target.split("."):
            found = getattr(found, part)
        if isinstance(found, fx.GraphModule):
            return lambda *operands: self.walk(found, operands, name, depth + 1)
        if not isinstance(found, torch.Tensor):
            raise Unsupported(f"an attribute of type {type(found).__name__}")
        self.builder.enter(name)
        return self.builder.constant(weight_of(found, target).value())

    def _item(self, node: fx.Node, args: tuple[Value, ...], name: str) -> Value:
        container, index = args
        if isinstance(container, Refused):
            return REFUSED
        if isinstance(container, SSAValue) and index == 0:
            return container
        if isinstance(container, dict):
            return container.get(index)
        if not isinstance(container, tuple) or type(index) is not int:
            raise Unsupported(f"an element of a {type(container).__name__}")
        found = container[index] if index < len(container) else None
        source = node.args[0]
        if found is None and isinstance(source, fx.Node) and _meta(node) is not None:
            return self._miss(source, f"its output {index} is not supported", name)
        return found

    def _number(self, node: fx.Node, args: tuple[Value, ...], kwargs: Mapping[str, Value]) -> Value:
        """Compute with sizes, as a graph's nodes of Python arithmetic do."""
        function: Any = node.target
        if getattr(function, "__module__", "") not in _PLAIN_MODULES and function not in _SYMBOLIC:
            raise Unsupported("a function of Python")
        args = tuple(self._static(a) for a in args)
        if kwargs or not all(isinstance(a, bool | int | float | SSAValue | DataNumber) for a in args):
            raise Unsupported("arithmetic of something else than numbers")
        return DataNumber(function, args) if any(isinstance(a, SSAValue | DataNumber) for a in args) else _computed(function, args)

    def _static(self, value: Value, needed: str = "") -> Value:
        """The number that an nn value is known to hold.

        needed: what it is, if it must be known; else the value itself is given where it is not.
        """
        if isinstance(value, DataNumber) and needed:
            return _computed(value.function, tuple(self._static(a, needed) for a in value.args))
        if not isinstance(value, SSAValue) or self.builder.spec(value).elements != 1:
            return value
        known = self.builder.need(value, needed) if needed else self.builder.known(value)
        return value if known is None else known.ravel()[0].item()

    def _size(self, overload: str, x: SSAValue, args: tuple[Value, ...]) -> Value:
        """Return what an op tells of a shape; of one that depends on data the sizes that are known."""
        if overload == "aten.sym_size.int" and self.builder.spec(x).shape[args[0]] != DYNAMIC:
            return self.builder.spec(x).shape[args[0]]
        return SIZES[overload](self.builder.shape(x), *args)

    def _op(self, node: fx.Node, args: tuple[Value, ...], kwargs: Mapping[str, Value], name: str) -> Value:
        overload = overload_name(node.target)
        if overload in CHECKS:
            return None
        if overload in SIZES:
            return self._size(overload, args[0].real if isinstance(args[0], ComplexTensor) else args[0], args[1:])
        if overload in _SCALARS:
            return self._static(self.builder.reshape(args[0]))
        apply = complex_row(overload) if holds_complex((*args, *kwargs.values())) else rows().get(overload)
        if apply is None:
            raise Unsupported("no mapping")
        expected = _results(node)
        self.builder.enter(name, _used(node, len(expected)), sources=sources_of(node))
        self.builder.expected, self.builder.dtypes = expected, tuple(map(_dtype, expected))
        if isinstance(node.target, torch._ops.OpOverload):
            args, kwargs = bind(node.target, args, kwargs, self._static)
        found = apply(self.builder, *args, **kwargs)
        if isinstance(node.target, torch._ops.OpOverload):
            _check(self.builder, found if isinstance(found, tuple) else (found,), expected)
        return found


def _computed(function: Callable[..., Any], args: tuple[Any, ...]) -> bool | int | float:
    try:
        return function(*args)
    except (ArithmeticError, ValueError, TypeError) as error:
        raise Unsupported(str(error)) from None


def _for_checks(graph: fx.Graph) -> set[fx.Node]:
    """Nodes that only checks of what tracing assumed read: sizes, and comparisons of them."""
    found: set[fx.Node] = set()
    for node in reversed(graph.nodes):
        if node.op == "call_function" and node.users and all(str(user.target) in CHECKS or user in found for user in node.users):
            found.add(node)
    return found


def _meta(node: fx.Node) -> Any:
    """Return what tracing found a node to give: fake tensors, symbols or numbers."""
    return node.meta.get("val", node.meta.get("example_value"))


def _results(node: fx.Node) -> tuple[Any, ...]:
    found = _meta(node)
    return tuple(found) if isinstance(found, list | tuple) else (found,)


def _dtype(value: Any) -> np.dtype | None:
    return DTYPES.get(value.dtype) if isinstance(value, torch.Tensor) else None


def _used(node: fx.Node, count: int) -> tuple[str, ...]:
    """Return the results' names; empty for those of several that nothing reads."""
    if count < 2:
        return (node.name,)
    items = [user for user in node.users if user.target is operator.getitem]
    if len(items) < len(node.users):
        return tuple(f"{node.name}:{i}" for i in range(count))
    names = {user.args[1]: user.name for user in items if user.users}
    return tuple(names.get(i, "") for i in range(count))


def _check(b: TorchBuilder, found: Sequence[Value], expected: Sequence[Any]) -> None:
    """What a mapping gives is of the type that PyTorch's tracing found.  Raises Unsupported."""
    for ours, theirs in zip(found, expected, strict=False):
        if not isinstance(ours, SSAValue) or not isinstance(theirs, torch.Tensor):
            continue
        spec, dtype = b.spec(ours), DTYPES.get(theirs.dtype)
        sizes = [size if type(size) is int else None for size in theirs.shape]
        fits = len(sizes) == spec.rank and all(s in (None, d) or d < 0 for s, d in zip(sizes, spec.shape, strict=True))
        if spec.dtype != dtype or not fits:
            raise Unsupported(f"its mapping gives {spec}, not {dtype}{['?' if s is None else s for s in sizes]}")
