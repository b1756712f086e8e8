"""What a module of tests draws while it is imported, read from its source: generators it keeps, and draws from those of libraries."""

from __future__ import annotations

import ast
from collections.abc import Iterator

MAKERS = ("default_rng", "RandomState", "Random", "Generator", "generator", "rng_of_test")
SHARED = ("random", "np.random", "numpy.random", "torch", "tf.random")
"""Modules whose functions draw from one generator of the process, or seed it."""
DRAWS = ("rand", "normal", "uniform", "seed", "manual_seed", "choice", "choices", "shuffle", "sample", "permutation", "bytes", "standard_")


def kept_generators(source: str) -> list[int]:
    """Return the lines that keep a generator for all tests of a module, or draw from one that all modules share.

    A generator that is asked at once, as `generator("cases").random(3)`, keeps nothing; what functions do, they do when a test runs.
    """
    if not any(word in source for word in (*MAKERS, *SHARED)):
        return []
    calls = [(node, parent) for node, parent in _at_import(ast.parse(source)) if isinstance(node, ast.Call)]
    return sorted({call.lineno for call, parent in calls if _draws_shared(call) or (_makes(call) and _is_kept(parent))})


def _at_import(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Every node, with its parent, that is evaluated when the module is imported: of functions, their defaults and decorators alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and (child is node.body or child in _list(node.body)):
            continue
        yield child, node
        yield from _at_import(child)


def _list(body: object) -> list[ast.AST]:
    return body if isinstance(body, list) else []


def _makes(call: ast.Call) -> bool:
    """Whether the call gives a generator, as `torch.Generator().manual_seed(0)` does."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "manual_seed" and isinstance(call.func.value, ast.Call):
        return _makes(call.func.value)
    return ast.unparse(call.func).rpartition(".")[2] in MAKERS


def _is_kept(parent: ast.AST) -> bool:
    return not isinstance(parent, ast.Attribute | ast.Call | ast.keyword)


def _draws_shared(call: ast.Call) -> bool:
    module, _, name = ast.unparse(call.func).rpartition(".")
    own = any(keyword.arg == "generator" for keyword in call.keywords)
    return module in SHARED and name.startswith(DRAWS) and not own
