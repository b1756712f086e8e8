"""What tests share of their process."""

from __future__ import annotations

import gc
import os

import pytest

from tests.conftest import same_environment


def test_variables_are_changed_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTC_TESTS_CHANGED", "old")
    monkeypatch.setenv("TTC_TESTS_REMOVED", "old")
    before = dict(os.environ)
    with same_environment():
        os.environ.update(TTC_TESTS_CHANGED="new", TTC_TESTS_ADDED="new")
        del os.environ["TTC_TESTS_REMOVED"]
    assert dict(os.environ) == before


def test_garbage_is_searched_for_in_what_tests_make() -> None:
    """What collection left, which lives on, is out of it."""
    assert gc.isenabled()
    assert gc.get_freeze_count() > 10_000
