"""Nodes of onnxruntime's domain against the signatures of their mappings, and these against onnxruntime's own schemas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import AttributeProto, helper
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

from tests.ttc.importers.onnx.cases import imported, model_of
from tests.ttc.importers.onnx.ort_cases import MICROSOFT, ms_model
from ttc.dialects.core.errors import Error
from ttc.importers.onnx.signatures import signature_of
from ttc.importers.onnx.tables import mappings

SCHEMAS = {schema.name: schema for schema in get_all_operator_schema() if schema.domain == MICROSOFT}
X = np.ones((2, 4), np.float32)


@pytest.mark.parametrize("name", sorted(mappings(MICROSOFT)))
def test_signature_is_the_schema(name: str) -> None:
    """Inputs in order, which of them may be absent, attributes with their types, defaults and whether they are required."""
    schema, signature = SCHEMAS[name], signature_of(mappings(MICROSOFT)[name][1])
    types = {k: getattr(AttributeProto, str(a.type).rsplit(".", 1)[-1]) for k, a in schema.attributes.items()}
    required = {k for k, a in schema.attributes.items() if a.required}
    assert {k: types.get(k) for k in signature.attributes} == dict(signature.attributes)
    assert signature.required == required
    formal = [x for x in schema.inputs if not str(x.option).endswith("Variadic")]
    assert len(signature.inputs) <= len(formal)
    assert signature.variadic == (len(formal) < len(schema.inputs))
    optional = [str(x.option).endswith("Optional") for x in formal[: len(signature.inputs)]]
    assert [x in signature.optional for x in signature.inputs] == optional
    assert signature.needed == schema.min_input or signature.variadic


@pytest.mark.parametrize(
    ("op", "operands", "attrs", "said"),
    [
        ("Gelu", (X, X), {}, "takes 1 to 1 inputs, not 2"),
        ("BiasGelu", (X,), {}, "takes 2 to 2 inputs, not 1"),
        ("BiasGelu", (X, None), {}, "needs its input 1 'bias'"),
        ("QuickGelu", (X,), {"alpha": 1}, "attribute 'alpha' of QuickGelu is not FLOAT"),
        ("QuickGelu", (X,), {"beta": 1.0}, "has no attribute 'beta'"),
        ("MatMulNBits", (X, X, X), {"K": 4, "N": 4}, "needs its attribute 'block_size'"),
    ],
)
def test_nodes_that_do_not_fit(op: str, operands: tuple, attrs: dict[str, Any], said: str, tmp_path: Path) -> None:
    model, feeds = ms_model(op, operands, **attrs)
    with pytest.raises(Error, match=said) as caught:
        imported(model, feeds, tmp_path)
    assert caught.value.code == "E0203"


@pytest.mark.parametrize(
    ("domain", "op", "why"),
    [
        (MICROSOFT, "LongformerAttention", "no mapping"),
        (MICROSOFT, "Relu", "no mapping"),
        ("com.microsoft.nchwc", "Conv", "save the model with ORT_ENABLE_EXTENDED"),
    ],
)
def test_ops_that_are_refused_by_name(domain: str, op: str, why: str, tmp_path: Path) -> None:
    """A mapping of ONNX's own domain that a module of another uses is none of that."""
    node = helper.make_node(op, ["x"], ["y"], name="node", domain=domain)
    with pytest.raises(Error) as caught:
        imported(model_of([node], {"x": X}, ["y"], domains={domain: 1}), {"x": X}, tmp_path)
    assert caught.value.code == "E0202"
    assert op in str(caught.value.excerpt)
    assert why in str(caught.value.excerpt)


def test_the_domain_need_not_be_imported(tmp_path: Path) -> None:
    """As in onnxruntime."""
    node = helper.make_node("Gelu", ["x"], ["y"], name="node", domain=MICROSOFT)
    (y,) = imported(model_of([node], {"x": X}, ["y"]), {"x": X}, tmp_path)
    assert abs(float(y[0, 0]) - 0.8413447) < 1e-6
