"""Archives of stages: what processes of a pipeline run, in one file of which each reads no more than its own stages.

A zip of stored members as that of any other archive: `tensors/NNNN.bin`, the parameters and buffers of the model; `parts/NNNN.tti`, a whole
archive for each pass through a stage; and `stages.json`, which describes them, with size and SHA-256 of every other member.  The comment
seals `stages.json` and the directory.
"""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from math import prod
from pathlib import Path
from typing import Any

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.json_hooks import no_constant, unique_keys
from ttc.dialects.core.records import record
from ttc.dialects.netlist.codec import decode, encode
from ttc.runtime.archive import MAX_JSON_BYTES, STAGES, Archive, archive_of_bytes, check_hashes, check_seal, seal_of
from ttc.runtime.atomic_file import replacing
from ttc.runtime.manifest import ArchiveMember
from ttc.runtime.read_file import OpenedFile, in_file, read_file
from ttc.runtime.zip_format import ZipEntry, check_layout, read_directory
from ttc.runtime.zip_writer import ZipWriter

FORMAT_VERSION = 1
"""The format version of archives of stages that this version writes and reads."""
_MAX_STAGES = 1 << 12


@record
class SharedTensor:
    """A parameter or buffer of the model, which several stages may have.

    Args:
        member: that holds the elements, in row-major order.
        format: of the elements.
        trained: whether it has a gradient.
    """

    member: str
    shape: tuple[int, ...]
    format: str
    trained: bool


@record
class GraphPort:
    """A tensor that a graph of a stage is given.

    Args:
        name: that its program has for it.
        position: among the values that the graph is called with.
        dtype: numpy's name.
    """

    name: str
    position: int
    dtype: str


@record
class GraphValue:
    """A value that a graph of a stage gives, and the place where it is given.

    Args:
        name: of the result of its program; None: a value that it was given, or nothing.
        position: of that value among those that it was called with; -1: none.
        stride: elements from one index to the next by dimension; None: without gaps.
    """

    name: str | None = None
    position: int = -1
    stride: tuple[int, ...] | None = None


@record
class StageGraph:
    """A graph of a stage.

    Args:
        part: the member that is its archive; None: nothing is computed.
        arguments: values that it is called with, drawn ones left out.
        inputs, outputs: what its program takes of these and of what is drawn, and what the graph gives.
        draws: random numbers that are drawn before, as JSON.
    """

    part: str | None
    arguments: int
    inputs: tuple[GraphPort, ...]
    outputs: tuple[GraphValue, ...]
    draws: tuple[str, ...] = ()


@record
class StoredLeaf:
    """A tensor that passes between stages.

    Args:
        dtype: numpy's name.
        gradient: whether it has one, in training.
    """

    shape: tuple[int, ...]
    dtype: str
    gradient: bool


@record
class StoredSignature:
    """The tensors that pass between two stages, and the structure that they lie in, as JSON with a number for each tensor."""

    leaves: tuple[StoredLeaf, ...]
    structure: str


@record
class StagePass:
    """A way through a stage: in training or in evaluation.

    Args:
        forward: takes parameters, buffers, inputs and inputs by name; gives outputs, buffers, and what `backward` reads.
        backward: takes that, and gradients of outputs; gives gradients of all that `forward` takes.  None: there are none.
        gives: the outputs.
    """

    forward: StageGraph
    backward: StageGraph | None
    gives: StoredSignature


@record
class StoredStage:
    """A stage of the archive.

    Args:
        parameters, buffers: names with keys of tensors, in the order in which graphs take them.
        kept: names of the buffers that checkpoints hold.
        takes: its inputs.
        named: its inputs by name.
        training: None: the archive is for evaluation alone.
    """

    parameters: tuple[tuple[str, str], ...]
    buffers: tuple[tuple[str, str], ...]
    kept: tuple[str, ...]
    takes: StoredSignature
    named: dict[str, StoredLeaf]
    training: StagePass | None
    evaluation: StagePass


@record
class StoredStages:
    """Describes an archive of stages.

    Args:
        version: of the ttc that wrote it.
        target: that it was compiled for.
        precision: that stages compute in.
        rows: of a microbatch.
        tensors: of the model, by key.
        stages: in order.
        members: all members beside this description.
    """

    format_version: int
    version: str
    target: str
    precision: str
    rows: int
    tensors: dict[str, SharedTensor]
    stages: tuple[StoredStage, ...]
    members: dict[str, ArchiveMember] = field(default_factory=dict)


def write_stage_archive(path: str | os.PathLike[str], stages: StoredStages, members: Mapping[str, memoryview]) -> None:
    """Write an archive whole, or leave `path` as it was.

    Args:
        stages: whose `members` are those here.
        members: bytes by name.
    Raises: E0103 if it cannot be written; E0703 for more than could be read.
    """
    with replacing(Path(path)) as fd, ThreadPoolExecutor(1) as pool:
        writer = ZipWriter(fd, pool)
        known = {name: ArchiveMember(len(data), writer.add(name, len(data), [data])) for name, data in members.items()}
        raw = {**encode(stages), "members": encode(known)}
        text = json.dumps(raw, separators=(",", ":"), allow_nan=False).encode()
        described(text)
        writer.add(STAGES, len(text), [memoryview(text)])
        writer.finish(lambda directory: seal_of(text, directory))


class StageArchive:
    """An open archive of stages; bytes of a member are verified when they are first asked for."""

    def __init__(
        self, path: Path, stages: StoredStages, entries: Mapping[str, ZipEntry], seal: bytes, data: memoryview, opened: OpenedFile | None
    ) -> None:
        self.path, self.stages, self.seal = path, stages, seal
        self._entries, self._data, self._opened = entries, data, opened
        self.read: set[str] = set()
        """Members whose bytes were read."""

    def member(self, name: str) -> memoryview:
        """Return the bytes of a member.  Raises E0704 where they are not those that were written."""
        with in_file(self.path):
            entry = self._entries[name]
            check_hashes(self._data, {name: self.stages.members[name]}, self._entries, 1)
            self.read.add(name)
            return self._data[entry.data_offset : entry.end]

    def part(self, name: str) -> Archive:
        """Return the archive of a graph, in memory of its own.  Raises E0701 to E0704."""
        held = self.member(name)
        pages = mmap.mmap(-1, max(len(held), 1))  # its tensors are aligned in it, and it stays as it was verified
        pages[: len(held)] = bytes(held)
        self.require_unchanged()
        return archive_of_bytes(memoryview(pages).toreadonly()[: len(held)], self.path)

    def require_unchanged(self) -> None:
        """Raises E0704 if the file was written to since it was opened."""
        if self._opened is not None and self._opened.changed():
            raise Error("E0704", "the archive was changed while it was read", str(self.path), "load it again")


def open_stage_archive(path: str | os.PathLike[str]) -> StageArchive:
    """Open an archive of stages, and verify all of it but the bytes of members.

    Raises: E0102 if there is no such file; E0701 to E0704.
    """
    place = Path(path)
    with in_file(place):
        data, opened = read_file(place)
        directory = read_directory(data)
        entry = directory.entries.get(STAGES)
        if entry is None:
            hint = "ttc.dist.save_stages writes one"
            raise Error("E0703", "the archive holds no stages of a pipeline", hint=hint)
        if entry.size > MAX_JSON_BYTES:
            raise Error("E0703", f"{STAGES} is larger than {MAX_JSON_BYTES} bytes")
        text = data[entry.data_offset : entry.end]
        check_seal(text, directory)
        check_layout(data, directory)
        stages = described(bytes(text))
        _check_entries(stages, directory.entries)
        return StageArchive(place, stages, directory.entries, directory.comment, data, opened)


def described(text: bytes) -> StoredStages:
    """Read the description of an archive. Raises E0702 for another format version, E0703 for anything malformed."""
    try:
        raw: Any = json.loads(text.decode("utf-8"), object_pairs_hook=unique_keys, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        raise Error("E0703", f"{STAGES} is not valid JSON: {str(error)[:200]}") from None
    version = raw.get("format_version") if isinstance(raw, dict) else None
    if version != FORMAT_VERSION:
        raise Error("E0702", f"the stages are of format version {version!s:.20}; this ttc reads version {FORMAT_VERSION}")
    try:
        stages: StoredStages = decode(StoredStages, raw, STAGES)
        _check(stages)
    except Error as error:
        raise Error("E0703", error.message, error.where, error.hint) from None
    return stages


def _check(stages: StoredStages) -> None:
    """What types alone do not say.  Raises E0703."""
    if not 1 <= len(stages.stages) <= _MAX_STAGES or stages.rows < 1:
        raise Error("E0703", "the archive has no stages, or microbatches without rows")
    for key, tensor in stages.tensors.items():
        size = stages.members[tensor.member].size if tensor.member in stages.members else -1
        if any(d < 0 for d in tensor.shape) or size != format_named(tensor.format).storage.itemsize * prod(tensor.shape):
            raise Error("E0703", f"tensor '{key[:80]}' is not what its member holds")
    for stage in stages.stages:
        named = {key for _, key in (*stage.parameters, *stage.buffers)}
        if any(key not in stages.tensors for key in named) or not set(stage.kept) <= {name for name, _ in stage.buffers}:
            raise Error("E0703", "a stage has a tensor that the archive has not")
        values = len(named) + len(stage.takes.leaves) + len(stage.named)
        for way in (stage.training, stage.evaluation):
            if way is not None:
                _check_pass(stages, stage, way, values)


def _check_pass(stages: StoredStages, stage: StoredStage, way: StagePass, values: int) -> None:
    """Raises E0703 unless the graphs of a pass take and give as many values as they must."""
    kept = len(way.gives.leaves) + len({key for _, key in stage.buffers})
    forward, backward = way.forward, way.backward
    given = [kept, len(way.forward.outputs)] if backward is None else [kept]
    wrong = forward.arguments != values or len(forward.outputs) < max(given) or (backward is not None and len(backward.outputs) != values)
    for graph in (forward, *(() if backward is None else (backward,))):
        known = graph.arguments + len(graph.draws)
        places = [*(port.position for port in graph.inputs), *(output.position + 1 for output in graph.outputs)]
        wrong = wrong or any(not 0 <= place <= known for place in places) or any(port.position == known for port in graph.inputs)
        wrong = wrong or (graph.part is None) != (not any(output.name is not None for output in graph.outputs))
        wrong = wrong or (graph.part is not None and graph.part not in stages.members)
    if wrong:
        raise Error("E0703", "a pass through a stage takes or gives other values than the stage has")


def _check_entries(stages: StoredStages, entries: Mapping[str, ZipEntry]) -> None:
    """Raises E0703 unless the members are those that are described, E0704 for one of another size."""
    if set(entries) != {STAGES, *stages.members}:
        wrong = sorted(set(entries) ^ {STAGES, *stages.members})
        raise Error("E0703", f"members of the archive and of its description differ: {', '.join(wrong[:8])}")
    for name, member in stages.members.items():
        if entries[name].size != member.size:
            raise Error("E0704", f"member '{name}' has {entries[name].size} bytes, not {member.size}")
