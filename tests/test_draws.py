"""Random data belong to one test: they depend on its name and on nothing that ran before."""

from __future__ import annotations

import random
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import pytest_collection_modifyitems
from tests.draws import drawing, generator, rng_of_test
from tests.generators import kept_generators

TESTS = Path(__file__).parent


@pytest.mark.parametrize("part", ["a", "b"])
def test_the_fixture_is_seeded_by_name_and_parameters(rng: np.random.Generator, part: str) -> None:
    name = f"test_the_fixture_is_seeded_by_name_and_parameters[{part}]"
    assert np.array_equal(rng.standard_normal(5), generator(name).standard_normal(5))


def test_numbers_depend_on_the_name_alone() -> None:
    first = generator("a").standard_normal(5)
    assert np.array_equal(generator("a").standard_normal(5), first)
    assert not np.array_equal(generator("b").standard_normal(5), first)
    assert first[0] == np.random.default_rng(0xE8B7BE43).standard_normal()


DRAWN_AT_IMPORT = rng_of_test().standard_normal(5)


def test_modules_draw_from_generators_of_their_own() -> None:
    assert np.array_equal(DRAWN_AT_IMPORT, generator("tests.test_draws").standard_normal(5))


def test_helpers_draw_from_the_generator_of_the_test(rng: np.random.Generator) -> None:
    assert rng_of_test() is rng


def test_every_example_draws_the_same_numbers() -> None:
    seen: set[float] = set()

    @given(st.integers())
    def example(_: int) -> None:
        seen.add(rng_of_test().standard_normal())

    example()
    assert len(seen) == 1


def test_examples_are_the_same_in_every_run() -> None:
    assert (settings.default.deadline, settings.default.derandomize, settings.default.database) == (None, True, None)


@pytest.mark.parametrize("number", range(2))
def test_generators_that_libraries_share_are_seeded_by_the_name(number: int) -> None:
    seed = crc32(f"test_generators_that_libraries_share_are_seeded_by_the_name[{number}]".encode())
    assert random.random() == random.Random(seed).random()
    assert np.random.random() == np.random.RandomState(seed).random()


def test_pytorch_is_seeded_by_the_name() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")
    seeded = torch.Generator().manual_seed(crc32(b"a name"))
    with drawing("a name"):
        assert torch.rand(3).tolist() == torch.rand(3, generator=seeded).tolist()


def test_no_module_keeps_a_generator() -> None:
    found = {str(path.relative_to(TESTS)): kept_generators(path.read_text()) for path in TESTS.rglob("*.py")}
    faults = {path: lines for path, lines in found.items() if lines}
    assert faults == {}, "draw from the fixture rng, or from tests.draws.generator(name) at once"


@pytest.mark.parametrize(
    "kept",
    [
        "RNG = np.random.default_rng(1)",
        "RNG: np.random.Generator = generator('x')",
        "A, B = random.Random(1), 2",
        "class Cases:\n    rng = np.random.RandomState(0)",
        "def f(rng=np.random.default_rng(0)): ...",
        "G = torch.Generator().manual_seed(0)",
        "X = np.random.standard_normal(3)",
        "X = torch.randn(2, 3)",
        "torch.manual_seed(0)",
        "@pytest.mark.parametrize('x', [random.random()])\ndef test_x(x): ...",
    ],
)
def test_a_kept_generator_is_found(kept: str) -> None:
    assert len(kept_generators(kept)) == 1


@pytest.mark.parametrize(
    "own",
    [
        "X = np.random.default_rng(1).standard_normal(3)",
        "X = [normal(3), generator('x').random(2)]",
        "X = torch.randn(2, generator=torch.Generator().manual_seed(0))",
        "def test_x():\n    rng = np.random.default_rng(1)\n    torch.manual_seed(0)",
        "draw = lambda: np.random.default_rng(1)",
        "X = torch.ones(3)",
    ],
)
def test_what_is_drawn_at_once_keeps_nothing(own: str) -> None:
    assert kept_generators(own) == []


@pytest.mark.parametrize("seed", [1, 2])
def test_an_order_is_repeated_by_its_seed(seed: int) -> None:
    config = SimpleNamespace(getoption=lambda _: seed)
    listed = [SimpleNamespace(path=module, name=test) for module in "abcd" for test in range(9)]
    first, again = list(listed), list(listed)
    pytest_collection_modifyitems(config, first)  # pyright: ignore[reportArgumentType]
    pytest_collection_modifyitems(config, again)  # pyright: ignore[reportArgumentType]
    assert first == again != listed
    assert len(list(groupby(first, key=lambda item: item.path))) == 4  # modules stay together


def test_the_order_is_fixed_without_a_seed() -> None:
    listed = [SimpleNamespace(path="b"), SimpleNamespace(path="a")]
    given = list(listed)
    pytest_collection_modifyitems(SimpleNamespace(getoption=lambda _: None), given)  # pyright: ignore[reportArgumentType]
    assert given == listed
