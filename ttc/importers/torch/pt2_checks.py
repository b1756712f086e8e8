"""A graph of a `.pt2` archive before PyTorch sees it: known ops, plain names, sizes that a tensor can have; and what it needs no more.

PyTorch writes programs out of names (and runs them), looks ops up by their path, and evaluates expressions: each of these is held to a
small grammar here.  Places of the program become plain text, devices the CPU.
"""

from __future__ import annotations

import importlib
import keyword
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import torch
from torch._export.serde import schema
from torch._export.serde.union import _Union

from ttc.dialects.core.errors import Error
from ttc.importers.common.builder import MAX_ELEMENTS, MAX_RANK
from ttc.importers.common.unsupported import Misses
from ttc.importers.torch.complexes import complex_rows
from ttc.importers.torch.decompositions import decompositions, overload_name
from ttc.importers.torch.definitions import define
from ttc.importers.torch.pt2_symbols import check_expression
from ttc.importers.torch.tables import rows
from ttc.importers.torch.walk import CHECKS, SIZES

MAX_NAME = 1024
MAX_SUBGRAPHS = 16
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PATH = re.compile(r"[A-Za-z0-9_.]*")
_OP = re.compile(r"torch\.ops\.([A-Za-z0-9_]+)\.([A-Za-z0-9_]+)(?:\.([A-Za-z0-9_]+))?")
_FRAME = re.compile(r'File "([^"\n\\]{1,400})", line ([0-9]{1,7}), in ([A-Za-z0-9_<>.]{1,100})')
_MODULE = re.compile(r"[A-Za-z0-9_.@\[\]'\"]*,[A-Za-z0-9_.@\[\]'\"]*,[A-Za-z0-9_.]*")
_ARITHMETIC = frozenset(
    (
        *(f"_operator.{name}" for name in ("add", "sub", "mul", "floordiv", "truediv", "mod", "neg", "pos", "and_", "or_", "pow")),
        *(f"_operator.{name}" for name in ("eq", "ne", "lt", "le", "gt", "ge")),
        *(f"torch.sym_{name}" for name in ("float", "int", "ite", "max", "min", "not")),
        *("torch._sym_sqrt", "torch.sym_sum", "math.trunc", "math.ceil", "math.floor"),
    )
)
_WRAPPERS = ("wrap_with_set_grad_enabled", "wrap_with_autocast")
"""Higher-order ops that decompositions dissolve."""
_CPU = schema.Device("cpu", None)
_STRIDED = int(schema.Layout.Strided)


def clean_graph(graph: schema.Graph, misses: Misses, depth: int = 0) -> None:
    """Check a graph, and strip in place what is not needed.  Ops that are not supported go to the misses.  Raises E0203."""
    if depth > MAX_SUBGRAPHS:
        raise Error("E0203", f"subgraphs are nested more than {MAX_SUBGRAPHS} deep")
    if graph.custom_obj_values:
        raise Error("E0203", "the program holds custom objects, which are pickled: they are not read")
    for name, meta in graph.tensor_values.items():
        check_name(name)
        clean_tensor(meta)
    for values in (graph.sym_int_values, graph.sym_float_values, graph.sym_bool_values):
        for name, value in values.items():
            check_name(name)
            _check_symbolic(value)
    for argument in (*graph.inputs, *graph.outputs):
        _clean_argument(argument, misses, depth)
    for node in graph.nodes:
        _clean_node(node, misses, depth)
    _check_magnitudes(graph)


def check_name(name: str) -> None:
    """Raises E0203 unless the text can be a name in a program."""
    if len(name) > MAX_NAME or _NAME.fullmatch(name) is None or keyword.iskeyword(name):
        raise Error("E0203", f"'{name[:80]}' is no name of a value")


def check_path(name: str) -> None:
    """Raises E0203 unless the text can be the path of a parameter or module."""
    if len(name) > MAX_NAME or _PATH.fullmatch(name) is None:
        raise Error("E0203", f"'{name[:80]}' is no path of a parameter or module")


def clean_tensor(meta: schema.TensorMeta) -> None:
    """Check a tensor's type: sizes that it can have, on the CPU. Raises E0203."""
    if meta.layout != _STRIDED or len(meta.sizes) > MAX_RANK or len(meta.strides) != len(meta.sizes):
        raise Error("E0203", "a tensor is sparse, of more dimensions than there may be, or its strides do not fit its sizes")
    elements = 1
    for size in (*meta.sizes, *meta.strides, meta.storage_offset):
        _check_symbolic(size)
        if size.type == "as_int" and not 0 <= size.as_int <= MAX_ELEMENTS:
            raise Error("E0203", f"a size or stride of {size.as_int} elements is not possible")
    for size in meta.sizes:
        elements *= size.as_int if size.type == "as_int" else 1
    if elements > MAX_ELEMENTS:
        raise Error("E0203", f"a tensor of {elements} elements is too large")
    meta.device = _CPU


def _check_symbolic(value: Any) -> None:
    if value.type == "as_expr":
        check_expression(value.as_expr.expr_str)


def _clean_node(node: schema.Node, misses: Misses, depth: int) -> None:
    if node.name is not None:
        check_name(node.name)
    _check_target(node, misses)
    for item in node.inputs:
        if item.name:
            _require_plain(item.name)
        _clean_argument(item.arg, misses, depth)
    for output in node.outputs:
        _clean_argument(output, misses, depth)
    node.metadata = dict(_places(node.metadata))


def _require_plain(name: str) -> None:
    """Arguments may be called `self` or `from`, but nothing that is no word."""
    if len(name) > MAX_NAME or _NAME.fullmatch(name) is None:
        raise Error("E0203", f"'{name[:80]}' is no name of an argument")


def _check_target(node: schema.Node, misses: Misses) -> None:
    found = _OP.fullmatch(node.target)
    if found is None:
        if node.target not in _ARITHMETIC:
            misses.add(node.target[:80], "python", "not a function of exported graphs", node.name or "")
        return
    domain, op, overload = found.groups()
    if not _is_known(domain, op, overload):
        misses.add(f"{op}.{overload}" if overload else op, domain, "no mapping", node.name or "")


_LATER = {"quantized_decomposed": "torch.ao.quantization.fx._decomposed"}
"""Ops of PyTorch's own that a module of it defines, which `import torch` leaves out."""


@cache
def _is_known(domain: str, op: str, overload: str | None) -> bool:
    """Return whether the op has a mapping, or PyTorch takes it apart, or is one of these that writes into its operand."""
    if domain == "higher_order":
        return f"higher_order.{op}" in rows() or op in _WRAPPERS
    if domain not in ("aten", "prims") and f"{domain}.{op}.{overload or 'default'}" not in rows():
        return False
    if domain in _LATER:
        importlib.import_module(_LATER[domain])
    define(f"{domain}.{op}")
    packet = getattr(getattr(torch.ops, domain), op, None)
    found = getattr(packet, overload or "default", None)
    if not isinstance(found, torch._ops.OpOverload):
        return False
    if str(found) in {*rows(), *complex_rows(), *SIZES, *CHECKS} or torch.Tag.core in found.tags or found._can_decompose():
        return True
    names = {op, op.removesuffix("_")}
    return found in decompositions() or (found._schema.is_mutable and not names.isdisjoint(_mapped_ops()))


@cache
def _mapped_ops() -> frozenset[str]:
    keys = (*rows(), *map(overload_name, decompositions()))
    return frozenset(key.split(".")[1] for key in keys)


def _clean_argument(argument: schema.Argument, misses: Misses, depth: int) -> None:
    value: Any = argument.value
    match str(argument.type):
        case "as_tensor" | "as_tensors" | "as_nested_tensors" | "as_optional_tensor" | "as_optional_tensors":
            for name in _names(value):
                check_name(name)
        case "as_sym_int" | "as_sym_bool" | "as_sym_float" | "as_sym_ints" | "as_sym_bools" | "as_sym_floats":
            for name in _names(value):
                check_name(name)
        case "as_device":
            argument.as_device = _CPU
        case "as_graph":
            check_name(value.name)
            clean_graph(value.graph, misses, depth + 1)
        case "as_custom_obj" | "as_operator" | "as_string_to_argument":
            raise Error("E0203", f"an argument is a {argument.type.removeprefix('as_')}, which is not read")
        case "as_string" | "as_strings":
            if any(len(text) > MAX_NAME for text in ([value] if isinstance(value, str) else value)):
                raise Error("E0203", "a text is too long")
        case _:
            pass


def _names(value: Any) -> Iterator[str]:
    """Yield names of values inside an argument."""
    if isinstance(value, list):
        for item in value:
            yield from _names(item)
    elif isinstance(value, schema.TensorArgument):
        yield value.name
    elif isinstance(value, _Union):
        yield from _names(value.value) if str(value.type) != "as_name" else (value.value,)


def _places(metadata: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Frames of the program and modules that a node came from, in the form that PyTorch reads."""
    frames = _FRAME.findall(metadata.get("stack_trace", "")[-20_000:])
    if frames:
        yield "stack_trace", "\n".join(f'  File "{file}", line {line}, in {function}' for file, line, function in frames)
    modules = [m for m in metadata.get("nn_module_stack", "")[:20_000].split(";") if _MODULE.fullmatch(m)]
    if modules:
        yield "nn_module_stack", ";".join(modules)


# ---- numbers that grow ---------------------------------------------------------------------------------------------------------

MAX_BITS = 256
_GROWTH: dict[str, Callable[[list[int]], int]] = {
    "_operator.add": lambda bits: max(bits) + 1,
    "_operator.sub": lambda bits: max(bits) + 1,
    "torch.sym_sum": lambda bits: max(bits) + len(bits),
    "_operator.mul": sum,
}


def _check_magnitudes(graph: schema.Graph) -> None:
    """Arithmetic with sizes that tracing again will do stays small.  Raises E0203."""
    bits: dict[str, int] = {}
    for node in graph.nodes:
        if node.target not in _ARITHMETIC:
            continue
        operands = [_bits(item.arg, bits) for item in node.inputs] or [0]
        grown = _GROWTH.get(node.target, max)(operands)
        if node.target == "_operator.pow":
            exponent = node.inputs[-1].arg
            grown = operands[0] * exponent.as_int if exponent.type == "as_int" and 0 <= exponent.as_int <= MAX_BITS else MAX_BITS + 1
        if grown > MAX_BITS:
            raise Error("E0203", f"arithmetic with sizes grows beyond {MAX_BITS} bits", where=node.name)
        bits.update({name: grown for output in node.outputs for name in _names(output)})


def _bits(argument: schema.Argument, bits: dict[str, int]) -> int:
    value = argument.value
    if isinstance(value, int):
        return value.bit_length()
    return max((bits.get(name, 41) for name in _names(value)), default=64)
