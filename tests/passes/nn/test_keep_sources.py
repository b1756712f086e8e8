"""Small constants are listed, smallest first, within their limits."""

from __future__ import annotations

from tests.passes.conftest import Harness
from ttc.dialects.core.ir.entries import module_attr
from ttc.passes.nn.keep_sources import KeepSources


def constants(*elements: int) -> str:
    lines = ["(%x: tensor<1xi64>)"]
    lines += [
        f'%w{i} = ttc.constant() {{value = #ttc.weight<"w{i}", tensor<{n}xi64>>}} : () -> tensor<{n}xi64>' for i, n in enumerate(elements)
    ]
    return "\n".join([*lines, "return %x : tensor<1xi64>"])


def test_docstring(harness: Harness) -> None:
    outcome = harness.docstring(KeepSources())
    assert module_attr(outcome.unit.module, "sources") == (("w", (32,), "int64"),)


def test_large_constants_are_left_out(harness: Harness) -> None:
    outcome = harness.run(KeepSources(), constants(1000, 100, 3000))
    assert [row[0] for row in module_attr(outcome.unit.module, "sources")] == ["w1", "w0"]


def test_all_together_stay_small(harness: Harness) -> None:
    outcome = harness.run(KeepSources(), constants(2000, 2000, 2000, 2000))
    assert len(module_attr(outcome.unit.module, "sources")) == 3
