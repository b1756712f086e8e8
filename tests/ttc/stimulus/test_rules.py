"""How queues are filled."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.golden.netlists import queue_of
from ttc.stimulus.rules import Rules, StimulusRule, draw, matches, stored


def test_kinds():
    queue = queue_of(t=2)
    uniform = draw(StimulusRule("uniform", {"low": 2.0, "high": 3.0}), queue, 0, 0)
    assert uniform.shape == (2, 32, 32)
    assert 2 <= uniform.min() < 2.01
    assert 2.99 < uniform.max() < 3
    normal = draw(StimulusRule("normal", {"mean": 5.0, "stddev": 0.1}), queue, 0, 0)
    assert abs(normal.mean() - 5) < 0.01
    assert abs(normal.std() - 0.1) < 0.01
    assert (draw(StimulusRule("constant", {"value": 0.5}), queue, 0, 0) == 0.5).all()
    numbers = draw(StimulusRule("debugtileid", {"base": 1.0, "step": 2.0}), queue, 0, 0)
    assert [(m.min(), m.max()) for m in numbers] == [(1, 1), (3, 3)]
    assert draw(StimulusRule("step", {"start": 1.0, "increment": 2.0}), queue, 0, 0)[1, 31, 31] == 1 + 2 * 2047
    assert draw(StimulusRule("steprowwise"), queue, 0, 0)[1, 7].tolist() == list(range(32))
    assert draw(StimulusRule("stepcolumnwise"), queue, 0, 0)[1, :, 7].tolist() == list(range(32))
    selecting = draw(StimulusRule("sparse"), queue, 0, 0)
    assert set(np.unique(selecting)) == {0, 1}
    assert selecting.sum(axis=-1).max() == 1


def test_integer_formats_take_both_bounds():
    values = draw(StimulusRule("uniform", {"low": -2.9, "high": 2.0}), queue_of(format="Int8"), 0, 0)
    assert np.unique(values).tolist() == [-2, -1, 0, 1, 2]


def test_rows_and_columns_of_each_tile():
    values = draw(StimulusRule("constant", rows=(0, 0), cols=(2, 3)), queue_of(), 0, 0)[0]
    assert np.argwhere(values).tolist() == [[0, 2], [0, 3]]


def test_numbers_depend_on_seed_queue_and_entry_alone():
    rule = StimulusRule("uniform")
    first = draw(rule, queue_of("a"), 3, 7)
    np.testing.assert_array_equal(first, draw(rule, queue_of("a"), 3, 7))
    assert first[0, 0, 0] == np.random.default_rng((7, 3904355907, 3)).uniform(-1, 1)
    for other in (draw(rule, queue_of("b"), 3, 7), draw(rule, queue_of("a"), 4, 7), draw(rule, queue_of("a"), 3, 8)):
        assert (first != other).mean() > 0.99


@pytest.mark.parametrize(
    ("format", "given", "held"),
    [
        ("Float16_b", 1.0 + 2.0**-8 + 2.0**-9, 1.0),
        ("Float16", -1.0 - 2.0**-11 - 2.0**-12, -1.0),
        ("Bfp8", 1.0 + 2.0**-7, 1.0 + 2.0**-6),
        ("Float32", 1.0 + 2.0**-20, 1.0 + 2.0**-20),
        ("Int8", 200.6, 127),
        ("RawUInt32", 7.4, 7),
    ],
)
def test_what_the_host_pushes_takes_the_format_of_the_queue(format: str, given: float, held: float):
    assert stored(np.full((1, 32, 32), given), queue_of(format=format))[0, 0, 0] == held


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("a.b", "a.b", True),
        ("a.b", "axb", True),
        ("a.b", "ab", False),
        ("test.weights.*", "test.weights1", True),
        ("test.weights.*", "test.weights", True),
        (".*lr", "in_0.lr", True),
        ("in.*0.*r", "input_0.lr", True),
        ("in.*0.*x", "input_0.lr", False),
        ("a+", "aa", False),
        (r".*\.weight", "b.weight", True),
        (r".*\.weight", "b_weight", False),
        ("lc..*_m2.*", "lc.x_m2_0", True),
        ("a*", "a*", True),
        ("aa.*aa", "aaa", False),
    ],
)
def test_patterns(pattern: str, name: str, fits: bool):
    assert matches(pattern, name) is fits


def test_first_override_counts():
    rules = Rules(StimulusRule("normal"), (("w.*", StimulusRule("constant")), ("w1", StimulusRule("step"))))
    assert [rules.of(name).kind for name in ("w1", "x")] == ["constant", "normal"]
    assert rules.own("x") is None
