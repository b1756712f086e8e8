"""ONNX's own suite, a fifth of it: what does not pass is listed with its reason, and what is listed does not pass.

`make conformance-onnx` runs all of it.
"""

from __future__ import annotations

import time
from pathlib import Path

import onnx
import pytest

import onnx_misses
from onnx_misses import FILE, differences, read, run_limited, text_of
from onnx_suite import NEVER_ON_HOST, Case, Outcome, cases

SHARDS = 39
"""Parts of the suite, each of a few seconds; every fifth runs here."""
VERSION, KNOWN = read(FILE.read_text(encoding="utf-8"))
BAR = 0.92
"""Share that passes of the suite of another version of onnx than the list is about."""


@pytest.fixture(scope="session")
def suite() -> list[Case]:
    return cases("")


@pytest.mark.parametrize("shard", range(0, SHARDS, 5))
def test_the_suite(shard: int, suite: list[Case], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONNX_MODELS", str(tmp_path))  # where it would put the data of whole models
    outcomes = [run_limited(case) for case in suite[shard::SHARDS]]
    assert len(outcomes) == len(range(shard, len(suite), SHARDS)) > 0
    assert {item.name: item.host_ops for item in outcomes if NEVER_ON_HOST & set(item.host_ops)} == {}
    if onnx.__version__ != VERSION:
        assert sum(item.status == "pass" for item in outcomes) >= BAR * len(outcomes)
        return
    assert differences(outcomes, KNOWN) == [], "run tools/onnx_misses.py if this is as it should be"


def test_the_list_names_cases_of_the_suite(suite: list[Case]) -> None:
    names = {case.outcome.name for case in suite}
    if onnx.__version__ == VERSION:
        assert KNOWN.keys() <= names
    assert len(KNOWN) <= (1 - BAR) * len(suite)


def test_the_list_and_its_text() -> None:
    outcomes = [
        Outcome("test_a", "node", "Add", ordinary=True),
        Outcome("test_b", "node", "Draw", ordinary=True, status="unsupported", reason="E0202 Draw\nno mapping"),
        Outcome("test_c", "node", "Add", ordinary=True, status="fail", reason="took more than 1 s"),
    ]
    version, known = read(text_of(outcomes))
    assert version == onnx.__version__
    assert known == {"test_b": ("unsupported", "E0202"), "test_c": ("fail", "took")}
    assert differences(outcomes, known) == []
    drawn = Outcome("test_bernoulli_seed", "node", "Bernoulli", ordinary=True, status="fail", reason="differs")
    assert "# test_bernoulli*: expected are draws of numpy" in text_of([*outcomes, drawn])
    assert "bernoulli" not in text_of(outcomes)
    del known["test_b"]
    known["test_a"] = ("fail", "E0401")
    assert differences(outcomes, known) == [
        "test_a: pass; the list has fail E0401",
        "test_b: unsupported E0202 Draw\nno mapping; the list has pass",
    ]


def test_a_case_that_does_not_end() -> None:
    def hang(_: object) -> None:
        while True:
            try:
                time.sleep(0.01)
            except Exception:  # noqa: BLE001, S112 - as careless code would
                continue

    found = run_limited(Case(Outcome("test_made", "node", "Made", ordinary=True), hang), 0.2)
    assert (found.status, found.reason) == ("fail", "took more than 0.2 s")


def test_the_list_is_written_anew_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def case(name: str, run: object) -> Case:
        return Case(Outcome(name, "node", "Made", ordinary=True), run)  # pyright: ignore[reportArgumentType]

    made = {"test_a": lambda _: None, "test_b": lambda _: 1 / 0, "test_c": lambda _: 1 / 0}
    file = tmp_path / "misses.txt"
    file.write_text(text_of(Outcome(name, "node", "Made", ordinary=True, status="fail", reason="before") for name in ("test_a", "test_b")))
    monkeypatch.setattr(onnx_misses, "FILE", file)
    monkeypatch.setattr(onnx_misses, "cases", lambda pattern: [case(name, run) for name, run in made.items() if pattern in name])
    found = []
    for options in (["-k", "test_a"], ["--listed"], []):
        monkeypatch.setattr("sys.argv", ["onnx_misses.py", *options])
        assert onnx_misses.main() == 0
        found.append(read(file.read_text())[1])
    failed = ("fail", "ZeroDivisionError:")
    assert found == [{"test_b": ("fail", "before")}, {"test_b": failed}, {"test_b": failed, "test_c": failed}]
    assert capsys.readouterr().out.splitlines()[-1] == f"2 of 3 cases do not pass: {file}"
