"""Pipelines as text."""

from __future__ import annotations

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.core.rules.precision import PrecisionRule
from ttc.passes.nn.canonicalize import Canonicalize
from ttc.passes.nn.fold_qdq import FoldQdq
from ttc.passes.nn_to_tile.stream_batch import StreamBatch
from ttc.passes.pipeline import PipelineSettings, stages
from ttc.passes.pipeline_text import all_passes, pass_options, pipeline_text, read_pipeline
from ttc.passes.tile.assign_formats import AssignFormats
from ttc.passes.tile.override_formats import OverrideFormats

STAGES = {"nn": [Canonicalize(), FoldQdq()]}


def test_a_whole_pipeline_reads_back() -> None:
    rules = (PrecisionRule(op="matmul", output="Bfp8_b"), PrecisionRule(name='a "b"\\', weights="Bfp4_b"))
    passes = [
        p for stage in stages(load_target("n150"), PipelineSettings(format="Float16_b", rules=rules, chips=(0, 1))).values() for p in stage
    ]
    assert read_pipeline(pipeline_text(passes), {}) == passes


def test_options_and_stages() -> None:
    found = read_pipeline(
        ' nn , stream-batch{samples=4},stream-batch{samples=none}, override-formats{rules=["op=add output=Tf32"]}', STAGES
    )
    assert found == [Canonicalize(), FoldQdq(), StreamBatch(4), StreamBatch(), OverrideFormats((PrecisionRule(op="add", output="Tf32"),))]
    assert read_pipeline("assign-formats{format=Bfp8_b}", {}) == [AssignFormats("Bfp8_b")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "its end where the name of a pass"),
        ("fold-qd", "did you mean 'fold-qdq'?"),
        ("nn,", "its end where the name of a pass"),
        ("nn{}", "'nn' is a stage"),
        ("stream-batch{sample=3}", "did you mean 'samples'?"),
        ("stream-batch{samples=x}", "it takes whole number"),
        ("stream-batch{samples=1 samples=2}", "twice"),
        ("stream-batch{samples=1", "its end where an option"),
        ("stream-batch{samples=}", "} where a value must stand"),
        ("stream-batch{samples=[[1]]}", "it takes whole number"),
        ('fold-qdq,"x', "cannot be read"),
        ("fold-qdq fold-qdq", "where ',' must stand"),
        ("nn," * 600 + "nn", "more than 1000 passes"),
    ],
)
def test_what_cannot_be_read_is_named(text: str, words: str) -> None:
    with pytest.raises(Error) as caught:
        read_pipeline(text, STAGES)
    assert caught.value.code == "E0101"
    assert words in str(caught.value)


def test_every_pass_is_found_by_its_name() -> None:
    assert all_passes()["canonicalize"] is Canonicalize
    assert pass_options(StreamBatch) == {"samples": int | None, "chips": int, "format": str | None, "replicas": int | None}
    assert {p.name for stage in stages(load_target("n150")).values() for p in stage} <= set(all_passes())
