"""Rules of precision: what they match, how they add up, how they are written."""

from __future__ import annotations

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.rules.precision import AMP, PrecisionRule, exactly, settle, width


@pytest.mark.parametrize(
    ("rule", "matches"),
    [
        (PrecisionRule(), True),
        (PrecisionRule("matmul"), True),
        (PrecisionRule("mat*"), True),
        (PrecisionRule("conv*"), False),
        (PrecisionRule(name="/layer1/*"), True),
        (PrecisionRule(name="/layer1"), False),
        (PrecisionRule("matmul", "*/q"), True),
        (PrecisionRule("map", "*/q"), False),
    ],
)
def test_what_matches(rule: PrecisionRule, matches: bool) -> None:
    assert rule.matches(["matmul"], ["/norm", "/layer1/q"]) == matches


def test_a_name_is_matched_exactly() -> None:
    name = "/layer[0]/x*?"
    assert PrecisionRule(name=exactly(name)).matches(["map"], [name])
    assert not PrecisionRule(name=exactly(name)).matches(["map"], ["/layer0/xy?"])


def test_later_rules_override_setting_by_setting() -> None:
    first, second = PrecisionRule("matmul", weights="Float16_b", fidelity="LoFi"), PrecisionRule(name="/q", fidelity="HiFi4")
    found = settle([first, second], ["matmul"], ["/q"])
    assert found == {"weights": ("Float16_b", first), "fidelity": ("HiFi4", second)}


@pytest.mark.parametrize("name", ["*", "/layer 1/*", "it's", 'a"b', "x=y", "naïve;"])
def test_text_is_read_back(name: str) -> None:
    rule = PrecisionRule("conv2d", name, output="Bfp8_b", accumulate="Float16", intermediate="Float16_b")
    assert PrecisionRule.of_text(rule.text) == rule


@pytest.mark.parametrize(
    ("table", "hint"),
    [
        ({"ouput": "Float32"}, "did you mean 'output'?"),
        ({"output": "Bfp8b"}, "did you mean 'Bfp8_b'?"),
        ({"output": "Int32"}, None),
        ({"fidelity": "HiFi5"}, "did you mean 'HiFi4'?"),
        ({"accumulate": "Bfp8_b"}, None),
        ({"op": 3, "output": "Float32"}, None),
        ({"op": "matmul"}, "it takes output, weights, intermediate, accumulate, fidelity"),
        (3, "write [[precision]]"),
    ],
)
def test_what_no_rule_may_be(table: object, hint: str | None) -> None:
    with pytest.raises(Error) as caught:
        PrecisionRule.of(table, "rule 1")  # pyright: ignore[reportArgumentType]
    assert (caught.value.code, caught.value.where) == ("E0101", "rule 1")
    assert hint is None or caught.value.hint == hint


def test_a_text_that_does_not_end() -> None:
    with pytest.raises(Error) as caught:
        PrecisionRule.of_text("op='matmul")
    assert caught.value.code == "E0101"


def test_levels_of_mixed_precision() -> None:
    assert AMP[0] == ()
    assert all(rule.preset for level in AMP for rule in level)
    for level, weights, fidelity in ((1, "Bfp8_b", "HiFi2"), (2, "Bfp4_b", "LoFi")):
        for op in ("matmul", "conv2d", "conv_transpose2d"):
            found = {key: value for key, (value, _) in settle(AMP[level], [op], []).items()}
            assert found | {"weights": weights, "fidelity": fidelity} == found
        assert not [op for op in ("softmax", "layer_norm", "reduce", "attention") if settle(AMP[level], [op], [])]


def test_widths() -> None:
    assert sorted(("Bfp4_b", "Float32", "Bfp8_b", "Float16_b"), key=width) == ["Bfp4_b", "Bfp8_b", "Float16_b", "Float32"]
    assert width("Bfp8_b") == 1024 + 64
