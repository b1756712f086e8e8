"""What tests share of their process."""

from __future__ import annotations

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
