"""An archive that is compiled once for the tests of this folder."""

from __future__ import annotations

import copy
import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import ttc
from tests.ttc.train.digits import write_archive
from ttc.runtime.machine.session import Session
from ttc.runtime.program import Program


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training archive."""
    return write_archive(tmp_path_factory.mktemp("archive"))


@pytest.fixture
def session(archive: Path) -> Iterator[Session]:
    """A session on it, which runs on one thread."""
    with ttc.load(archive, threads=1) as executor:
        yield executor.session


_DECOMPOSED: dict[tuple[Any, ...], Any] = {}
"""Programs that PyTorch has taken apart, by code and shapes: that takes most of the time of an example, and weights are no part of it."""


@pytest.fixture
def decomposed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let PyTorch take each structure apart once, with the weights of each example."""
    exported = importlib.import_module("ttc.importers.torch.exported")
    original = exported.decomposed

    def decomposed(program: Any) -> Any:
        shapes = tuple((tuple(n.meta["val"].shape), n.meta["val"].dtype) for n in program.graph.nodes if n.op == "placeholder")
        key = (program.graph_module.code, shapes)
        if key not in _DECOMPOSED:
            _DECOMPOSED[key] = original(program)
        found = copy.copy(_DECOMPOSED[key])
        found._state_dict = program.state_dict  # noqa: SLF001 - PyTorch has no other way to exchange weights
        return found

    monkeypatch.setattr(exported, "decomposed", decomposed)


_COMPILED: dict[str, Program] = {}
"""Stages by their structure, the shapes that they take and how they are compiled."""


@pytest.fixture
def stages_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile stages of each structure once, with the weights of each example."""
    modules = importlib.import_module("ttc.pipeline.modules")
    original = modules._compiled  # noqa: SLF001 - what all stages go through

    def compiled(module: Any, examples: Any, fields: Mapping[str, Any]) -> Program:
        key = repr((module, [(tuple(x.shape), x.dtype) for x in examples], sorted(fields.items())))
        if key not in _COMPILED:
            _COMPILED[key] = original(module, examples, fields)
        return _COMPILED[key].with_parameters({name: p.detach().numpy() for name, p in module.named_parameters()})

    monkeypatch.setattr(modules, "_compiled", compiled)
