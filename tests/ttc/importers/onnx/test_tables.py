"""The mapping tables against the schemas of the installed onnx package."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from onnx import AttributeProto, defs

from ttc.importers.onnx.tables import is_signed, mapping, mappings

SUBGRAPHS = (defs.OpSchema.AttrType.GRAPH, defs.OpSchema.AttrType.GRAPHS)


def schemas() -> list[defs.OpSchema]:
    """All schemas of ONNX's own domain that some model of opset 7 or newer can use."""
    return [s for s in defs.get_all_schemas_with_history() if not s.domain]


ALL = {(s.name, s.since_version): s for s in schemas()}


@pytest.mark.parametrize("op", sorted(op for op in mappings() if not is_signed(op, "")))
def test_name_is_an_op_at_the_opset_of_a_schema(op: str) -> None:
    assert [version for version in mappings()[op] if (op, version) not in ALL] == []


MAPPED = [s for (name, v), s in sorted(ALL.items()) if mapping(name, max(v, 7)) is not None]


@pytest.mark.parametrize("schema", MAPPED, ids=lambda s: f"{s.name}-{s.since_version}")
def test_parameters_are_the_schema_s(schema: defs.OpSchema) -> None:
    newer = min((v for (name, v) in ALL if name == schema.name and v > schema.since_version), default=1000)
    if newer <= 7:
        return  # out of use before the oldest supported opset
    function = mapping(schema.name, max(schema.since_version, 7))
    assert function is not None
    parameters = list(inspect.signature(function).parameters.values())[1:]
    attributes = {p.name: p for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}
    missing = {name for name, a in schema.attributes.items() if a.type not in SUBGRAPHS} - attributes.keys()
    assert not missing
    positional = [p for p in parameters if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    variadic = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters)
    assert variadic or len(positional) >= len(schema.inputs)
    needed = [p for p in positional if p.default is inspect.Parameter.empty]
    assert len(needed) <= max(schema.min_input, 1)
    for name, attribute in schema.attributes.items():
        _check_default(attribute, attributes[name])


def _check_default(attribute: defs.OpSchema.Attribute, parameter: inspect.Parameter) -> None:
    """A required attribute has no default, or is not used; a default is the schema's."""
    stored = attribute.default_value
    if not stored.name:
        return
    wanted = {AttributeProto.INT: stored.i, AttributeProto.FLOAT: stored.f, AttributeProto.STRING: stored.s.decode()}.get(stored.type)
    if wanted is None:
        return
    assert parameter.default == pytest.approx(wanted) if isinstance(wanted, float) else parameter.default == wanted


BODIES = {
    *("Attention", "BlackmanWindow", "CausalConvWithState", "CenterCropPad", "HammingWindow", "HannWindow", "LinearAttention"),
    *("MeanVarianceNormalization", "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss", "SwiGLU"),
}
"""Ops that ONNX itself defines by others, which are mapped in their place."""
GRAPHS = {"If", "Loop", "Scan", "SequenceMap"}
"""Ops with graphs, which the walk maps."""
UNSUPPORTED = {"Bernoulli", "MaxRoiPool"}


@pytest.mark.parametrize("domain", ["", "ai.onnx.ml"])
def test_every_op_of_the_schemas_is_mapped_or_known_not_to_be(domain: str) -> None:
    known = {s.name for s in defs.get_all_schemas() if s.domain == domain and not s.deprecated}
    assert known - set(mappings(domain)) == (set() if domain else BODIES | GRAPHS | UNSUPPORTED)
    schemas: list[Any] = [defs.get_schema(op) for op in BODIES]
    assert all(schema.has_function or schema.has_context_dependent_function for schema in schemas)
