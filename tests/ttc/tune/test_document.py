"""Rules written as TOML."""

from __future__ import annotations

from pathlib import Path

from ttc.dialects.core.rules.precision import PrecisionRule
from ttc.settings.precision_reader import read_rules
from ttc.tune.document import document


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    rules = (PrecisionRule("matmul", weights="Bfp8_b"), PrecisionRule("map", 'a"b\\c\n[[]d]\x7fé😀', output="Float16_b", fidelity="LoFi"))
    path = tmp_path / "rules.toml"
    text = document(rules, ["found\nby hand"])
    path.write_text(text, encoding="utf-8")
    assert text.startswith('# found by hand\n\n[[precision]]\nop = "matmul"\nweights = "Bfp8_b"\n\n[[precision]]\n')
    assert read_rules(path) == rules
