"""Every row takes its op's options, and refuses operands that do not fit it with an error."""

from __future__ import annotations

import random
from collections.abc import Sequence
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.ttc.importers.tflite.cases import Given, Operand, Result, op_model
from ttc.dialects.core.errors import Error
from ttc.importers.tflite import import_tflite
from ttc.importers.tflite.control import CONTROL
from ttc.importers.tflite.schema import CUSTOM_OPTIONS, ENUMS, HINTS, OPERATORS, Field, options_of
from ttc.importers.tflite.tables import CODES, VARIABLES, complex_rows, rows

ROUNDS = 6
KINDS = ["float32", "float32", "int32", "int8", "bool", "int64"]


@pytest.mark.parametrize("op", sorted(rows()))
def test_rows_take_the_options_of_the_schema(op: str) -> None:
    assert op.partition(":")[0] in OPERATORS
    named = {n for n, p in signature(rows()[op].function, follow_wrapped=True).parameters.items() if p.kind is Parameter.KEYWORD_ONLY}
    wanted = {f.name for f in fields(op)} - HINTS
    assert named in (wanted, wanted - {"fused_activation_function"})


def fields(op: str) -> Sequence[Field]:
    """Options of an op; those of a custom one as numbers."""
    options, custom = options_of(op), CUSTOM_OPTIONS.get(op.partition(":")[2], "")
    words = [Field(name.removeprefix("custom_"), "i4", 0.0) for name in custom.split()]
    return words if options is None else options.fields


def test_ops_are_mapped_once() -> None:
    assert not set(rows()) & set(CONTROL)
    assert len(rows()) + len(CONTROL) > 125


def option(rng: random.Random, field: Field) -> Any:
    """Any value of an option."""
    if field.kind in ENUMS:
        return rng.choice(ENUMS[field.kind])
    if field.kind.startswith("["):
        return [rng.randrange(-2, 4) for _ in range(rng.randrange(4))]
    if field.kind == "b1":
        return rng.random() < 0.3
    return rng.choice([0, 1, 1, 2, 3, -1, 1 << 30]) if field.kind[0] in "iu" else rng.choice([0.0, 1.0, -2.0, float("nan")])


def operand(rng: random.Random) -> Operand:
    """Any operand: absent, an input or a constant, plain or quantized."""
    if rng.random() < 0.05:
        return None
    rank = rng.choice([0, 1, 1, 2, 3, 4, 4, 5])
    dtype = np.dtype(rng.choice(KINDS))
    shape = tuple(rng.choice([0, 1, 2, 2, 3, 4]) for _ in range(rank))
    value = (np.random.default_rng(rng.randrange(1 << 30)).standard_normal(shape) * 2).astype(dtype)
    coded = dtype == np.int8 and rng.random() < 0.7
    return Given(value, constant=rng.random() < 0.6, scale=(0.05,) if coded else (), zero=(3,) if coded else ())


@pytest.mark.parametrize("op", sorted(rows()))
def test_any_operands(op: str, tmp_path: Path) -> None:
    """Whatever they are, the model is imported or refused: nothing else is raised."""
    row, rng, path = rows()[op], random.Random(op), tmp_path / "model.tflite"
    codes = set[str]()
    for _ in range(ROUNDS):
        most = min(row.most, row.least + 3)
        operands = [operand(rng) for _ in range(rng.randint(max(row.least - 1, 0), most + (rng.random() < 0.1)))]
        results = [Result(rng.choice(["FLOAT32", "FLOAT32", "INT32", "INT8", "BOOL"])) for _ in range(rng.choice([1, 1, 1, 2, 3, 0]))]
        given = {f.name: option(rng, f) for f in fields(op) if rng.random() < 0.8}
        path.write_bytes(op_model(op, operands, results, given)[0])
        try:
            import_tflite(path)[0].verify()
        except Error as error:
            codes.add(error.code)
    assert codes <= {"E0202", "E0203", "E0401", "E0402", "E0403", "E0412"}


@pytest.mark.parametrize(("table", "entry"), [(CODES, {"RESHPE"}), (VARIABLES, {"RESHPE": (0,)})])
def test_a_misspelt_mark_of_a_row_is_an_error_of_ours(table: Any, entry: Any) -> None:
    table.update(entry)
    try:
        with pytest.raises(Error, match="name RESHPE, which has no row") as caught:
            rows.__wrapped__()
    finally:
        CODES.discard("RESHPE")
        VARIABLES.pop("RESHPE", None)
    assert caught.value.code == "E0901"


COMPLEX = {"COMPLEX_ABS", "IMAG", "REAL"}
"""Operators that only `COMPLEX_ROWS` maps."""
UNSUPPORTED = {
    *("CONCAT_EMBEDDINGS", "DELEGATE", "EMBEDDING_LOOKUP_SPARSE", "LSH_PROJECTION", "SKIP_GRAM", "REDUCE_WINDOW"),
    *("HASHTABLE", "HASHTABLE_FIND", "HASHTABLE_IMPORT", "HASHTABLE_LOOKUP", "HASHTABLE_SIZE"),
    *("MULTINOMIAL", "RANDOM_STANDARD_NORMAL", "RANDOM_UNIFORM", "PLACEHOLDER_FOR_GREATER_OP_CODES"),
}


def test_every_operator_of_the_schema_is_mapped_or_known_not_to_be() -> None:
    mapped = {op.partition(":")[0] for op in rows()} | CONTROL.keys()
    assert {op for op in OPERATORS if not op.startswith("STABLEHLO_")} - mapped == COMPLEX | UNSUPPORTED
    assert COMPLEX <= complex_rows().keys() <= set(OPERATORS)
