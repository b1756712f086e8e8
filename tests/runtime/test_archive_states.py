"""States that are one number everywhere are stored as that number: bit by bit the same, and no way to ask for memory that is not there."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.runtime.forging import forge
from ttc.dialects.core.formats import format_named
from ttc.runtime.archive import Archive, open_archive, write_archive
from ttc.runtime.loader import load
from ttc.runtime.manifest import ManifestVariable
from ttc.runtime.tensors import TensorSource

KEY = "counter.initial"
MINUS_ZERO, NAN_BITS = np.float32(-0.0), np.array(0x7FC12345, np.uint32).view(np.float32)


def written(counter, path: Path, value: np.ndarray, format: str, *, more: bool = True) -> Archive:
    """An archive of the counter, whose state starts with a value; with `more`, of another state that nothing uses."""
    netlist, tensors, description = counter
    states = {**description.states, "more": ManifestVariable("more", value.shape, "float32")} if more else description.states
    given = {**tensors, "more" if more else KEY: TensorSource.of_array(value, format)}
    write_archive(path, netlist=netlist, tensors=given, description=replace(description, states=states))
    return open_archive(path)


def manifest_of(path: Path) -> dict:
    with zipfile.ZipFile(path) as file:
        return json.loads(file.read("manifest.json"))


@pytest.mark.parametrize("format", ["Float32", "Float16_b", "Float16", "Lf8", "Fp8_e4m3", "Tf32", "Float64", "Int32", "Bool"])
def test_one_number_takes_one_elements_bytes(counter, tmp_path: Path, format: str):
    value = np.ones((300, 5), np.float32)
    archive = written(counter, tmp_path / "a.tti", value, format)
    stored = archive.manifest.tensors["more"]
    assert (stored.repeated, archive.manifest.members[stored.member].size) == (True, format_named(format).storage.itemsize)
    held = archive.sources()["more"].value()
    for found in (archive.tensor("more"), held):
        assert found.shape == value.shape
        assert not found.flags.writeable
        np.testing.assert_array_equal(found.astype(np.float32), value)
    load(tmp_path / "a.tti").program.save(tmp_path / "b.tti")
    assert (tmp_path / "a.tti").read_bytes() == (tmp_path / "b.tti").read_bytes()


@pytest.mark.parametrize("number", [MINUS_ZERO, NAN_BITS, np.float32(np.inf), np.float32(1e-45)])
def test_every_bit_of_the_number_comes_back(counter, tmp_path: Path, number: np.float32):
    value = np.full((2, 3), number, np.float32)
    archive = written(counter, tmp_path / "a.tti", value, "Float32")
    assert archive.manifest.tensors["more"].repeated
    assert archive.tensor("more").tobytes() == value.tobytes()


@pytest.mark.parametrize(
    ("value", "format"),
    [
        (np.array([0.0, -0.0], np.float32), "Float32"),
        (np.array([*[0.0] * 99, 1e-45], np.float32), "Float32"),
        (np.zeros((), np.float32), "Float32"),
        (np.zeros((1, 1), np.float32), "Float32"),
        (np.zeros((3, 0), np.float32), "Float32"),
        (np.zeros((40, 40), np.float32), "Bfp8_b"),
    ],
)
def test_what_differs_is_alone_or_shares_exponents_is_stored_whole(counter, tmp_path: Path, value: np.ndarray, format: str):
    archive = written(counter, tmp_path / "a.tti", value, format)
    stored = archive.manifest.tensors["more"]
    assert (stored.repeated, archive.manifest.members[stored.member].size) == (False, format_named(format).size_bytes(value.shape))
    assert archive.tensor("more").tobytes() == value.tobytes()
    assert "repeated" not in manifest_of(tmp_path / "a.tti")["tensors"]["more"]


def test_states_alone_are_stored_so(counter, tmp_path: Path):
    archive = written(counter, tmp_path / "a.tti", np.zeros(4, np.float32), "Float32", more=False)
    assert {key: stored.repeated for key, stored in archive.manifest.tensors.items()} == {KEY: True, "one": False}


def test_it_runs_from_the_number_and_each_session_has_its_own(counter, tmp_path: Path):
    written(counter, tmp_path / "a.tti", np.full(4, 3, np.float32), "Float32", more=False)
    with load(tmp_path / "a.tti") as executor, load(tmp_path / "a.tti") as other:
        executor.session.call("step", {"x": np.zeros(4, np.float32)})
        assert executor.session.call("peek", {})["now"].tolist() == [4.0] * 4
        assert other.session.call("peek", {})["now"].tolist() == [3.0] * 4
        executor.program.with_states({"counter": np.arange(4, dtype=np.float32)}).save(tmp_path / "b.tti")
    assert open_archive(tmp_path / "b.tti").tensor(KEY).tolist() == [0.0, 1.0, 2.0, 3.0]


def test_archives_of_before_hold_states_whole_and_load(counter, tmp_path: Path):
    written(counter, tmp_path / "a.tti", np.arange(4, dtype=np.float32), "Float32", more=False)
    whole = np.zeros(4, np.float32).tobytes()

    def zeros(manifest: dict) -> None:
        manifest["members"]["tensors/0001.bin"]["sha256"] = hashlib.sha256(whole).hexdigest()

    assert forge(tmp_path / "a.tti", zeros, lambda members: [(members[0][0], whole), *members[1:]]) is None
    assert open_archive(tmp_path / "a.tti").tensor(KEY).tolist() == [0.0] * 4


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda m: m["tensors"][KEY].pop("repeated"), "E0704"),
        (lambda m: m["tensors"][KEY].update(repeated=1), "E0703"),
        (lambda m: m["tensors"]["one"].update(repeated=True), "E0703"),
        (lambda m: m["states"].clear(), "E0703"),
        (lambda m: m["tensors"][KEY].update(shape=[5]), "E0703"),
        (lambda m: m["tensors"][KEY].update(shape=[1]), "E0703"),
        (lambda m: m["tensors"][KEY].update(shape=[4, 0]), "E0703"),
        (lambda m: m["tensors"][KEY].update(format="Bfp8_b"), "E0703"),
        (lambda m: m["tensors"][KEY].update(format="Float64"), "E0704"),
        (lambda m: m["tensors"][KEY].update(shape=[1 << 30, 1 << 30]), "E0703"),
        (lambda m: m["tensors"][KEY].update(shape=[1 << 24, 1 << 24]), "E0104"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(counter, tmp_path: Path, change: Callable[[dict], object], code: str):
    written(counter, tmp_path / "a.tti", np.zeros(4, np.float32), "Float32", more=False)
    assert forge(tmp_path / "a.tti", change) == code


def test_many_states_count_together(counter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ttc.runtime.engines.room.memory_bytes", lambda: 1 << 26)
    netlist, tensors, description = counter
    states = {f"s{number}": ManifestVariable(f"s{number}", (1 << 23,), "float32") for number in range(3)}
    zeros = TensorSource.of_array(np.broadcast_to(np.float32(0), (1 << 23,)), "Float32")
    write_archive(
        tmp_path / "a.tti",
        netlist=netlist,
        tensors={**tensors, **dict.fromkeys(states, zeros)},
        description=replace(description, states={**description.states, **states}),
    )
    archive = open_archive(tmp_path / "a.tti")
    assert archive.tensor("s0").shape == (1 << 23,), "one of them fits"
    assert forge(tmp_path / "a.tti") == "E0104"
