"""Patterns of rules: shell patterns, and regular expressions that match the whole text."""

from __future__ import annotations

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.rules.patterns import fits
from ttc.dialects.core.rules.placement import rule_of
from ttc.dialects.core.rules.precision import PrecisionRule


@pytest.mark.parametrize(
    ("pattern", "text", "wanted"),
    [
        *(("conv*", "conv2d", True), ("conv", "conv2d", False), ("re", "re", True), ("re?", "re:", True)),
        *(
            ("re:conv", "conv2d", False),
            ("re:conv.*", "conv2d", True),
            (r"re:layer\d+", "layer12", True),
            (r"re:layer\d+", "layer1x", False),
        ),
    ],
)
def test_what_patterns_mean(pattern: str, text: str, wanted: bool) -> None:
    assert fits(pattern, text) is wanted


def test_rules_take_regular_expressions_and_refuse_bad_ones() -> None:
    assert PrecisionRule.of_text(r"name=re:layer\d+ fidelity=LoFi".replace("\\", "\\\\")).matches(["matmul"], ["layer1"])
    for make in (
        lambda: rule_of({"name": "re:(", "epoch_break": True}, "here"),
        lambda: PrecisionRule.of({"op": "re:(", "fidelity": "LoFi"}, "here"),
    ):
        with pytest.raises(Error, match="no regular expression") as caught:
            make()
        assert caught.value.code == "E0101"
