"""What `ttc diff` compares beside ops: of everything that a module or archive says, the path to it and its value as text.

Facts of one object stand together: `queue x`: {"entries": "2", "tensor.format": "Float32"}.  Nothing is left out: whatever changes in a
netlist, in a manifest or in a tensor, a fact does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from numpy.typing import NDArray
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, OpResult

from ttc.compiler.source import named_weights
from ttc.dialects.core.ir.adapter import TtcOp
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.ir.leaves import LeafOp
from ttc.dialects.core.ir.locations import source_names
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.netlist.codec import encode
from ttc.dialects.netlist.model import Graph, Netlist, Op
from ttc.runtime.archive import Archive

Facts: TypeAlias = "dict[str, dict[str, str]]"
Values: TypeAlias = "dict[str, Callable[[], NDArray]]"
_OP_FIELDS = ("name", "inputs", "buffers", "work")
"""What IR says of a netlist op in regions, names and lists; its other fields are properties."""
_ELSEWHERE = ("tensors", "members", "programs")
"""Fields of a manifest that are compared by tensor and member, or say what the netlist does."""


def leaves(raw: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield (path, text) of what raw values hold, such as `a.b[2].c`; lists of scalars are one text."""
    if isinstance(raw, Mapping):
        for name, value in raw.items():
            yield from leaves(value, f"{path}.{name}" if path else str(name))
    elif isinstance(raw, list) and any(isinstance(item, list | Mapping) for item in raw):
        for number, item in enumerate(raw):
            yield from leaves(item, f"{path}[{number}]")
    else:
        yield path, str(raw)


def op_facts(op: Op, graph: Graph) -> dict[str, str]:
    """Return what a netlist op says beside its properties."""
    raw = encode(op)
    return {"graph": graph.name, **dict(leaves({name: raw[name] for name in _OP_FIELDS if name in raw}))}


def netlist_facts(netlist: Netlist) -> Facts:
    """Return all that a netlist says but for its ops."""
    raw = encode(netlist)
    found: Facts = {}
    for kind, key in (("queue", "queues"), ("graph", "graphs"), ("program", "programs")):
        objects = raw.pop(key, {})
        for name, fields in objects.items():
            ops = {"ops": " ".join(op["name"] for op in fields["ops"])} if kind == "graph" else {}
            found[f"{kind} {name}"] = dict(leaves({**fields, **ops}))
        raw[f"order of {key}"] = " ".join(objects)
    return {"netlist": dict(leaves(raw)), **found}


def archive_facts(archive: Archive, netlist: Netlist) -> Facts:
    """Return all that an archive says but for the ops of its netlist; of tensors shape, format and hash."""
    manifest = encode(archive.manifest)
    members = archive.manifest.members
    found = {"archive": dict(leaves({name: value for name, value in manifest.items() if name not in _ELSEWHERE}))}
    found |= netlist_facts(netlist)
    for key, stored in archive.manifest.tensors.items():
        found[f"tensor {key}"] = {"shape": str(list(stored.shape)), "format": stored.format, "sha256": members[stored.member].sha256}
    texts = {name: {"sha256": member.sha256} for name, member in members.items() if name.startswith("debug/")}
    return found | texts


def module_facts(module: ModuleOp) -> Facts:
    """Return what a module says beside its ops: of itself, of its functions and of their parameters and constants."""
    found: Facts = {"module": {name: str(value) for name, value in module.attributes.items()}}
    for function in entry_functions(module):
        found[f"function {function.sym_name.data}"] = {"type": str(function.function_type), "arguments": str(function.arg_attrs)}
        found |= _leaf_facts(function)
    return found


def _leaf_facts(function: func.FuncOp) -> Facts:
    return {f"{op.name} {name}": {"value": str(op.value)} for name, op in _named_leaves(function)}


def _named_leaves(function: func.FuncOp) -> Iterator[tuple[str, LeafOp]]:
    """Yield parameters and constants by name, those without one by their number in the function."""
    for number, op in enumerate(op for op in function.walk() if isinstance(op, LeafOp)):
        attributes = op.plain_attrs()
        yield str(attributes.get("sym") or op.key or number), op


def operands_text(op: TtcOp) -> str:
    """Return where an op's operands come from: `a, b` by their sources, `%0` for arguments and what has none."""
    found: list[str] = []
    for operand in op.operands:
        owner = operand.owner
        sources = source_names(owner.location) if isinstance(owner, TtcOp) else ()
        number = f"%{operand.index}" if isinstance(operand, OpResult | BlockArgument) else "?"
        found.append(sources[0] if sources else number)
    return ", ".join(found)


def weight_facts(module: ModuleOp, weights: WeightStore) -> tuple[Facts, Values]:
    """Return the hashes of the weights that a module names, and how to load them. Raises E0304 for those that the store lacks."""
    values: Values = {f"tensor {key}": weights[key].value for key in named_weights(module)}
    facts = {key: {"sha256": hashlib.sha256(load().tobytes()).hexdigest()} for key, load in values.items()}
    return facts, values
