"""What tests of Lightning share: they are skipped without it, and find PyTorch on one thread with nothing compiled before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from weakref import WeakValueDictionary

import pytest

pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")
pytest.importorskip("lightning", reason="lightning is installed with the extra `test`, where PyTorch has a wheel")


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    import torch

    from ttc.dynamo import shared

    monkeypatch.setattr(shared, "_COMPILED", WeakValueDictionary())
    monkeypatch.chdir(tmp_path)  # where Lightning writes logs and checkpoints
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()
    torch.set_num_threads(threads)
