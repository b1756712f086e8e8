"""Schemas of ops that the onnx package does not know: those of onnxruntime, as the signatures of their mappings."""

from __future__ import annotations

import inspect
from collections.abc import Mapping as Names
from functools import cache

from onnx import AttributeProto, NodeProto

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.importers.onnx.tables import Mapping

_TYPES = {
    "int": AttributeProto.INT,
    "float": AttributeProto.FLOAT,
    "str": AttributeProto.STRING,
    "Ints": AttributeProto.INTS,
    "Floats": AttributeProto.FLOATS,
    "Strings": AttributeProto.STRINGS,
}
"""Types of attributes by how signatures annotate them."""


@record
class OpSignature:
    """What a node of an op must look like.

    Args:
        inputs: their names, in order.
        optional: those that may be absent.
        needed: how many a node has at least.
        variadic: whether more may follow.
        attributes: their types by name.
        required: attributes that have no default.
    """

    inputs: tuple[str, ...]
    optional: frozenset[str]
    needed: int
    variadic: bool
    attributes: Names[str, int]
    required: frozenset[str]


@cache
def signature_of(apply: Mapping) -> OpSignature:
    """Return the schema that a mapping's signature is: parameters are inputs, `| None` ones optional; keywords are attributes."""
    parameters = list(inspect.signature(apply).parameters.values())[1:]
    inputs = [p for p in parameters if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    attributes = [p for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
    variadic = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters)
    return OpSignature(
        tuple(p.name for p in inputs),
        frozenset(p.name for p in inputs if str(p.annotation).endswith("| None")),
        max((i + 1 for i, p in enumerate(inputs) if p.default is p.empty), default=0) + variadic,
        variadic,
        {p.name: _TYPES[str(p.annotation).removesuffix(" | None")] for p in attributes},
        frozenset(p.name for p in attributes if p.default is p.empty),
    )


def check_signature(node: NodeProto, apply: Mapping) -> None:
    """Check that the node has the inputs and attributes that the signature of its mapping asks for. Raises E0203."""
    schema = signature_of(apply)
    count = len(node.input)
    if count < schema.needed or (count > len(schema.inputs) and not schema.variadic):
        most = "or more" if schema.variadic else f"to {len(schema.inputs)}"
        raise Error("E0203", f"{node.op_type} takes {schema.needed} {most} inputs, not {count}")
    for index, name in enumerate(node.input):
        formal = schema.inputs[index] if index < len(schema.inputs) else ""
        if not name and formal not in schema.optional:
            raise Error("E0203", f"{node.op_type} needs its input {index} '{formal}'")
    _check_attributes(node, schema)


def _check_attributes(node: NodeProto, schema: OpSignature) -> None:
    given: set[str] = set()
    for attribute in node.attribute:
        wanted = schema.attributes.get(attribute.name)
        if wanted is None or attribute.name in given:
            problem = "has no attribute" if wanted is None else "is given twice the attribute"
            raise Error("E0203", f"{node.op_type} {problem} '{attribute.name}'")
        if attribute.type != wanted:
            raise Error("E0203", f"attribute '{attribute.name}' of {node.op_type} is not {AttributeProto.AttributeType.Name(wanted)}")
        given.add(attribute.name)
    missing = sorted(schema.required - given)
    if missing:
        raise Error("E0203", f"{node.op_type} needs its attribute '{missing[0]}'")
