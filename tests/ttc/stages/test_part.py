"""A stage as a module: the model's parameters under their names, in either mode, and where its ops come from."""

from __future__ import annotations

from typing import Any

import pytest

import ttc

torch: Any = pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")
from tests.ttc.stages import staged  # noqa: E402


def test_tensors_are_the_models_own() -> None:
    model = staged.Shared()
    known = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    for part in ttc.cut(model, (torch.zeros(3, 4), torch.arange(3)), training=True):
        for name, tensor in (*part.named_parameters(), *part.named_buffers()):
            assert tensor is known[name]


def test_compiled_ops_keep_where_they_come_from() -> None:
    from ttc.dialects.core.ir.locations import source_names
    from ttc.importers.torch import import_module

    part = ttc.cut(staged.Chain(), torch.zeros(3, 4), {"layers.0-2": 0, "layers.3": 1, "head": 1})[1]
    module, _ = import_module(part, (torch.zeros(3, 4),))
    names = {name for op in module.walk() if op.name.startswith("nn.") for name in source_names(op.location)}
    assert any(name.startswith("staged.py:") for name in names), names
