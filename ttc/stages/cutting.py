"""Cutting one model into stages: its exported graph is taken apart where its stages meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import fx
from torch.utils import _pytree as pytree

from ttc.compiler.training_keywords import in_mode
from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.importers.torch.exporting import arguments_of
from ttc.importers.torch.tracing import tracing
from ttc.marks.stages import tracing_stages
from ttc.stages.assigned import classes_of, is_update, stages_of
from ttc.stages.evaluated import in_evaluation
from ttc.stages.part import StagePart
from ttc.stages.plans import StagePlan


def cut(
    model: torch.nn.Module, example_inputs: Any, plan: StagePlan | None = None, *, strict: bool = False, training: bool | None = None
) -> tuple[StagePart, ...]:
    """Cut a model into stages, each a module that takes what the one before it gives; together they compute what the model does.

    Parameters are the model's own, under its names.  What several stages read passes through those between them; so does a parameter
    that several stages train, which is one of the first of them.

    Args:
        model: any module of PyTorch that torch.export takes.
        example_inputs: as `ttc.compile` takes them: stages are for inputs of these shapes.
        plan: stages by names of modules, {"encoder.layer.0-5": 0, "re:head.*": 1, "kind:LayerNorm": 1}: a later line overrides an earlier
            one, a module those that hold it, and what no line names is of the stage before it.  None: `ttc.stage` marks them in the model.
        strict: whether a value that flows back to an earlier stage is an error; else the op that reads it is of the later stage.
        training: whether they are made for training; None: the model as it is, its mode included, and for inference.
    Raises: E0101 for a plan that names no module; E0202 where torch.export cannot export the model; E0503 for what cannot be cut.
    """
    if not isinstance(model, torch.nn.Module):
        raise Error(
            "E0101",
            f"a {type(model).__name__} cannot be cut into stages",
            hint="a module of PyTorch can; ttc.Pipeline(model, devices=, plan=) cuts others",
        )
    graph, leaves, out = _exported(model, example_inputs, training)
    stages = stages_of(graph, plan, classes_of(model), strict=strict)
    found = _Cut(graph, leaves, stages, training=bool(training))
    return tuple(
        StagePart(
            number,
            ops,
            in_evaluation(ops) if training else ops,
            {name: leaves[name] for name in _tensors(ops) if name in leaves},
            out if number == found.count - 1 else None,
        )
        for number, ops in enumerate(found.graphs())
    )


def _exported(model: torch.nn.Module, example_inputs: Any, training: bool | None) -> tuple[fx.Graph, dict[str, Any], _Structure]:
    """Return the ops of a model, what they read of it by name, and how its outputs nest."""
    args, kwargs = arguments_of(example_inputs)
    with tracing("E0202", f"torch.export cannot export {type(model).__name__}"), in_mode(model, training), tracing_stages():
        program = torch.export.export(model, args, kwargs, strict=False)
        module = program.module(check_guards=False)
        if any(_writes_to_values(node) for node in module.graph.nodes):
            program = program.run_decompositions({})  # nothing is taken apart, but what is written to in place is made anew
            module = program.module(check_guards=False)
    leaves = _leaves(module, model)
    ends = pytree.tree_leaves([node.args[0] for node in module.graph.nodes if node.op == "output"])
    return module.graph, leaves, _Structure(program.call_spec.out_spec, tuple(None if isinstance(x, fx.Node) else (x,) for x in ends))


def _leaves(module: fx.GraphModule, model: torch.nn.Module) -> dict[str, Any]:
    """Return what nodes read of the model, by the names that it has first for them, which the nodes get."""
    first = {id(tensor): name for name, tensor in (*model.named_buffers(), *model.named_parameters())}
    found: dict[str, Any] = {}
    for node in module.graph.nodes:
        if node.op == "get_attr":
            held = _held(module, str(node.target))
            node.target = first.get(id(held), str(node.target))
            found[node.target] = held
    return found


@record(eq=False)
class _Structure:
    """How the outputs of a model nest.

    Args:
        spec: of PyTorch.
        fixed: by place: a value that is no tensor; None: a tensor.
    """

    spec: Any
    fixed: tuple[tuple[Any] | None, ...]

    def __call__(self, tensors: tuple[torch.Tensor, ...]) -> Any:
        """Nest tensors."""
        given = iter(tensors)
        return pytree.tree_unflatten([next(given) if value is None else value[0] for value in self.fixed], self.spec)


def _writes_to_values(node: fx.Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is not None and schema.is_mutable and not is_update(node)


def _held(module: Any, name: str) -> Any:
    """Return what an attribute of a graph holds: a tensor, or the graph of a branch or loop."""
    for piece in name.split("."):
        module = getattr(module, piece)
    return module


def _tensors(graph: fx.Graph) -> list[str]:
    return list(dict.fromkeys(str(node.target) for node in graph.nodes if node.op == "get_attr"))


class _Cut:
    """A graph that is taken apart.

    Args:
        leaves: parameters and buffers by name.
        stages: of ops.
        training: whether a parameter that several stages read is trained, and so one of the first of them.
    """

    def __init__(self, graph: fx.Graph, leaves: Mapping[str, Any], stages: Mapping[fx.Node, int], *, training: bool) -> None:
        self._stages = stages
        self.count = max(stages.values(), default=0) + 1
        self._inputs = [node for node in graph.nodes if node.op == "placeholder"]
        (end,) = graph.find_nodes(op="output")
        self._outputs: list[fx.Node] = [x for x in pytree.tree_leaves(end.args[0]) if isinstance(x, fx.Node)]
        self._nodes = [node for node in graph.nodes if node in stages or (node.op == "get_attr" and node.users)]
        self._reads = {node: self._readers(node) for node in (*self._inputs, *self._nodes)}
        self._shared = {
            node
            for node in self._nodes
            if node.op == "get_attr" and training and len(set(self._reads[node])) > 1 and _is_trained(leaves[str(node.target)])
        }
        self._check_updates()

    def graphs(self) -> list[fx.Graph]:
        """Return the graph of each stage, whose results are what the next one takes."""
        borders = [self._inputs, *(self._crossing(number) for number in range(1, self.count)), self._outputs]
        return [self._graph(number, *pair) for number, pair in enumerate(zip(borders, borders[1:], strict=False))]

    def _graph(self, number: int, taken: Sequence[fx.Node], given: Sequence[fx.Node]) -> fx.Graph:
        made = fx.Graph()
        copies: dict[fx.Node, fx.Node] = {}
        for node in taken:
            copies[node] = made.placeholder(node.name)
            copies[node].meta = dict(node.meta)
        for node in self._nodes:
            if node in copies or not self._is_of(node, number):
                continue
            copies[node] = made.node_copy(node, copies.__getitem__)
        made.output(tuple(copies[node] for node in given))
        return made

    def _is_of(self, node: fx.Node, number: int) -> bool:
        if node.op == "get_attr":
            return number in self._reads[node] or (node in self._outputs and number == self.count - 1)
        return self._stages[node] == number

    def _crossing(self, number: int) -> list[fx.Node]:
        """Return the values that stages before a number make, and that it or one after it reads."""
        made = [*self._inputs, *(node for node in self._nodes if node.op != "get_attr" or node in self._shared)]
        found = [node for node in made if self._begins(node) < number <= max(self._reads[node], default=-1)]
        for node in found:
            if not isinstance(node.meta.get("val", node.meta.get("example_value")), torch.Tensor) and node not in self._shared:
                message = f"'{node.name}' is no tensor, and passes from stage {self._begins(node)} to another"
                raise Error("E0503", message, where=node.name, hint="let it be made and read in one stage")
        # a stage takes something: what it does not need passes through it
        return found or [max((node for node in made if self._begins(node) < number and node.op != "get_attr"), key=self._begins)]

    def _begins(self, node: fx.Node) -> int:
        if node.op == "get_attr":
            return min(self._reads[node])
        return self._stages.get(node, 0)

    def _readers(self, node: fx.Node) -> list[int]:
        found = [self._stages[user] for user in node.users if user in self._stages]
        return [*found, self.count - 1] if node in self._outputs else found

    def _check_updates(self) -> None:
        """Raise E0503 for a buffer that one stage changes, and another reads."""
        for node in self._nodes:
            if node.op == "call_function" and is_update(node) and len(set(self._reads[node.args[0]])) > 1:
                raise Error("E0503", f"buffer '{node.args[0].target}' is changed in one stage, and read in another", where=node.name)


def _is_trained(value: Any) -> bool:
    return isinstance(value, torch.nn.Parameter) and value.requires_grad
