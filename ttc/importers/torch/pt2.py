"""`.pt2` archives of torch.export.save, read without running or unpickling anything of them.

torch.export.load unpickles sample inputs, evaluates expressions as text and makes programs of names.  Here the zip is checked, its JSON
read and held to the schema (pt2_types), ops, names and expressions to small grammars (pt2_checks, pt2_symbols), and PyTorch's
deserializer gets these records, with tensors over the mapped file (pt2_weights) and no sample inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch._export.serde import schema
from torch._export.serde.serialize import ExportedProgramDeserializer
from torch._export.serde.union import _Union
from torch.export import ExportedProgram

from ttc.dialects.core.errors import Error
from ttc.importers.common.unsupported import Misses
from ttc.importers.common.zipped import Zipped
from ttc.importers.torch.pt2_checks import check_name, check_path, clean_graph
from ttc.importers.torch.pt2_splits import check_splits
from ttc.importers.torch.pt2_symbols import check_symbol
from ttc.importers.torch.pt2_trees import flat_tree, plain_tree
from ttc.importers.torch.pt2_types import MAX_JSON_BYTES, parsed, typed
from ttc.importers.torch.pt2_weights import tensors_of
from ttc.importers.torch.tracing import tracing

_VERIFIERS = ("TRAINING", "ATEN")


def read_program(archive: Zipped, root: str) -> ExportedProgram:
    """Read the only program of an archive.

    root: its folder, with a slash.
    Raises: E0202 (unsupported ops, pickled content, several programs), E0203.
    """
    models = [n.removeprefix(f"{root}models/") for n in archive.members if n.startswith(f"{root}models/") and n.endswith(".json")]
    if len(models) != 1:
        what = "no program of torch.export: one compiled by AOTInductor is no model any more" if not models else f"{len(models)} programs"
        raise Error("E0202", f"the archive holds {what}", hint="torch.export.save(torch.export.export(module, args), 'model.pt2')")
    name = f"{root}models/{models[0]}"
    record = typed(schema.ExportedProgram, parsed(archive.read(name, MAX_JSON_BYTES), name), "program")
    _clean(record)
    model = models[0].removesuffix(".json")
    weights, constants = (tensors_of(archive, root, kind, model) for kind in ("weights", "constants"))
    with tracing("E0203", "PyTorch cannot read the program"):
        program = ExportedProgramDeserializer().deserialize(record, weights, constants, None)
        check_splits(program)
    return program


def _clean(record: schema.ExportedProgram) -> None:
    """Check a program's record, and strip in place what is not needed.  Raises E0202, E0203."""
    module = record.graph_module
    misses = Misses()
    clean_graph(module.graph, misses)
    if misses.rows:
        raise misses.report()
    for spec in (*module.signature.input_specs, *module.signature.output_specs):
        _check_spec(spec)
    for symbol in record.range_constraints:
        check_symbol(symbol)
    named = {kind: fields.field_names for kind, fields in module.treespec_namedtuple_fields.items()}
    module.module_call_graph = [_call(module, named)]
    module.metadata, module.treespec_namedtuple_fields = {}, {}
    record.guards_code = []
    record.verifiers = [v for v in record.verifiers if v in _VERIFIERS]


def _check_spec(spec: Any) -> None:
    """Names in the signature.  Raises E0203."""
    if str(spec.type) in ("custom_obj", "token", "loss_output", "gradient_to_parameter", "gradient_to_user_input"):
        raise Error("E0203", f"the program's signature has a {str(spec.type).replace('_', ' ')}, which is not read")
    value = spec.value
    for field in ("parameter_name", "buffer_name", "tensor_constant_name", "user_input_name"):
        if hasattr(value, field):
            check_path(getattr(value, field))
    if hasattr(value, "name"):
        check_name(value.name)
    argument = getattr(value, "arg", None)
    if isinstance(argument, schema.TensorArgument):
        check_name(argument.name)


def _call(module: schema.GraphModule, named: Mapping[str, list[str]]) -> schema.ModuleCallEntry:
    """Return the call of the whole program: positional inputs, and outputs as they nest."""
    root = [e.signature for e in module.module_call_graph if not e.fqn and e.signature is not None]
    if len(root) != 1:
        raise Error("E0203", "the program does not say how it is called")
    names = [_input_name(spec) for spec in module.signature.input_specs if str(spec.type) in ("user_input", "constant_input")]
    signature = schema.ModuleCallSignature([], [], flat_tree(len(names)), plain_tree(root[0].out_spec, dict(named)), names)
    return schema.ModuleCallEntry("", signature)


def _input_name(spec: schema.InputSpec) -> str:
    """Return the placeholder of an input, which decompositions keep."""
    if str(spec.type) == "constant_input":
        return spec.constant_input.name
    value = spec.user_input.arg.value
    found = value.value if isinstance(value, _Union) else getattr(value, "name", None)
    if not isinstance(found, str):
        raise Error("E0203", "an input of the program has no name")
    check_name(found)
    return found
