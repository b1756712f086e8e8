"""The manifest of an archive: what it holds, for whom, and how derived tensors come about."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import field, fields
from math import prod
from typing import Any

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import FORMATS
from ttc.dialects.core.formats.text import STRING
from ttc.dialects.core.json_hooks import no_constant, unique_keys
from ttc.dialects.core.plain.functions import Function, Plain
from ttc.dialects.core.records import record
from ttc.dialects.netlist.codec import decode, encode
from ttc.dialects.netlist.model import Argument, Netlist
from ttc.dialects.nn.training.description import Training
from ttc.runtime.contract import ABSENT, FixedInput, known_values
from ttc.runtime.generation_notes import Generation

FORMAT_VERSION = 1
"""The format version of archives that this version writes and reads."""
DTYPE_NAMES = frozenset(str(f.array_dtype) for f in FORMATS.values())
"""Element types that users' arrays can have."""
_MAX_RANK = 32
_MAX_ELEMENTS = 1 << 48


@record(slots=True)
class ManifestVariable:
    """A parameter or state of the model.

    Args:
        key: of the tensor that holds its (first) value; None for a parameter whose value is a literal.
        shape, dtype: of the user's array (numpy name).
    """

    key: str | None
    shape: tuple[int, ...]
    dtype: str


@record(slots=True)
class Derived:
    """A tensor that the compiler computed.

    Args:
        key: of the tensor.
        function: computes it from `ttc.param` leaves {sym, and key or values} and `ttc.constant` leaves {key or values}; one output.
    """

    key: str
    function: Function


@record
class Description:
    """The description that an archive has of itself beside netlist and tensors.

    Args:
        model: name of the model.
        version: of the ttc that compiled it.
        options: those that changed the result, by name.
        parameters, states: the model's, by name.
        derived: expressions of derived tensors, in any order.
        fixed_inputs: values of inputs that the programs hold for alone.
        absent_inputs: of the model, sequences and optionals for which the programs take nothing, as they were empty: (name, kind).
        independent_batches: of programs for several shapes, those that compute each sample of a batch by itself, with the inputs that
            carry the batch.
        batch_axes: of these programs, inputs and results whose first dimension is not that of the batch, each with the one that is.
        training: what the programs are trained with; None: they are for inference.
        generation: which programs generate tokens; None: none does.
    """

    model: str
    version: str
    options: dict[str, Plain] = field(default_factory=dict)
    parameters: dict[str, ManifestVariable] = field(default_factory=dict)
    states: dict[str, ManifestVariable] = field(default_factory=dict)
    derived: tuple[Derived, ...] = ()
    fixed_inputs: tuple[FixedInput, ...] = ()
    absent_inputs: tuple[tuple[str, str], ...] = ()
    independent_batches: tuple[tuple[str, tuple[str, ...]], ...] = ()
    batch_axes: tuple[tuple[str, tuple[tuple[str, int], ...]], ...] = ()
    training: Training | None = None
    generation: Generation | None = None


def updated_keys(description: Description, updates: Collection[str]) -> frozenset[str]:
    """Return keys of parameters that programs update and no derived tensor follows from: they need not be prepared to be read."""
    leaves = [work.attrs for derived in description.derived for work in derived.function.works if work.op == "ttc.param"]
    derived = {attrs.get("sym") for attrs in leaves} | {attrs.get("key") for attrs in leaves}
    chosen = {name: v for name, v in description.parameters.items() if name in updates and v.key is not None}
    return frozenset(str(v.key) for name, v in chosen.items() if name not in derived and v.key not in derived)


def state_keys(states: Mapping[str, ManifestVariable]) -> frozenset[str]:
    """Return keys of the tensors that hold the first values of states."""
    return frozenset(variable.key for variable in states.values() if variable.key is not None)


@record(slots=True)
class Producer:
    """The program that wrote the archive, and its version."""

    name: str
    version: str


@record(slots=True)
class ManifestPort:
    """An argument or result of a program; fields as in `netlist.model.Argument`, and the format in which it is computed."""

    name: str
    kind: str
    shape: tuple[int, ...]
    dtype: str
    format: str
    streamed: bool
    updates: str | None


@record(slots=True)
class ProgramSignature:
    """The arguments and results of a program, in order."""

    arguments: tuple[ManifestPort, ...]
    results: tuple[ManifestPort, ...]


@record(slots=True)
class StoredTensor:
    """A tensor of the archive.

    Args:
        member: holds the elements in row-major order, in their format.
        repeated: whether it holds one, which all elements of a state are.
    """

    member: str
    shape: tuple[int, ...]
    format: str
    repeated: bool = False

    @property
    def held_shape(self) -> tuple[int, ...]:
        """The shape of what the member holds."""
        return () if self.repeated else self.shape


@record(slots=True)
class ArchiveMember:
    """A member of the archive: bytes, and their SHA-256 in hexadecimal."""

    size: int
    sha256: str


@record
class Manifest:
    """The whole document.  tensors: by key; members: by name, all but the manifest itself; the rest as in `Description`."""

    format_version: int
    producer: Producer
    model: str
    target: str
    options: dict[str, Plain]
    programs: dict[str, ProgramSignature]
    parameters: dict[str, ManifestVariable]
    states: dict[str, ManifestVariable]
    tensors: dict[str, StoredTensor]
    derived: tuple[Derived, ...]
    members: dict[str, ArchiveMember]
    fixed_inputs: tuple[FixedInput, ...] = ()
    absent_inputs: tuple[tuple[str, str], ...] = ()
    independent_batches: tuple[tuple[str, tuple[str, ...]], ...] = ()
    batch_axes: tuple[tuple[str, tuple[tuple[str, int], ...]], ...] = ()
    training: Training | None = None
    generation: Generation | None = None

    @property
    def description(self) -> Description:
        """The part of the manifest that the compiler gave."""
        given = {item.name: getattr(self, item.name) for item in fields(Description) if item.name != "version"}
        return Description(version=self.producer.version, **given)


def make_manifest(
    description: Description, netlist: Netlist, tensors: dict[str, StoredTensor], members: dict[str, ArchiveMember]
) -> Manifest:
    """Return the manifest of an archive that this version writes.  Raises E0601 for a program that names an unknown queue."""
    given = {item.name: getattr(description, item.name) for item in fields(Description) if item.name != "version"}
    given["options"] = dict(sorted(description.options.items()))
    return Manifest(
        format_version=FORMAT_VERSION,
        producer=Producer("ttc", description.version),
        target=netlist.chip.target,
        programs=signatures(netlist),
        tensors=tensors,
        members=members,
        **given,
    )


def signatures(netlist: Netlist) -> dict[str, ProgramSignature]:
    """Return the arguments and results of every program. Raises E0601."""

    def port(argument: Argument) -> ManifestPort:
        queue = netlist.queues.get(argument.queue)
        if queue is None:
            raise Error("E0601", f"there is no queue '{argument.queue}'", argument.name)
        format_ = queue.tensor.format
        return ManifestPort(argument.name, argument.kind, argument.shape, argument.dtype, format_, argument.streamed, argument.updates)

    return {
        name: ProgramSignature(tuple(map(port, program.arguments)), tuple(map(port, program.results)))
        for name, program in netlist.programs.items()
    }


def manifest_to_json(manifest: Manifest) -> bytes:
    """Return the manifest as JSON text; equal manifests give equal bytes."""
    return json.dumps(encode(manifest), indent=1, allow_nan=False).encode("ascii")


def manifest_from_json(data: bytes) -> Manifest:
    """Read a manifest. Raises E0702 for another format version, E0703 for anything malformed."""
    try:
        document = json.loads(data.decode("utf-8"), object_pairs_hook=unique_keys, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        raise Error("E0703", f"manifest.json is not valid JSON: {str(error)[:200]}") from None
    _check_version(document)
    try:
        manifest: Manifest = decode(Manifest, document, "manifest.json")
        _check_values(manifest)
    except Error as error:
        raise Error("E0703", error.message, error.where, error.hint) from None
    return manifest


def _check_version(document: Any) -> None:
    version = document.get("format_version") if isinstance(document, dict) else None
    if type(version) is not int:
        raise Error("E0701", "manifest.json names no format version: this is not a ttc archive")
    if version != FORMAT_VERSION:
        hint = "install a newer ttc, or compile the model again with this one" if version > FORMAT_VERSION else "compile the model again"
        raise Error("E0702", f"the archive is of format version {version!s:.20}; this ttc reads version {FORMAT_VERSION}", hint=hint)


def _check_values(manifest: Manifest) -> None:
    """What types alone do not say.  Raises E0703."""
    states = state_keys(manifest.states)
    for key, tensor in manifest.tensors.items():
        if tensor.format not in FORMATS or FORMATS[tensor.format].storage == STRING:
            raise Error("E0703", f"tensor '{key}' is of format '{tensor.format}', in which none is stored")
        _check_shape(key, tensor.shape)
        if tensor.repeated and (key not in states or prod(tensor.shape) < 2 or FORMATS[tensor.format].is_block):
            raise Error("E0703", f"tensor '{key}' is no state of several elements that can be stored as one")
    for name, variable in {**manifest.parameters, **manifest.states}.items():
        if variable.dtype not in DTYPE_NAMES or variable.dtype == str(STRING):
            raise Error("E0703", f"'{name}' is of unknown type '{variable.dtype}'")
        _check_shape(name, variable.shape)
    for derived in manifest.derived:
        if derived.function.inputs or len(derived.function.outputs) != 1:
            raise Error("E0703", f"the expression of tensor '{derived.key}' has inputs, or not one output")
    known_values(manifest.fixed_inputs)
    for name, inputs in manifest.independent_batches:
        known = {port.name for port in manifest.programs[name].arguments if port.shape} if name in manifest.programs else set[str]()
        if not inputs or not known.issuperset(inputs):
            raise Error("E0703", f"program '{name}' or one of its inputs with a batch is not there")
    for name, axes in manifest.batch_axes:
        program = manifest.programs.get(name)
        ranks = {} if program is None else {port.name: len(port.shape) for port in (*program.arguments, *program.results)}
        if any(not 0 <= axis < ranks.get(port, 0) for port, axis in axes):
            raise Error("E0703", f"program '{name}' has no such dimension that carries a batch")
    if manifest.training is not None:
        manifest.training.check({port.name for program in manifest.programs.values() for port in program.arguments}, manifest.parameters)
    if manifest.generation is not None:
        manifest.generation.check(manifest.programs)
    if any(kind not in ABSENT for _, kind in manifest.absent_inputs):
        raise Error("E0703", f"an input is absent as something else than {' or '.join(ABSENT)}")


def _check_shape(name: str, shape: tuple[int, ...]) -> None:
    if len(shape) > _MAX_RANK or any(d < 0 for d in shape) or prod(shape) > _MAX_ELEMENTS:
        raise Error("E0703", f"the shape of '{name}' is not one of a tensor")
