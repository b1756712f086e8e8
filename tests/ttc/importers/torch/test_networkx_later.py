"""Exports that do without networkx."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")
pytest.importorskip("networkx")


def said(code: str) -> list[str]:
    """Run code in a process of its own, and return what it prints."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_an_export_loads_no_networkx_and_pytorch_finds_it_when_it_uses_it():
    code = """
        import sys, torch, ttc
        ttc.compile(torch.nn.Linear(3, 2), (torch.zeros(4, 3),), target="host")
        print("networkx" in sys.modules)
        from torch._functorch._activation_checkpointing import graph_info_provider, knapsack_evaluator
        graph = graph_info_provider.nx.DiGraph([(2, 1)])
        print(graph.number_of_edges(), *knapsack_evaluator.nx.topological_sort(graph))
        import networkx
        print(networkx.DiGraph is graph_info_provider.nx.DiGraph)
    """
    assert said(code) == ["False", "1", "2", "1", "True"]


def test_networkx_that_is_loaded_stays():
    code = """
        import sys, networkx, torch, ttc
        ttc.compile(torch.nn.Linear(3, 2), (torch.zeros(4, 3),), target="host")
        from torch._functorch._activation_checkpointing import graph_info_provider
        print(sys.modules["networkx"] is networkx, graph_info_provider.nx is networkx)
    """
    assert said(code) == ["True", "True"]
