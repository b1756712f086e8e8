"""Programs that generate: names and sizes, and caches that stay in their format."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")
pytest.importorskip("transformers", reason="transformers is installed where torch is")

import ttc  # noqa: E402
from tests.ttc.generation.models import model_of, theirs  # noqa: E402
from ttc.generation.compiling import programs_for  # noqa: E402


@pytest.mark.parametrize(
    ("length", "chunks", "expected"),
    [
        (200, (16, 128), {"decode": 1, "prefill": 128, "prefill_16": 16}),
        (20, (16, 128), {"decode": 1, "prefill": 20, "prefill_16": 16}),
        (16, (16, 128), {"decode": 1, "prefill": 16}),
        (1, (16,), {"decode": 1}),
        (9, (), {"decode": 1}),
    ],
)
def test_programs(length: int, chunks: tuple[int, ...], expected: dict[str, int]) -> None:
    assert programs_for(length, chunks) == expected


def test_caches_stay_in_their_format_and_are_written_in_place() -> None:
    model, prompt = model_of("llama"), [5, 9, 3, 7]
    with ttc.generator(model, max_length=40, chunks=(8,), target="host", precision="bfloat16") as generator:
        program = generator.program
        formats = {q.name: q.tensor.format for q in program.netlist.queues.values() if q.kind == "state"}
        assert set(formats.values()) == {"Float32"}
        assert set(generator.notes.wide) == {"logits", *(f"{what}_{layer}" for what in ("keys", "values") for layer in range(2))}
        for graph in program.netlist.graphs:
            plan: Any = program.plans[graph]
            updates = [line for line in plan.text().splitlines() if "over 'keys_" in line or "over 'values_" in line]
            assert len(updates) == 4
        found = generator.generate(prompt, 10, stop=())[0]
    assert found[0] == theirs(model, prompt, 1)[0]
