"""Programs of torch.export: their signature says what placeholders and outputs are."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind, InputSpec, OutputKind, OutputSpec
from torch.utils import _pytree as pytree

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.core.ir.values import ModuleOp
from ttc.dialects.core.plain.weights import WeightStore
from ttc.importers.base import NO_SHAPES, NO_VALUES
from ttc.importers.torch.aliases import aliases_as_one, has_aliases
from ttc.importers.torch.decompositions import decompositions, overload_name
from ttc.importers.torch.exporting import arguments_of, export_module
from ttc.importers.torch.graphs import Binding, Fixed, GraphOutput, Input, ModelTensor, import_graph
from ttc.importers.torch.kept_dropouts import kept_dropouts
from ttc.importers.torch.no_grad import detached_blocks
from ttc.importers.torch.sizes import static_specs, user_inputs
from ttc.importers.torch.tables import rows
from ttc.importers.torch.tracing import tracing


def import_module(
    module: torch.nn.Module,
    example_inputs: Any,
    *,
    name: str | None = None,
    dynamic_shapes: Any = None,
    shapes: Mapping[str, tuple[int, ...]] = NO_SHAPES,
    batch: int | None = None,
) -> tuple[ModuleOp, WeightStore]:
    """Export a module as it is (its training mode included) and import it.

    Args:
        example_inputs: a tuple of positional arguments, a mapping of keyword arguments, or one tensor.  They give shapes and dtypes.
        name: of the model; default: the module's class.
        dynamic_shapes: as torch.export takes them; such dimensions are those of `shapes` and `batch`, else those of the examples.
        shapes, batch: as in `import_exported`.
    Raises: E0202 where torch.export cannot export it, and what `import_exported` raises.
    """
    program = export_module(module, example_inputs, dynamic_shapes)
    return import_exported(program, name or type(module).__name__, shapes=shapes, batch=batch, examples=program.example_inputs)


def example_values(program: ExportedProgram, examples: Any) -> dict[str, Any]:
    """Return the integer and boolean tensors among examples, by input name.

    examples: positional and keyword arguments as the program takes them.
    """
    found = zip(user_inputs(program), pytree.tree_leaves(examples), strict=True)
    return {n: x.detach().numpy() for n, x in found if isinstance(x, torch.Tensor) and not (x.is_floating_point() or x.is_complex())}


def matching(program: ExportedProgram, example_inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return examples as positional and keyword arguments in the order of the program's. Raises E0206 where they do not nest as those
    do.
    """
    args, kwargs = arguments_of(example_inputs)
    wanted = program.call_spec.in_spec
    names = wanted.child(1).context if wanted is not None and wanted.num_children == 2 else []
    ordered = args, {name: kwargs[name] for name in names if name in kwargs} | kwargs
    if pytree.tree_structure(ordered) != wanted:
        raise Error("E0206", f"the example inputs do not nest as the program's do: {wanted}")
    return ordered


def import_exported(
    program: ExportedProgram,
    name: str = "model",
    *,
    shapes: Mapping[str, tuple[int, ...]] = NO_SHAPES,
    batch: int | None = None,
    values: Mapping[str, Any] = NO_VALUES,
    examples: Any = None,
) -> tuple[ModuleOp, WeightStore]:
    """Return the module of an exported program, and its weights, which share memory with its tensors.

    Inputs are named as torch.export names them.  Outputs too, but those that stand in mappings or fields of the user's output have their
    keys: `logits`, `past_key_values.0`.  Complex ones have real and imaginary parts along a last dimension.  Parameters become
    parameters, buffers constants, and those that the program changes states.

    Args:
        shapes, batch: sizes of dynamic dimensions.
        values: arrays by input name: where an op needs to know what an integer or boolean input holds, the program is made for these.
        examples: positional and keyword arguments: their sizes hold where these leave one open, and integers and booleans are values.
    Raises: E0202, E0203, E0205, E0206, and E04xx at the node.
    """
    names = output_names(program)
    specs = static_specs(program, shapes, batch, examples)
    values = values if examples is None else {**example_values(program, examples), **values}
    flat = decomposed(program)
    signature = flat.graph_signature
    changed = {s.target for s in signature.output_specs if s.kind == OutputKind.BUFFER_MUTATION}
    bindings = [_binding(flat, spec, specs, changed) for spec in signature.input_specs]
    user = iter(names)
    results = [_result(spec, user) for spec in signature.output_specs]
    return import_graph(flat.graph_module, name, bindings, results, values)


def decomposed(program: ExportedProgram) -> ExportedProgram:
    """Return the program in ops that have a mapping, as far as PyTorch can take it apart; functional.  One that is so is given as it is,
    since PyTorch would trace all of it again.

    Decompositions may give results with other strides than the ops did, so that views that traced well would fail: meanwhile views are
    reshapes.
    """
    if _is_mapped(program):
        return program
    views = program.graph.find_nodes(op="call_function", target=torch.ops.aten.view.default)
    module = program.graph_module
    with (
        tracing("E0203", "PyTorch cannot take the program apart"),
        aliases_as_one(program),
        detached_blocks(module),
        kept_dropouts(module),
    ):
        try:
            for node in views:
                node.target = torch.ops.aten.reshape.default
            return program.run_decompositions(decompositions())
        finally:
            for node in views:
                node.target = torch.ops.aten.view.default


def _is_mapped(program: ExportedProgram) -> bool:
    """Return whether a program of fixed shapes has functional ops with mappings alone, each with readers, and no tensor under two names."""
    if program.range_constraints or has_aliases(program):
        return False
    computed = [node for node in program.graph.nodes if node.op not in ("placeholder", "output")]
    return all(node.users and (node.target is operator.getitem or _is_row(node.target)) for node in computed)


def _is_row(op: object) -> bool:
    """Return whether an op changes nothing, and has a mapping."""
    return isinstance(op, torch._ops.OpOverload) and not op._schema.is_mutable and overload_name(op) in rows()


def _binding(program: ExportedProgram, item: InputSpec, specs: Mapping[str, Spec], changed: set[str | None]) -> Binding:
    if item.kind == InputKind.USER_INPUT:
        if isinstance(item.arg, ConstantArgument):
            return Fixed(item.arg.value)
        if item.arg.name not in specs:
            raise Error("E0202", f"input '{item.arg.name}' is a number that changes from call to call", hint="export it with a fixed one")
        return Input(item.arg.name, specs[item.arg.name])
    if item.kind == InputKind.TOKEN:  # of checks, which keep their order by it
        return Fixed(0)
    target = str(item.target)
    tensor = program.state_dict.get(target, program.constants.get(target))
    if not isinstance(tensor, torch.Tensor):
        what = item.kind.name.lower().replace("_", " ")
        raise Error("E0202", f"input '{item.arg.name}' is a {what} without a tensor, which is not supported")
    if item.kind == InputKind.PARAMETER:
        return ModelTensor(target, tensor)
    return ModelTensor(target, tensor, "state" if item.kind == InputKind.BUFFER and target in changed else "constant")


def _result(item: OutputSpec, names: Any) -> GraphOutput | None:
    if item.kind == OutputKind.USER_OUTPUT:
        return next(names)
    if item.kind == OutputKind.TOKEN:
        return None
    if item.kind in (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION):
        return GraphOutput(str(item.target), updates=str(item.target))
    if item.kind == OutputKind.USER_INPUT_MUTATION:
        return GraphOutput(f"{item.target}.mutated")
    raise Error("E0202", f"output '{item.arg.name}' is a {item.kind.name.lower().replace('_', ' ')}, which is not supported")


def output_names(program: ExportedProgram) -> list[GraphOutput | None]:
    """Return the name of each of the user's outputs; None for one that is no tensor or number."""
    specs = [s for s in program.graph_signature.output_specs if s.kind == OutputKind.USER_OUTPUT]
    tree = program.call_spec.out_spec
    paths = pytree.tree_flatten_with_path(pytree.tree_unflatten(list(range(len(specs))), tree))[0] if tree is not None else []
    keys = [_key(path) for path, _ in paths] if len(paths) == len(specs) else [""] * len(specs)
    return [_named(spec, key) for spec, key in zip(specs, keys, strict=True)]


def _named(item: OutputSpec, key: str) -> GraphOutput | None:
    if not isinstance(item.arg, ConstantArgument):
        return GraphOutput(key or item.arg.name, parts=True)
    return GraphOutput(key or f"output_{item.arg.name}") if isinstance(item.arg.value, bool | int | float) else None


def _key(path: Sequence[Any]) -> str:
    """Return the keys of an output, joined by dots; empty if positions alone lead to it."""
    parts = [str(getattr(k, "key", getattr(k, "name", getattr(k, "idx", "")))) for k in path]
    return ".".join(parts) if any(not isinstance(k, pytree.SequenceKey) for k in path) else ""
