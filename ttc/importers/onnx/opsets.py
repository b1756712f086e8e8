"""Which opsets a model uses, and whether its nodes keep to the schemas of their ops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

from onnx import AttributeProto, FunctionProto, NodeProto, OperatorSetIdProto, TypeProto, defs

from ttc.dialects.core.errors import Error
from ttc.importers.onnx.structure import domain_of

OLDEST = 1
MAX_VERSION = (1 << 31) - 1
"""The largest version of any domain that the onnx package takes."""
Schema: TypeAlias = Any
"""onnx.defs.OpSchema, most of which onnx's own type stubs leave out."""


def newest() -> int:
    """Return the newest opset of ONNX's own domain that the installed onnx package knows."""
    return defs.onnx_opset_version()


def opsets(imports: Iterable[OperatorSetIdProto], what: str, *, needed: bool = True) -> dict[str, int]:
    """Return the versions of opsets that a model imports, by domain.

    Args:
        needed: whether ONNX's own domain must be among them.
    Raises: E0202 if its version is missing or not supported, or another's is none at all, E0203 if a domain is imported twice.
    """
    found: dict[str, int] = {}
    for entry in imports:
        domain = domain_of(entry.domain)
        if found.setdefault(domain, entry.version) != entry.version:
            raise Error("E0203", f"{what} imports domain '{domain}' in two versions")
        if domain and not 0 <= entry.version <= MAX_VERSION:
            raise Error("E0202", f"{what} imports domain '{domain}' in version {entry.version}, which none has")
    version = found.get("")
    supported = f"opsets {OLDEST} to {newest()} are supported"
    if version is None and needed:
        raise Error("E0202", f"{what} does not say which opset of ONNX it uses; {supported}")
    if version is not None and not OLDEST <= version <= newest():
        raise Error("E0202", f"{what} uses opset {version} of ONNX; {supported}", hint="onnx.version_converter can convert it")
    return found


@cache
def schema_of(op: str, version: int, domain: str) -> Schema | None:
    """Return the schema of an op as of an opset version; None if there is none."""
    try:
        return defs.get_schema(op, version, domain)
    except defs.SchemaError:
        return None


def check_node(node: NodeProto, schema: Schema) -> None:
    """Check that the node has the inputs, outputs and attributes that its schema asks for. Raises E0203."""
    inputs = len(node.input)
    if not schema.min_input <= inputs <= schema.max_input:
        raise Error("E0203", f"{node.op_type} takes {_range(schema.min_input, schema.max_input)} inputs, not {inputs}")
    if not 1 <= len(node.output) <= schema.max_output:
        raise Error("E0203", f"{node.op_type} gives {_range(1, schema.max_output)} outputs, not {len(node.output)}")
    for index, name in enumerate(node.input):
        formal = schema.inputs[min(index, len(schema.inputs) - 1)]
        if not name and formal.option != defs.OpSchema.FormalParameterOption.Optional:
            raise Error("E0203", f"{node.op_type} needs its input '{formal.name}'")
    _check_attributes(node, schema)


def _check_attributes(node: NodeProto, schema: Schema) -> None:
    given: set[str] = set()
    for attribute in node.attribute:
        known = schema.attributes.get(attribute.name)
        if known is None or attribute.name in given:
            problem = "has no attribute" if known is None else "is given twice the attribute"
            raise Error("E0203", f"{node.op_type}-{schema.since_version} {problem} '{attribute.name}'")
        if attribute.type != known.type.value:
            names = AttributeProto.AttributeType
            found = names.Name(attribute.type) if attribute.type in names.values() else str(attribute.type)
            raise Error("E0203", f"attribute '{attribute.name}' of {node.op_type} is {found}, not {known.type.name}")
        given.add(attribute.name)
    missing = [name for name, known in schema.attributes.items() if known.required and name not in given]
    if missing:
        raise Error("E0203", f"{node.op_type} needs its attribute '{missing[0]}'")


def _range(low: int, high: int) -> str:
    if high > 1 << 20:
        return f"at least {low}"
    return str(low) if low == high else f"{low} to {high}"


def schema_function(node: NodeProto, schema: Schema, version: int, inputs: Sequence[TypeProto]) -> FunctionProto | None:
    """Return ONNX's own definition of the op by other ops, if it has one for these input types.

    Args:
        version: the opset in which the body is to be written.
    """
    if schema.has_function:
        body = schema.get_function_with_opset_version(_not_above(schema.function_opset_versions, version))
        return FunctionProto.FromString(body) if body else None
    if schema.has_context_dependent_function:
        at = _not_above(schema.context_dependent_function_opset_versions, version)
        types = [t.SerializeToString() for t in inputs]
        body = schema.get_context_dependent_function_with_opset_version(at, node.SerializeToString(), types)
        return FunctionProto.FromString(body) if body else None
    return None


def _not_above(versions: Sequence[int], version: int) -> int:
    return max((v for v in versions if v <= version), default=min(versions, default=version))


def bind(node: NodeProto, given: Mapping[str, AttributeProto]) -> NodeProto:
    """Return a node of a function body with its references to the function's attributes resolved; absent ones are left out."""
    if not any(a.ref_attr_name for a in node.attribute):
        return node
    bound = NodeProto()
    bound.CopyFrom(node)
    del bound.attribute[:]
    for attribute in node.attribute:
        source = given.get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
        if source is not None:
            entry = bound.attribute.add()
            entry.CopyFrom(source)
            entry.name = attribute.name
    return bound
