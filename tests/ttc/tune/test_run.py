"""The search as a whole: what it finds keeps the bound, costs less, and is the same every time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ttc
from ttc.accuracy.distances import compare
from ttc.dialects.core.errors import Error
from ttc.options import TuneOptions
from ttc.settings.option_values import read_shapes
from ttc.settings.precision_reader import read_rules
from ttc.tune.document import document
from ttc.tune.run import TuneOutcome, tune

X = np.random.default_rng(1).standard_normal((32, 64)).astype(np.float32)


def found(path: Path, **fields: Any) -> TuneOutcome:
    def gather(arguments: object) -> Mapping[str, NDArray]:
        return {"x": X}

    return tune(path, TuneOptions(**fields), gather, lambda text: None)  # pyright: ignore[reportArgumentType]


def test_the_bound_is_kept_by_what_is_compiled_and_run(two_layers: Path, tmp_path: Path) -> None:
    outcome = found(two_layers, pcc=0.999, effort=60)
    assert outcome.deviation.pcc >= 0.999
    assert outcome.after.tensor_bytes < 0.6 * outcome.before.tensor_bytes
    assert outcome.after.cycles <= outcome.before.cycles
    file = tmp_path / "rules.toml"
    file.write_text(document(outcome.rules, ["two layers"]))
    assert read_rules(file) == outcome.rules
    outputs = []
    for options in ({}, {"precision_file": file}):
        ttc.compile(two_layers, **options).save(tmp_path / "two.tti")
        with ttc.load(tmp_path / "two.tti") as executor:
            outputs.append(executor.run({"x": X}))
    pccs = [compare(outputs[1][name], outputs[0][name]).pcc for name in ("y", "z")]
    assert min(pccs) == pytest.approx(outcome.deviation.pcc, abs=1e-9)


def test_ops_that_need_it_keep_more_than_their_kind(two_layers: Path) -> None:
    outcome = found(two_layers, pcc=0.999, effort=60)
    (weights,) = [row.values for row in outcome.rows if row.key == "weights"]
    assert weights.get("Bfp4_b", 0) >= 1
    assert len(weights) > 1


def test_a_search_is_deterministic(two_layers: Path) -> None:
    first, second = (found(two_layers, pcc=0.99, effort=25) for _ in range(2))
    assert (first.rules, first.deviation, first.evaluations) == (second.rules, second.deviation, second.evaluations)
    assert first.evaluations <= 25


def test_candidates_limit_the_choice(two_layers: Path) -> None:
    outcome = found(two_layers, candidates=("Float16_b",), target="host")
    formats = {value for row in outcome.rows for value in row.values}
    assert formats == {"Float16_b"}
    assert outcome.after.tensor_bytes == outcome.before.tensor_bytes // 2


def test_a_bound_that_nothing_keeps(two_layers: Path) -> None:
    with pytest.raises(Error) as caught:
        found(two_layers, pcc=1.0)
    assert caught.value.code == "E0503"


def test_a_program_that_is_not_there(two_layers: Path) -> None:
    with pytest.raises(Error) as caught:
        found(two_layers, program="fordward", shape=read_shapes(()))
    assert (caught.value.code, caught.value.hint) == ("E0803", "did you mean 'forward'?")
