"""The stage of every op of an exported graph: by the marks in the model, or by a plan of names of its modules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import getitem

import torch
from torch import fx

from ttc.dialects.core.errors import Error, nearest, warn
from ttc.importers.torch.places import module_path, sources_of
from ttc.marks.stages import stages_of_nodes
from ttc.stages.plans import PlanLine, StagePlan, rows_of, stage_of


def stages_of(graph: fx.Graph, plan: StagePlan | None, known: Mapping[str, str], *, strict: bool) -> dict[fx.Node, int]:
    """Return the stage of every op, counted from 0 without gaps, so that all values flow forward.

    Args:
        graph: that was exported with marks kept; parameters are nodes `get_attr`.
        plan: of names; None: marks in the model hold.
        known: classes of the modules of the model by their dotted names.
        strict: whether an op that reads a value of a later stage is an error; else it moves to that stage, with a warning.
    Raises: E0101 for a plan whose names the model does not have, and where there is nothing to cut by; E0503 for such an op.
    """
    asked = stages_of_nodes(graph) if plan is None else _planned(graph, rows_of(plan), known)
    found: dict[fx.Node, int] = {}
    moved: list[str] = []
    for node in graph.nodes:
        if node.op not in ("call_function", "call_module", "call_method"):
            continue
        sources = [x for x in node.all_input_nodes if x in found]
        if node.target is getitem and sources:
            found[node] = found[sources[0]]  # a part of what another op gives is of its stage
            continue
        last = max(sources, key=lambda x: found[x], default=None)
        stage = found[last] if last is not None and is_update(node) else asked[node]
        if last is not None and found[last] > stage:
            message = f"value '{last.name}' of stage {found[last]} flows back: op '{node.name}' of stage {stage} reads it"
            if strict:
                raise Error("E0503", message, where=_where(node), hint="let stages follow each other as values do; or strict=False")
            moved.append(message)
            stage = found[last]
        found[node] = stage
    if moved:
        warn(f"{moved[0]}; {'it is' if len(moved) == 1 else f'{len(moved)} such ops are'} of the later stage")
    return _without_gaps(found)


def is_update(node: fx.Node) -> bool:
    """Return whether an op does nothing but write to a parameter or buffer in place."""
    schema = getattr(node.target, "_schema", None)
    return bool(
        schema is not None and schema.is_mutable and node.args and isinstance(node.args[0], fx.Node) and node.args[0].op == "get_attr"
    )


def _without_gaps(stages: Mapping[fx.Node, int]) -> dict[fx.Node, int]:
    places = {number: place for place, number in enumerate(sorted(set(stages.values())))}
    return {node: places[number] for node, number in stages.items()}


def _where(node: fx.Node) -> str | None:
    return ", ".join(sources_of(node)) or None


# ---- plans -----------------------------------------------------------------------------------------------------------------------------


def _planned(graph: fx.Graph, rows: tuple[PlanLine, ...], known: Mapping[str, str]) -> dict[fx.Node, int]:
    """Return the stage that a plan has for each node; one that it does not name is of the stage that began last."""
    for row in rows:
        if not any(row.matches(path, kind) for path, kind in known.items()):
            hint = nearest(row.pattern, known) or f"it has {', '.join(list(known)[1:9])}"
            raise Error("E0101", f"the plan of stages names '{row.pattern[:80]}', and the model has no such module", hint=hint)
    found: dict[fx.Node, int] = {}
    now = 0
    for node in graph.nodes:
        own = next((stage for path in _paths(node) if (stage := stage_of(rows, path, known.get(path, ""))) is not None), None)
        now = now if own is None else own
        found[node] = now
    return found


def _paths(node: fx.Node) -> Iterator[str]:
    """Dotted names of the module that made a node, and of those that hold it, from the inside out."""
    stack = [module_path(str(path)) for path, _ in (node.meta.get("nn_module_stack") or {}).values()]
    pieces = stack[-1].split(".") if stack and stack[-1] else []
    for end in range(len(pieces), 0, -1):
        yield ".".join(pieces[:end])


def classes_of(model: torch.nn.Module) -> dict[str, str]:
    """Return the classes of all modules of a model by dotted name; those used in several places have each of their names."""
    return {name: type(module).__name__ for name, module in model.named_modules(remove_duplicate=False)}
