"""What rows say of ops, beside TensorFlow's own definitions."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("tensorflow", reason="TensorFlow is not installed: it has no build for this Python")

from tensorflow.python.framework import op_def_registry  # noqa: E402

from ttc.importers.tf.tables import OUTPUTS, complex_rows, rows  # noqa: E402

SAYING = frozenset(["Const", "ReadVariableOp", "ResourceGather"])
"""Ops whose value says its type."""
COMPLEX = frozenset(["Complex", "Real", "Imag", "ComplexAbs", "Angle", *(f"{i}RFFT{d}" for i in ("", "I") for d in ("", "2D", "3D"))])
"""Ops whose result is of the type of the parts, or made of them."""


def _definition(op: str) -> Any:
    return op_def_registry.get(op)


def test_outputs_have_the_names_of_the_definition() -> None:
    """Functions refer to outputs by name: one that is not known would count as the first."""
    several = {op: [o.name for o in _definition(op).output_arg] for op in rows()}
    assert {op: list(OUTPUTS.get(op, ()))[: len(names)] for op, names in several.items() if len(names) > 1} == {
        op: names for op, names in several.items() if len(names) > 1
    }


def test_rows_look_at_types_of_results_that_operands_do_not_say() -> None:
    missed = {}
    for op, row in rows().items():
        if op in SAYING | COMPLEX:
            continue
        definition = _definition(op)
        given = {a.type_attr or a.type_list_attr for a in definition.input_arg}
        wanted = {a.type_attr or a.type_list_attr for a in definition.output_arg} - given - {""}
        if not wanted <= row.attributes.keys():
            missed[op] = wanted - row.attributes.keys()
    assert missed == {}


def test_rows_take_the_operands_of_the_definition() -> None:
    """But for those of which there are any number."""
    for op, row in {**rows(), **complex_rows()}.items():
        definition = _definition(op)
        if row.rest is None and not any(a.number_attr or a.type_list_attr for a in definition.input_arg):
            assert row.least <= len(definition.input_arg) <= len(row.kinds), op
