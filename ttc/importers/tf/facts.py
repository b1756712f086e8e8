"""What a SavedModel says of itself."""

from __future__ import annotations

from collections import Counter
from math import prod
from pathlib import Path

from ttc.importers.common.facts import Facts
from ttc.importers.common.module import naming
from ttc.importers.tf.saved_model import read_saved_model
from ttc.importers.tf.structure import called, source_of
from ttc.importers.tf.values import Model


def describe(path: Path) -> Facts:
    """Return ops that the outputs need, variables and inputs of the signature that is imported.  Raises E0102, E0201 to E0204."""
    with naming(path.name):
        model = read_saved_model(path)
        ops = _ops(model)
        weights = [item.weight for item in model.stored.values()]
        return Facts(
            "SavedModel",
            {},
            dict(sorted(ops.items(), key=lambda entry: (-entry[1], entry[0]))),
            len(weights),
            sum(prod(weight.shape) for weight in weights),
            sum(weight.size_bytes for weight in weights),
            model.inputs,
        )


def _ops(model: Model) -> Counter[str]:
    """Return how often each op occurs in what the outputs need, bodies of functions once."""
    found: Counter[str] = Counter()
    bodies = [(model.graph.nodes, [reference for _, reference in model.outputs])]
    seen: set[str] = set()
    while bodies:
        nodes, roots = bodies.pop()
        by_name = {node.name: node for node in nodes}
        stack, visited = [source_of(root) for root in roots], set[str]()
        while stack:
            name = stack.pop()
            if name in visited or name not in by_name:
                continue
            visited.add(name)
            node = by_name[name]
            found[node.op] += 1
            stack.extend(source_of(reference) for reference in node.inputs if not reference.startswith("^"))
            for label in called(node, model.graph.functions):
                if label not in seen:
                    seen.add(label)
                    function = model.graph.functions[label]
                    bodies.append((function.nodes, list(function.results.values())))
    return found
