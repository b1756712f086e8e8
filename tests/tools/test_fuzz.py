"""`tools/fuzz.py`: what it finds and how it goes on after it, and a short run over all formats."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import fuzz
from fuzz_formats import Files, Format
from fuzz_mutators import ANY, change_json, change_protobuf, mutated
from fuzz_seeds import FORMATS
from ttc.dialects.core.errors import Error

ROOT = Path(__file__).resolve().parents[2]


def planted(run: Callable[[Path], None]) -> Format:
    return Format("planted", "m.bin", lambda _: [{"m.bin": b"valid"}], run)


def fails(how: Callable[[], object]) -> Callable[[Path], None]:
    """Accepts the valid file, refuses others, but for some that fail like that."""

    def run(path: Path) -> None:
        data = path.read_bytes()
        if data == b"valid":
            return
        if len(data) % 3 == 0:
            how()
        raise Error("E0201", "refused")

    return run


def spin() -> None:
    while True:
        pass


FAILURES = {
    "AttributeError": lambda: None.x,  # pyright: ignore[reportAttributeAccessIssue,reportOptionalMemberAccess]
    "MemoryError": lambda: np.ones(3 << 28),
    "the process ended with status -6": lambda: os.kill(os.getpid(), signal.SIGABRT),
    "Forbidden": lambda: Path("/tmp/../outside").open("w"),
    "Error": lambda: (_ for _ in ()).throw(Error("E0901", "a bug")),
}


@pytest.mark.parametrize("kind", FAILURES)
def test_what_is_a_finding(kind: str) -> None:
    """All inputs are run, whatever becomes of the process; the first of those alike is kept."""
    tally = fuzz.fuzz(planted(fails(FAILURES[kind])), 1, range(20), 60)
    (finding,) = tally.findings.values()
    assert finding.what.startswith(kind)
    assert finding.count > 1
    assert (tally.inputs, sum(tally.codes.values())) == (20, 20 - finding.count - tally.accepted)


def test_too_much_time_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "SECONDS", 0.1)
    tally = fuzz.fuzz(planted(fails(spin)), 1, range(5), 60)
    assert tally.inputs == 5
    assert [f.what for f in tally.findings.values()] == ["Forbidden: more than 0.1 s"]


def test_valid_files_must_be_valid() -> None:
    def refuse(_: Path) -> None:
        raise Error("E0201", "not even this")

    with pytest.raises(RuntimeError, match="not even this"):
        fuzz.fuzz(planted(refuse), 0, range(3), 60)


@pytest.mark.parametrize("mutator", ANY, ids=lambda m: m.__name__)
def test_bytes(mutator: Callable[..., bytes]) -> None:
    data = bytes(range(64))
    assert any(mutator(random.Random(i), data, [data[::-1]]) != data for i in range(9))
    assert mutator(random.Random(1), b"x", []) is not None


def test_structures_stay_readable(tmp_path: Path) -> None:
    """Messages and JSON still parse after a change of a value, so that what is behind the parser is tested, too."""
    import onnx

    model = FORMATS["onnx"].seeds(tmp_path)[0]["m.onnx"]
    read = 0
    for index in range(100):
        try:
            onnx.load_from_string(change_protobuf(random.Random(index), model, [model]))
            read += 1
        except Exception:  # noqa: BLE001, S112 - protobuf's own
            continue
    assert read > 60
    text = json.dumps({"a": [1, {"b": "c"}], "d": 1.5}).encode()
    changed = [change_json(random.Random(i), text, [text]) for i in range(50)]
    assert len({json.dumps(json.loads(c)) for c in changed}) > 20


def test_the_same_seed_gives_the_same_inputs(tmp_path: Path) -> None:
    seeds: list[Files] = FORMATS["tflite"].seeds(tmp_path)
    made = [[fuzz.input_of(FORMATS["tflite"], seeds, seed, index) for index in range(20)] for seed in (3, 3, 4)]
    assert made[0] == made[1] != made[2]
    assert mutated(random.Random(1), "m.yaml", b"", []) == b""


def test_findings_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = planted(fails(FAILURES["AttributeError"]))
    monkeypatch.setitem(FORMATS, "planted", found)
    tally = fuzz.fuzz(found, 1, range(20), 60)
    fuzz.save_findings(tally, 1, tmp_path)
    (folder,) = tmp_path.iterdir()
    assert len((folder / "m.bin").read_bytes()) % 3 == 0
    assert "AttributeError" in (folder / "finding.txt").read_text()
    assert any("AttributeError" in line for line in fuzz.findings(tally))


def test_all_formats() -> None:
    """No finding in the first inputs of each format; as many as time allows."""
    command = [sys.executable, str(ROOT / "tools" / "fuzz.py"), "--count", "250", "--seconds", "30", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.stdout, done.stderr
    tallies = json.loads(done.stdout)
    assert [tally["format"] for tally in tallies] == [name for name in FORMATS if name != "keras_tf"]
    assert not [finding for tally in tallies for finding in tally["findings"]], done.stdout
    for tally in tallies:
        assert tally["skipped"] or tally["inputs"] >= fuzz.LEAST
    assert done.returncode == 0


def test_keras_files_that_tensorflow_reads() -> None:
    """In forked processes, where what it raises is a refusal."""
    format_ = FORMATS["keras_tf"]
    if format_.missing():
        pytest.skip("TensorFlow is not installed")
    command = [sys.executable, str(ROOT / "tools" / "fuzz.py"), "--format", "keras_tf", "--count", "12", "--seconds", "1", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)})
    (tally,) = json.loads(done.stdout)
    assert (done.returncode, tally["findings"]) == (0, [])
    assert tally["inputs"] >= fuzz.LEAST
    assert 0 < tally["accepted"] < tally["inputs"]
