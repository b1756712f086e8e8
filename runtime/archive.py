"""Archives (`.tti`): a compiled program as one file.

A zip of stored members, data at 64-byte offsets: `tensors/NNNN.bin`, `netlist.json`, `debug/...`, `manifest.json`, in this order, so
that one pass writes them.  The manifest records size and SHA-256 of every other member; the zip's comment (the seal) records the
SHA-256 of the manifest and the zip's directory.  Every other byte has only one legal value, so that no change goes unnoticed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.plain.functions import all_works
from ttc.dialects.core.records import record
from ttc.dialects.netlist import json_text
from ttc.dialects.netlist.model import Netlist
from ttc.runtime.atomic_file import replacing
from ttc.runtime.cpu import checked_threads, starting_threads
from ttc.runtime.manifest import (
    ArchiveMember,
    Description,
    Manifest,
    StoredTensor,
    make_manifest,
    manifest_from_json,
    manifest_to_json,
    signatures,
    state_keys,
)
from ttc.runtime.read_file import OpenedFile, give_back, in_file, read_file
from ttc.runtime.tensors import TensorSource
from ttc.runtime.zip_format import NAME, Directory, ZipEntry, check_layout, read_directory
from ttc.runtime.zip_writer import ZipWriter

MANIFEST = "manifest.json"
NETLIST = "netlist.json"
STAGES = "stages.json"
"""The member that describes an archive of stages, in the place of a manifest."""
MAX_JSON_BYTES = json_text.MAX_BYTES
_CHUNK_BYTES = 1 << 23
NN_TEXT = "nn.mlir"
"""Name of the text under `debug/` that holds the IR at the end of stage nn, where an archive can be exported."""
_SEAL = "ttc archive sha256 "


@starting_threads()
def write_archive(
    path: str | os.PathLike[str],
    *,
    netlist: Netlist,
    tensors: Mapping[str, TensorSource],
    description: Description,
    debug: Mapping[str, str] | None = None,
) -> None:
    """Write an archive whole, or leave `path` as it was.

    Args:
        netlist: what runs.
        tensors: by key; loaded one after the other, released after writing.
        debug: texts by file name, such as the stages' IR; names of letters, digits, `_`, `.` and `-`.
    Raises: E0103 if it cannot be written, or calls functions of Python; E0609 or E0703 if what would be written could not be loaded; what
            loading a tensor raises.
    """
    function = called_function(netlist, description)
    if function is not None:
        raise Error(
            "E0103", f"the model calls the function '{function}' of Python, which no archive can hold", hint="run it in this process"
        )
    texts = _loadable_texts(netlist, tensors, description, debug or {})
    with replacing(Path(path)) as fd, ThreadPoolExecutor(1) as pool:
        writer = ZipWriter(fd, pool)
        stored, members = _write_tensors(writer, tensors, state_keys(description.states))
        for name, data in texts.items():
            members[name] = ArchiveMember(len(data), writer.add(name, len(data), [memoryview(data)]))
        manifest = _manifest_text(description, netlist, stored, members)
        writer.add(MANIFEST, len(manifest), [memoryview(manifest)])
        writer.finish(lambda directory: seal_of(manifest, directory))


def called_function(netlist: Netlist, description: Description) -> str | None:
    """Return the name of a function of Python that a netlist, or a tensor made from others, calls; None if none does."""
    functions = [*(op.work for graph in netlist.graphs.values() for op in graph.ops), *(each.function for each in description.derived)]
    works = (work for function in functions for work in all_works(function))
    return next((str(work.attrs.get("function"))[:80] for work in works if work.op == "nn.host_call"), None)


def check_loadable(netlist: Netlist, tensors: Mapping[str, TensorSource], description: Description) -> None:
    """Raise what `write_archive` would for an archive that could not be loaded (E0609, E0703); no tensor is read."""
    _loadable_texts(netlist, tensors, description, {})


def _loadable_texts(
    netlist: Netlist, tensors: Mapping[str, TensorSource], description: Description, debug: Mapping[str, str]
) -> dict[str, bytes]:
    """The netlist and the debug texts as members, once loading has read the netlist and the manifest that they will have.

    Raises E0609 or E0703 for what loading refuses: more bytes, items or characters than it takes.
    """
    texts = {NETLIST: _netlist_text(netlist)}
    texts |= {_debug_name(name): text.encode("utf-8") for name, text in sorted(debug.items())}
    unknown = hashlib.sha256().hexdigest()
    stored = {key: StoredTensor(_tensor_name(number), t.shape, t.format) for number, (key, t) in enumerate(tensors.items(), 1)}
    members = {stored[key].member: ArchiveMember(source.size_bytes, unknown) for key, source in tensors.items()}
    members |= {name: ArchiveMember(len(data), unknown) for name, data in texts.items()}
    text = _manifest_text(description, netlist, stored, members)
    with _written():
        manifest_from_json(text)
    return texts


def _netlist_text(netlist: Netlist) -> bytes:
    with _written():
        data = json_text.dumps(netlist)
        if signatures(json_text.loads(data)) != signatures(netlist):
            raise Error("E0609", "its programs' inputs and outputs have names that cannot be written")
        return data


def _manifest_text(description: Description, netlist: Netlist, stored: dict[str, StoredTensor], members: dict[str, ArchiveMember]) -> bytes:
    with _written():
        data = manifest_to_json(make_manifest(description, netlist, stored, members))
        _check_json_size(len(data))
        return data


@contextmanager
def _written() -> Iterator[None]:
    """Errors of reading back what is about to be written say what to do about the model, as there is no file yet."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise Error("E0609", f"a name holds characters that are no text: {error.reason}") from None
    except Error as error:
        error.hint = error.hint or "the model is larger than archives can be: compile parts of it"
        raise


def _tensor_name(number: int) -> str:
    return f"tensors/{number:04}.bin"


def _write_tensors(
    writer: ZipWriter, tensors: Mapping[str, TensorSource], states: Collection[str]
) -> tuple[dict[str, StoredTensor], dict[str, ArchiveMember]]:
    """Write all tensors; of states that are one number everywhere, as caches and moments of optimizers at first, that number."""
    stored: dict[str, StoredTensor] = {}
    members: dict[str, ArchiveMember] = {}
    for number, (key, source) in enumerate(tensors.items(), 1):
        name = _tensor_name(number)
        one = source.repeated() if key in states else None
        size, chunks = (source.size_bytes, source.chunks()) if one is None else (len(one), [memoryview(one)])
        members[name] = ArchiveMember(size, writer.add(name, size, chunks))
        stored[key] = StoredTensor(name, source.shape, source.format, one is not None)
    return stored, members


def _debug_name(name: str) -> str:
    member = f"debug/{name}"
    if NAME.fullmatch(member) is None:
        raise Error("E0103", f"a debug text cannot be named '{name}'", hint="use letters, digits, '_', '.' and '-'")
    return member


def check_seal(manifest: memoryview, directory: Directory) -> None:
    """Raises E0704 unless the comment is the seal of what describes the members, and of the directory."""
    if directory.comment != seal_of(manifest, directory.raw):
        hint = "fetch it again, or compile the model again"
        raise Error("E0704", "the archive's manifest or directory was changed: its seal does not match", hint=hint)


def seal_of(manifest: bytes | memoryview, directory: bytes) -> bytes:
    """Return the comment of an archive: a hash of the member that describes all others, and of the directory."""
    digest = hashlib.sha256(manifest)
    digest.update(directory)
    return (_SEAL + digest.hexdigest()).encode("ascii")


@record
class Archive:
    """An open archive, verified.  Its tensors are views of one read-only mapping or copy, which lives as long as any of them.

    seal: a hash of manifest and directory, and so of all that the archive holds.
    """

    path: Path
    manifest: Manifest
    entries: Mapping[str, ZipEntry]
    seal: str
    _data: memoryview
    _opened: OpenedFile | None

    @property
    def check(self) -> Callable[[], None] | None:
        """A function that runs call to check that the archive's file is unchanged; None where a copy of the file is held."""
        return None if self._opened is None else self.require_unchanged

    def require_unchanged(self) -> None:
        """Raises E0704 if the file was cut or written to since it was opened: what is mapped of it is no longer what was verified."""
        if self._opened is not None and self._opened.changed():
            hint = "load it again; replace archives by renaming, as ttc does, not in place"
            raise Error("E0704", "the archive was changed while it was in use", str(self.path), hint)

    def member(self, name: str) -> memoryview:
        """Return the bytes of a member.  Raises E0703."""
        entry = self.entries.get(name)
        if entry is None:
            raise Error("E0703", f"the archive holds no '{name}'", str(self.path))
        return self._data[entry.data_offset : entry.end]

    def netlist(self) -> Netlist:
        """Return the netlist, well formed but not yet checked.  Raises E0609."""
        with in_file(self.path):
            return json_text.loads(bytes(self.member(NETLIST)))

    def tensor(self, key: str) -> NDArray:
        """Return a tensor as numbers, in the narrowest dtype that holds them; read-only.  Raises E0304, and E0104 as `sources` does."""
        stored = self.manifest.tensors.get(key)
        if stored is None:
            raise Error("E0304", f"the archive holds no tensor '{key}'", str(self.path), nearest(key, self.manifest.tensors))
        format_, packed = format_named(stored.format), self._packed(stored)
        if format_.storage == format_.array_dtype:
            return packed
        values = format_.unpack(packed, stored.shape)
        values.flags.writeable = False
        return values

    def sources(self) -> dict[str, TensorSource]:
        """The tensors by key, in the order of the archive. Raises E0104 for states stored as one number that this process cannot hold."""
        self._require_memory(self.manifest.tensors.values())
        return {key: self._source(stored) for key, stored in self.manifest.tensors.items()}

    def debug(self) -> dict[str, str]:
        """The texts under `debug/`, by file name."""
        names = [name for name in self.entries if name.startswith("debug/")]
        return {name.removeprefix("debug/"): bytes(self.member(name)).decode("utf-8", "replace") for name in names}

    def _source(self, stored: StoredTensor) -> TensorSource:
        entry = self.entries[stored.member]

        def release() -> None:
            give_back(self._data, entry.data_offset, entry.end)

        return TensorSource(stored.shape, stored.format, lambda: self._packed(stored), release)

    def _require_memory(self, tensors: Iterable[StoredTensor]) -> None:
        """Raise E0104 for more than this process can have: the file tells nothing of the size of what it holds as one number."""
        from ttc.runtime.engines.room import require_memory  # writing archives loads no engine

        sizes = [format_named(stored.format).compute.itemsize * prod(stored.shape) for stored in tensors if stored.repeated]
        require_memory(sum(sizes), "what its states start with", str(self.path))

    def _packed(self, stored: StoredTensor) -> NDArray:
        """Return a tensor as its format packs it: a view of the mapping."""
        format_ = format_named(stored.format)
        if stored.repeated:
            self._require_memory([stored])
            return np.broadcast_to(np.frombuffer(self.member(stored.member), format_.storage), stored.shape)
        shape = format_.stored_shape(stored.shape)
        if prod(shape) == 0:
            return np.empty(shape, format_.storage)
        return np.frombuffer(self.member(stored.member), format_.storage).reshape(shape)


@starting_threads()
def open_archive(path: str | os.PathLike[str], *, verify_tensors: bool = True, threads: int | None = None) -> Archive:
    """Open and verify an archive.

    Args:    verify_tensors: False leaves out the hashes of tensors (for looking at an archive, not for running it).
             threads: that compute hashes; None: one a core.
    Raises:  E0102 if there is no such file; E0701 to E0704.
    """
    place = Path(path)
    with in_file(place):
        data, opened = read_file(place)
        return _verified(place, data, opened, verify_tensors=verify_tensors, threads=threads)


def archive_of_bytes(data: memoryview, place: Path) -> Archive:
    """Verify an archive that lies in memory, which must not change.

    Args:    place: of the file that it came from, for errors.
    Raises:  E0701 to E0704.
    """
    with in_file(place):
        return _verified(place, data, None, verify_tensors=True, threads=1)


def _verified(place: Path, data: memoryview, opened: OpenedFile | None, *, verify_tensors: bool, threads: int | None) -> Archive:
    directory = read_directory(data)
    if MANIFEST in directory.entries and not directory.comment.startswith(_SEAL.encode("ascii")):
        raise Error("E0703", "the archive has no seal: it was repackaged", hint="fetch it again, or compile the model again")
    manifest_bytes = _manifest_bytes(data, directory)
    manifest = manifest_from_json(bytes(manifest_bytes))
    check_seal(manifest_bytes, directory)
    check_layout(data, directory)
    _check_members(manifest, directory.entries)
    eager = {n: m for n, m in manifest.members.items() if verify_tensors or not n.startswith("tensors/")}
    check_hashes(data, eager, directory.entries, checked_threads(threads))
    return Archive(place, manifest, directory.entries, directory.comment.decode("ascii"), data, opened)


def _manifest_bytes(data: memoryview, directory: Directory) -> memoryview:
    entry = directory.entries.get(MANIFEST)
    if entry is None and STAGES in directory.entries:
        hint = "ttc.dist.Runner(path, mesh=...) loads them, each process its own"
        raise Error("E0703", "the archive holds the stages of a pipeline, and no program of its own", hint=hint)
    if entry is None:
        raise Error("E0701", "the file is a zip without manifest.json: not a ttc archive")
    _check_json_size(max(entry.size, directory.entries.get(NETLIST, entry).size))
    return data[entry.data_offset : entry.end]


def _check_json_size(size_bytes: int) -> None:
    if size_bytes > MAX_JSON_BYTES:
        raise Error("E0703", f"manifest.json or netlist.json is larger than {MAX_JSON_BYTES} bytes")


def _check_members(manifest: Manifest, entries: Mapping[str, ZipEntry]) -> None:
    """Raises E0703 unless members, manifest and tensors match one to one, E0704 for a size that does not."""
    expected = {MANIFEST, *manifest.members}
    if NETLIST not in manifest.members or set(entries) != expected:
        wrong = sorted(set(entries) ^ (expected | {NETLIST}))
        raise Error("E0703", f"members of the archive and of its manifest differ: {', '.join(wrong[:8])}")
    for name, member in manifest.members.items():
        if entries[name].size != member.size:
            raise Error("E0704", f"member '{name}' has {entries[name].size} bytes, not {member.size}")
    files = [stored.member for stored in manifest.tensors.values()]
    if sorted(files) != sorted(name for name in manifest.members if name.startswith("tensors/")):
        raise Error("E0703", "the tensors of the manifest and of the archive differ")
    for key, stored in manifest.tensors.items():
        size = format_named(stored.format).size_bytes(stored.held_shape)
        if manifest.members[stored.member].size != size:
            raise Error("E0704", f"tensor '{key}' takes {size} bytes, but its member has {manifest.members[stored.member].size}")


def check_hashes(data: memoryview, members: Mapping[str, ArchiveMember], entries: Mapping[str, ZipEntry], threads: int) -> None:
    """Raises E0704 for the first member whose bytes do not match their hash."""

    def matches(item: tuple[str, ArchiveMember]) -> bool:
        entry, digest = entries[item[0]], hashlib.sha256()
        for start in range(entry.data_offset, entry.end, _CHUNK_BYTES):
            end = min(start + _CHUNK_BYTES, entry.end)
            digest.update(data[start:end])
            give_back(data, start, end)
        return digest.hexdigest() == item[1].sha256

    with ThreadPoolExecutor(threads) as pool:
        for (name, _), good in zip(members.items(), pool.map(matches, members.items()), strict=True):
            if not good:
                raise Error("E0704", f"the bytes of member '{name}' do not match their hash", hint="fetch or compile the archive again")
