"""Generators of random data for tests, seeded by names: what a test draws depends neither on its order nor on its process.

A test draws from its fixture `rng`, a helper of tests from `rng_of_test()`, which is the same generator. Data made while a module of tests
is imported (lists of cases) come from a generator of that module; fixtures of a wider scope, which serve the test that comes first,
need a `generator` of their own.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from zlib import crc32

import numpy as np

_RUNNING: list[np.random.Generator] = []
_IMPORTED: dict[str, np.random.Generator] = {}


def generator(name: str) -> np.random.Generator:
    """Return a generator whose seed is the name's."""
    return np.random.default_rng(_seed(name))


def rng_of_test() -> np.random.Generator:
    """Return the generator of the test that runs, or of the module of tests that is being imported.

    Raises:
        RuntimeError: neither is so, as in fixtures of modules: what they draw would depend on the order of tests.
    """
    if module := _module_being_imported():
        return _IMPORTED.setdefault(module, generator(module))
    if not _RUNNING:
        raise RuntimeError("no test runs: take tests.draws.generator(name)")
    return _RUNNING[-1]


@contextmanager
def drawing(name: str) -> Iterator[np.random.Generator]:
    """While the test of that name runs, `rng_of_test` and the generators that libraries share are seeded by the name."""
    seed = _seed(name)
    random.seed(seed)
    np.random.seed(seed)
    if "torch" in sys.modules:
        sys.modules["torch"].default_generator.manual_seed(seed)  # `torch.manual_seed` notes the stack for each other device: 2 ms a test
    _RUNNING.append(np.random.default_rng(seed))
    try:
        yield _RUNNING[-1]
    finally:
        _RUNNING.pop()


class Examples:
    """The generator of the running test as hypothesis handles generators: every example starts with the same numbers.

    Otherwise what an example draws would depend on those before it, and one that fails could be neither repeated nor made smaller.
    """

    def seed(self, number: int) -> None:
        self.setstate(np.random.default_rng(number).bit_generator.state)

    def getstate(self) -> Any:
        return _RUNNING[-1].bit_generator.state if _RUNNING else None

    def setstate(self, state: Any) -> None:
        if _RUNNING and state is not None:
            _RUNNING[-1].bit_generator.state = state


EXAMPLES = Examples()


def _module_being_imported() -> str | None:
    """Return the name of the innermost module of tests whose own statements call us: one may import another."""
    frame = sys._getframe()
    while frame := frame.f_back:
        if frame.f_code.co_name == "<module>" and frame.f_globals["__name__"].startswith("tests."):
            return frame.f_globals["__name__"]
    return None


def _seed(name: str) -> int:
    return crc32(name.encode())
