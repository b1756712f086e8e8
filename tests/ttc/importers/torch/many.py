"""Many small functions of the same tensors as one program: exported, imported, compiled for the host, run, compared with PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from ttc.compiler.driver import compile_source
from ttc.compiler.source import Source
from ttc.importers.torch.exported import import_exported
from ttc.options import CompileOptions
from ttc.runtime.executor import Executor

Functions = Mapping[str, Callable[..., Any]]


class Together(torch.nn.Module):
    """Gives the results of all functions, by their names."""

    def __init__(self, functions: Functions) -> None:
        super().__init__()
        self._functions = dict(functions)

    def forward(self, *tensors: torch.Tensor) -> dict[str, Any]:
        return {name: function(*tensors) for name, function in self._functions.items()}


def agree(functions: Functions, *tensors: torch.Tensor, tolerance: float = 1e-5) -> None:
    """Every function gives what PyTorch gives: dtypes, shapes, and numbers within a share of the largest."""
    module = Together(functions).eval()
    with torch.no_grad():
        expected = dict(_flat(module(*(t.clone() for t in tensors))))
        program = torch.export.export(module, tensors)
    found = run(program, tensors)
    assert found.keys() == expected.keys()
    wrong = {name: text for name, wanted in expected.items() if (text := difference(found[name], wanted, tolerance))}
    assert wrong == {}


def run(program: torch.export.ExportedProgram, tensors: tuple[torch.Tensor, ...]) -> dict[str, np.ndarray]:
    """The program's outputs by name."""
    module, weights = import_exported(program, examples=(tensors, {}))
    compiled = compile_source(Source(module, weights, "import"), CompileOptions(target="host")).program()
    names = [s.arg.name for s in program.graph_signature.input_specs if s.kind.name == "USER_INPUT"]
    return Executor(compiled).run({name: t.numpy() for name, t in zip(names, tensors, strict=True)})


def _flat(results: Mapping[str, Any]) -> list[tuple[str, torch.Tensor]]:
    """Results by the names that outputs have: of a tuple `name.0`, `name.1`."""
    leaves = pytree.tree_flatten_with_path(dict(results))[0]
    return [(".".join(str(getattr(k, "key", getattr(k, "idx", getattr(k, "name", "")))) for k in path), value) for path, value in leaves]


def difference(ours: np.ndarray, theirs: torch.Tensor, tolerance: float) -> str:
    """What differs; empty if nothing does."""
    wanted = theirs.detach().resolve_conj().numpy()
    if ours.dtype != wanted.dtype or ours.shape != wanted.shape:
        return f"{ours.dtype}{list(ours.shape)}, not {wanted.dtype}{list(wanted.shape)}"
    finite = np.isfinite(wanted) if wanted.dtype.kind == "f" else np.ones(wanted.shape, bool)
    largest = float(np.abs(wanted[finite]).max(initial=0)) if wanted.dtype.kind != "b" else 1.0
    allowed = tolerance * max(1.0, largest) if wanted.dtype.kind == "f" else 0
    near = np.allclose(ours.astype(float), wanted.astype(float), rtol=0, atol=allowed, equal_nan=True)
    return "" if near else f"{ours.ravel()[:6]}, not {wanted.ravel()[:6]}"


def randn(*shape: int, seed: int = 0) -> torch.Tensor:
    """Normal numbers, the same for each shape and seed."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape) + seed))
