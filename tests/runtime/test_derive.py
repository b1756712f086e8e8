"""New values of parameters, and the tensors computed from them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.runtime.derive import Derivation
from ttc.runtime.executor import Executor
from ttc.runtime.loader import load
from ttc.runtime.manifest import Derived, Description, ManifestVariable
from ttc.runtime.program import Program, build_program
from ttc.runtime.tensors import Constants, TensorSource

VECTOR = TensorType((4,), "Float32")
X = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.fixture
def program(affine) -> Program:
    netlist, tensors, description = affine
    return build_program(netlist, description, tensors)


def outcome(program: Program) -> np.ndarray:
    return Executor(program).run({"x": X})["y"]


def vector(value: float) -> np.ndarray:
    return np.full(4, value, np.float32)


def test_derived_tensors_follow_their_parameters(program: Program):
    changed = program.with_parameters({"b": vector(10)})
    assert np.array_equal(outcome(changed), (X + 3 * 10 + 2) * 2)
    assert np.array_equal(outcome(program), (X + 5) * 2)
    both = changed.with_parameters({"w": vector(7)})
    assert np.array_equal(outcome(both), (X + 3 * 10 + 7) * 7)


def test_the_rest_is_shared(program: Program):
    program.prepare()
    shared = program.constants["w"]
    changed = program.with_parameters({"b": vector(10)})
    assert changed.constants["w"] is shared
    assert changed.plans["grow_0"] is program.plans["grow_0"]
    assert changed.plans["forward_0"] is not program.plans["forward_0"]


def test_new_values_are_saved_and_survive_the_archive(program: Program, tmp_path: Path):
    program.with_parameters({"b": vector(10)}).save(tmp_path / "a.tti")
    loaded = load(tmp_path / "a.tti").program
    assert np.array_equal(outcome(loaded), (X + 3 * 10 + 2) * 2)
    assert np.array_equal(outcome(loaded.with_parameters({"b": vector(1)})), (X + 3 + 2) * 2)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"w": vector(1)}, "also need b"),
        ({"c": vector(1)}, "no parameter 'c'"),
        ({"b": np.zeros(3, np.float32)}, r"\[3\], not \[4\]"),
        ({"b": np.zeros(4)}, "float64, not float32"),
    ],
)
def test_values_that_do_not_fit(program: Program, values: dict, text: str):
    with pytest.raises(Error, match=text) as failure:
        program.with_parameters(values)
    assert failure.value.code == "E0801"


def test_a_literal_parameter_and_a_chain_of_derived_tensors(affine):
    netlist, tensors, description = affine
    inner = Function(
        (),
        (
            Work("ttc.param", (), {"sym": "s", "values": (2.0,)}, (TensorType((), "Float32"),)),
            Work("nn.neg", (0,), {}, (TensorType((), "Float32"),)),
        ),
        (1,),
    )
    outer = Function(
        (),
        (
            Work("ttc.constant", (), {"key": "inner"}, (TensorType((), "Float32"),)),
            Work("ttc.param", (), {"sym": "w", "key": "w"}, (VECTOR,)),
            Work("nn.mul", (0, 1), {}, (VECTOR,)),
        ),
        (2,),
    )
    parameters = {"w": description.parameters["w"], "s": ManifestVariable(None, (), "float32")}
    description = replace(description, parameters=parameters, derived=(Derived("inner", inner), Derived("scaled", outer)))
    program = build_program(netlist, description, tensors)
    assert np.array_equal(outcome(program.with_parameters({"s": np.array(5, np.float32)})), (X - 5 * 2) * 2)
    assert np.array_equal(outcome(program.with_parameters({"w": vector(3)})), (X - 2 * 3) * 3)


def test_tensors_derived_from_themselves(affine):
    netlist, tensors, description = affine
    loop = Function((), (Work("ttc.constant", (), {"key": "scaled"}, (VECTOR,)),), (0,))
    program = build_program(netlist, replace(description, derived=(Derived("scaled", loop),)), tensors)
    with pytest.raises(Error, match="derived from itself") as failure:
        program.with_parameters({"w": vector(1)})
    assert failure.value.code == "E0703"


def test_integers_that_the_stored_format_cannot_hold():
    description = Description("rows", "0.1.0", {}, {"rows": ManifestVariable("rows", (2,), "int64")}, {}, ())
    constants = Constants({"rows": TensorSource.of_array(np.zeros(2, np.int32), "Int32")})
    (kept,) = Derivation(description, constants, {"rows": np.array([-(2**31), 2**31 - 1])}).changes().values()
    assert kept.value().tolist() == [-(2**31), 2**31 - 1]
    with pytest.raises(Error, match="tensor 'rows' holds 2147483648, which Int32 cannot hold") as failure:
        Derivation(description, constants, {"rows": np.array([0, 2**31])}).changes()
    assert failure.value.code == "E0802"
