"""Random data belong to one test: they depend on its name and on nothing that ran before."""

from __future__ import annotations

import numpy as np
import pytest

from tests.draws import generator


@pytest.mark.parametrize("part", ["a", "b"])
def test_the_fixture_is_seeded_by_name_and_parameters(rng: np.random.Generator, part: str) -> None:
    name = f"test_the_fixture_is_seeded_by_name_and_parameters[{part}]"
    assert np.array_equal(rng.standard_normal(5), generator(name).standard_normal(5))


def test_numbers_depend_on_the_name_alone() -> None:
    first = generator("a").standard_normal(5)
    assert np.array_equal(generator("a").standard_normal(5), first)
    assert not np.array_equal(generator("b").standard_normal(5), first)
    assert first[0] == pytest.approx(np.random.default_rng(0xE8B7BE43).standard_normal())
