"""`tools/torch_suite.py`, on the first sample of every ninth operator of PyTorch's own database; `make conformance-torch` takes all.

The list `tests/data/torch_suite.json` is of every third operator: those that are not right, with what becomes of them and why.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("expecttest", reason="PyTorch's operator database needs it")
torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

import torch_suite  # noqa: E402
from suite import Outcome  # noqa: E402
from torch_suite import Case, Suite, name_of, operators, run_all, run_case, samples_of, tables  # noqa: E402

LISTED = json.loads((Path(__file__).parents[1] / "data" / "torch_suite.json").read_text())
PARTS = 4
"""The sample is cut into so many tests, which processes share."""


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Children are forked: they have none of PyTorch's other threads."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def sampled() -> list[Any]:
    return operators("")[::3]


@pytest.mark.parametrize("part", range(PARTS))
def test_first_samples(part: int) -> None:
    found: dict[str, str] = {}
    chosen = sampled()[::3][part::PARTS]
    for op in chosen:
        (sample,) = samples_of(op, 1) or [None]
        if sample is not None:
            outcome = run_case(Case(op, 0), sample)
            found[outcome.name] = outcome.status
    assert len(found) > 10
    names = {f"{name_of(op)}:0" for op in chosen}
    assert {name: status for name, status in found.items() if status != "pass"} == {n: s for n, (s, _) in LISTED.items() if n in names}


def test_the_list_names_samples_and_reasons() -> None:
    names = {f"{name_of(op)}:0" for op in sampled()}
    assert LISTED.keys() <= names
    assert all(why for _, why in LISTED.values())
    assert len(LISTED) < len(names) / 5


def test_a_wrong_result_is_seen() -> None:
    expected = (torch.tensor([1.0, 2.0]), torch.tensor([1, 2]))
    right = [np.array([1, 2], np.float32), np.array([1, 2])]
    assert torch_suite._difference(right, expected) == ""
    assert "differs by 1" in torch_suite._difference([right[0] + 1, right[1]], expected)
    assert "1 of 2 elements" in torch_suite._difference([right[0], np.array([1, 3])], expected)
    assert "not int64" in torch_suite._difference([right[0], right[0]], expected)
    assert torch_suite._difference(right[:1], expected) == "1 results, not 2"


def test_children_report_and_their_death_is_an_outcome() -> None:
    (op,) = operators("^zero_$") or operators("^relu$")

    def die(_case: Case, _sample: Any) -> Outcome:
        raise SystemExit(3)

    ops = operators("^(exp2|square)$")
    outcomes = run_all(Suite(samples_of, run_case), ops, 1, 60, 2)
    assert [(o.name, o.status) for o in outcomes] == [(f"{name_of(op)}:0", "pass") for op in ops]
    assert "2 of the 2 that torch.export exports are right: 100.0 %" in "\n".join(tables(outcomes, verbose=True))
    assert [o.status for o in run_all(Suite(samples_of, die), [op], 1, 60, 1)] == ["fail"]
