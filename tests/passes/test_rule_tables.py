"""Rules are found by name in the modules that define them."""

from __future__ import annotations

import ttc.passes.nn_to_tile as lowerings
from ttc.dialects.nn.base import dialect
from ttc.passes.nn_to_tile.shape import lower_reshape
from ttc.passes.rule_tables import rules


def test_a_rule_stands_for_its_mnemonic() -> None:
    assert rules(lowerings.__name__, "lower_")["reshape"] is lower_reshape


def test_every_lowering_is_of_an_op() -> None:
    mnemonics = {op.name.removeprefix("nn.") for op in dialect().operations}
    for prefix in ("lower_", "wants_"):
        found = rules(lowerings.__name__, prefix).keys() - {"elementwise"}
        assert found
        assert found <= mnemonics


def test_a_prefix_that_nothing_has() -> None:
    assert rules(lowerings.__name__, "nothing_") == {}
