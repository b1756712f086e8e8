"""What a search can turn, and the rules that a state amounts to."""

from __future__ import annotations

from pathlib import Path

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.core.rules.precision import PrecisionRule
from ttc.options import CompileOptions
from ttc.tune.knobs import State, candidates_for, knobs_of
from ttc.tune.subject import open_subject


def state_of(path: Path, target: str = "n150") -> State:
    subject = open_subject(path, CompileOptions(target=target), "forward")
    return State(knobs_of(subject, candidates_for(subject.unit.target, ())))


def test_knobs_of_a_device(two_layers: Path) -> None:
    found = {(k.kind, k.key): (k.rungs, len(k.members)) for k in state_of(two_layers).knobs}
    formats = ("Float16_b", "Bfp8_b", "Bfp4_b")
    assert found == {
        ("matmul", "weights"): (formats, 3),
        ("matmul", "output"): (formats, 3),
        ("matmul", "fidelity"): (("HiFi3", "HiFi2", "LoFi"), 3),
    }


def test_the_host_has_no_fidelity(two_layers: Path) -> None:
    assert {k.key for k in state_of(two_layers, "host").knobs} == {"weights", "output"}


def test_rules_of_a_kind_and_exceptions(two_layers: Path) -> None:
    state = state_of(two_layers)
    assert state.rules() == ()
    state = state.raised(0, [0, 1, 2])
    assert state.rules() == (PrecisionRule("matmul", weights="Float16_b"),)
    state = state.raised(0, [0, 2]).raised(2, [1])
    names = [m.name for m in state.knobs[0].members]
    assert set(state.rules()) == {
        PrecisionRule("matmul", weights="Bfp8_b"),
        PrecisionRule("matmul", names[1] or "", weights="Float16_b", fidelity="HiFi3"),
    }


def test_a_rung_too_many_is_not_taken(two_layers: Path) -> None:
    state = state_of(two_layers)
    for _ in range(5):
        state = state.raised(1, [0])
    assert state.rungs[1] == (3, 0, 0)


def test_candidates() -> None:
    target = load_target("n150")
    assert candidates_for(target, ("Bfp4_b", "Float16_b")) == ("Float16_b", "Bfp4_b")
    for given, code in ((("Bfp9",), "E0101"), (("Int32",), "E0101"), (("Half",), "E0607")):
        with pytest.raises(Error) as caught:
            candidates_for(target, given)
        assert caught.value.code == code
