"""An archive of a small model that generates, written once a session."""

from __future__ import annotations

from pathlib import Path

import pytest

LENGTH = 64


@pytest.fixture(scope="session")
def generating(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of a Llama of 101 tokens, for two rows of 64 tokens."""
    pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")
    pytest.importorskip("transformers", reason="transformers is installed where torch is")
    import ttc
    from tests.ttc.generation.models import model_of

    path = tmp_path_factory.mktemp("generating") / "llama.tti"
    with ttc.generator(model_of("llama"), batch=2, max_length=LENGTH, chunks=(8, 32), target="host") as generator:
        generator.save(path)
    return path
