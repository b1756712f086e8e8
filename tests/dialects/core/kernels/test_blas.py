"""Products of numpy on one thread: the same numbers, and as many threads as before when they are over."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

from ttc.dialects.core.kernels import blas
from ttc.dialects.core.kernels.blas import _OneThread, product


class Library:
    """Counts what is set."""

    def __init__(self, threads: int) -> None:
        self.threads, self.told = threads, list[int]()

    def get(self) -> int:
        return self.threads

    def set(self, threads: int) -> None:
        self.threads = threads
        self.told.append(threads)


@pytest.mark.parametrize(
    "shapes", [((3, 4), (4, 5)), ((256, 10), (10, 600)), ((2, 300, 40), (40, 50)), ((200, 300), (300,)), ((0, 4), (4, 5))]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_products_are_those_of_numpy(shapes: tuple[tuple[int, ...], ...], dtype: type, rng: np.random.Generator) -> None:
    a, b = (rng.integers(-9, 9, shape).astype(dtype) for shape in shapes)
    found = product(a, b)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, np.matmul(a, b))


def test_threads_are_as_many_as_before_after_the_last_of_several_products(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library(8)
    threads, together = _OneThread(library.get, library.set), Barrier(4)
    seen: list[int] = []

    def work() -> None:
        with threads:
            together.wait()
            seen.append(library.threads)
            together.wait()

    with ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(work) for _ in range(4)]:
            future.result()
    assert (seen, library.told) == ([1] * 4, [1, 8])


def test_a_product_that_fails_leaves_the_threads_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library(4)
    threads = _OneThread(library.get, library.set)
    monkeypatch.setattr(blas, "_threads", lambda: threads)
    with pytest.raises(ValueError, match="mismatch"):
        product(np.ones((512, 64)), np.ones((65, 64)))
    assert library.told == [1, 4]


@pytest.mark.parametrize(("shapes", "told"), [(((8, 8), (8, 8)), []), (((512, 64), (64, 64)), [1, 4]), (((1024, 1024), (1024, 128)), [])])
def test_which_products_have_one_thread(shapes: tuple[tuple[int, ...], ...], told: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Small ones have one in any case, large ones are worth more."""
    library = Library(4)
    threads = _OneThread(library.get, library.set)
    monkeypatch.setattr(blas, "_threads", lambda: threads)
    product(*(np.ones(shape, np.float32) for shape in shapes))
    assert library.told == told


def test_a_forked_process_begins_anew() -> None:
    library = Library(4)
    threads = _OneThread(library.get, library.set)
    threads.__enter__()
    threads._lock.acquire()  # as another thread holds it while the process is forked
    threads.renew()
    with threads:
        assert library.threads == 1
    assert library.threads == 4


def test_numpys_own_library_is_found() -> None:
    threads = blas._threads()
    if threads is None:
        assert not list(blas.Path(np.__file__).parent.with_name("numpy.libs").glob("*openblas*"))
        return
    before = threads._get()
    with threads:
        assert threads._get() == 1
    assert threads._get() == before
