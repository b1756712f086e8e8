"""Tests of the pass in passes/nn/train_attention.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.passes.documented import pair
from ttc.dialects.core.machines.targets import load_target
from ttc.passes.base import Unit
from ttc.passes.manager import run_pass
from ttc.passes.nn.train_attention import TrainAttention

if TYPE_CHECKING:
    from tests.passes.conftest import Harness


def test_docstring(harness: Harness) -> None:
    outcome = harness.docstring(TrainAttention())
    assert [remark.message for remark in outcome.remarks] == ["the gradient of attention computes scores again, part by part"]


def attention(rows: int, dtype: str = "f32") -> str:
    type_ = f"tensor<2x{rows}x8x{dtype}>"
    return f"""(%q: {type_}, %m: tensor<{rows}x{rows}x{dtype}>)
    %0 = nn.attention(%q, %q, %q, %m) {{scale = 0.5, zero_masked = true}}
        : ({type_}, {type_}, {type_}, tensor<{rows}x{rows}x{dtype}>) -> {type_}
    return %0 : {type_}"""


@pytest.mark.parametrize(
    ("rows", "dtype", "precision", "reason"),
    [
        (31, "f32", "float32", "it has 961 elements, fewer than 1,024"),
        (255, "f32", "bfloat16", "it has 65,025 elements, fewer than 65,536"),
        (64, "f64", "float32", "there is no kernel for float64"),
    ],
)
def test_what_has_its_matrix_of_scores(harness: Harness, rows: int, dtype: str, precision: str, reason: str) -> None:
    outcome = harness.run(TrainAttention(precision), attention(rows, dtype))
    assert [remark.message for remark in outcome.remarks] == [f"the gradient of attention has the matrix of scores: {reason}"]
    assert outcome.count("attention_training") == 0


@pytest.mark.parametrize(("rows", "precision"), [(32, "float32"), (32, "high"), (256, "bfloat16")])
def test_what_has_none(harness: Harness, rows: int, precision: str) -> None:
    outcome = harness.run(TrainAttention(precision), attention(rows))
    assert (outcome.count("attention_training"), outcome.report.rewrites) == (1, {"train-attention": 1})


def test_masks_are_kept(harness: Harness) -> None:
    assert harness.numbers(TrainAttention(), attention(33)).count("attention_training") == 1


def test_devices_have_no_kernel(harness: Harness) -> None:
    unit = harness.parse(pair(TrainAttention)[0])
    report = run_pass(TrainAttention(), Unit(unit.module, unit.weights, load_target("n150")))
    assert [remark.message.rpartition(": ")[2] for remark in report.remarks] == ["devices have no kernel for it"]
    assert not report.rewrites
