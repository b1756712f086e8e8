"""An archive that is compiled once for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import ttc
from tests.ttc.train.digits import write_archive
from ttc.runtime.machine.session import Session


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training archive."""
    return write_archive(tmp_path_factory.mktemp("archive"))


@pytest.fixture
def session(archive: Path) -> Iterator[Session]:
    """A session on it, which runs on one thread."""
    with ttc.load(archive, threads=1) as executor:
        yield executor.session
