"""What a graph became (`prepared`) as bytes and back: what the cache keeps of a program, beside the code of its kernels.

    unpack(pack(prepared))                     # equal, but for the identity of buffers; constants have no memory yet

    unpack_program(pack_program(KeptProgram(...)))

Form of a graph: the length of a head, the head in JSON, then arrays of 64-bit words, little-endian, in the order in which the head counts
them.  A program: likewise a head, then its graphs.  Only programs that are machine code throughout can be kept.  No weights are: the
constants that a run reads come from the program's tensors, but for small tables that lowerings make of shapes and attributes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.records import record
from ttc.runtime.engines.native.graph.tensors import STATUS, Place, PlanBuffer, View
from ttc.runtime.engines.native.planning.arena import Arena
from ttc.runtime.engines.native.planning.prepared import ConstantJobs, InPlace, Layout, Prepared, Segment, Written
from ttc.runtime.engines.native.planning.template import Patch, Template
from ttc.runtime.pages import aligned_bytes

_WORD = np.dtype("<i8")


@record
class KeptProgram:
    """A program that was loaded once.

    Args:
        note: what the engine's caller keeps with it.
        kernels: by key, the name of the function, and of the entry of the cache with its code.
        graphs: what each became, by name.
    """

    note: str
    kernels: Mapping[str, tuple[str, str]]
    graphs: Mapping[str, bytes]


def pack_program(program: KeptProgram) -> bytes:
    """Return a kept program as bytes."""
    graphs = {name: len(data) for name, data in program.graphs.items()}
    return _with_head({"note": program.note, "kernels": program.kernels, "graphs": graphs}, list(program.graphs.values()))


def unpack_program(data: bytes) -> KeptProgram:
    """Return a kept program from bytes that `pack_program` made."""
    head, at = _head_of(data)
    graphs: dict[str, bytes] = {}
    for name, size in head["graphs"].items():
        graphs[name] = data[at : at + size]
        at += size
    return KeptProgram(head["note"], {key: (symbol, entry) for key, (symbol, entry) in head["kernels"].items()}, graphs)


def pack(prepared: Prepared) -> bytes | None:
    """Return a prepared graph as bytes; None if a part of it is computed or held by Python."""
    layout = prepared.layout
    views = (*layout.bound.values(), *(written.view for written in layout.written))
    if any(segment.step is not None for segment in layout.segments) or None in views:
        return None
    writer = _Writer(prepared)
    head = {
        "buffers": [[b.size_bytes, b.place.value, b.queue, b.key] for b in writer.numbers],
        "tables": [[number, array.nbytes] for number, array in writer.tables],
        "arena": [layout.arena.size_bytes, [[writer.numbers[b], offset] for b, offset in layout.arena.offsets.items()]],
        "segments": [[s.first, s.last, [[writer.view(view), wanted] for view, wanted in s.conditions], s.alone] for s in layout.segments],
        "bound": {queue: writer.view(view) for queue, view in layout.bound.items()},
        "written": [[w.queue, w.value, writer.view(w.view), w.in_place, w.dtype.str] for w in layout.written],
        "values": dict(layout.values),
        "variables": sorted(layout.variables),
        "in_place": {queue: [place.first, dict(place.over)] for queue, place in layout.in_place.items()},
        "last_reads": dict(layout.last_reads),
        "narrowed": dict(layout.narrowed),
        "template": writer.template(prepared.template),
        "packing": writer.template(prepared.packing.template),
        "reads": [writer.all(buffers) for buffers in prepared.packing.reads],
        "writes": [writer.all(buffers) for buffers in prepared.packing.writes],
        "kept": sorted(writer.all(list(prepared.packing.kept))),
    }
    return _with_head(head, [np.asarray(array, _WORD).tobytes() for array in writer.arrays])


def unpack(data: bytes) -> Prepared:
    """Return a prepared graph from bytes that `pack` made."""
    head, start = _head_of(data)
    reader = _Reader(head, np.frombuffer(data, _WORD, offset=start).astype(np.int64, copy=False))
    template, packing = reader.template(head["template"]), reader.template(head["packing"])
    arena_bytes, offsets = head["arena"]
    layout = Layout(
        [
            Segment(first, last, None, tuple((reader.view(view), wanted) for view, wanted in truths), alone)
            for first, last, truths, alone in head["segments"]
        ],
        {queue: reader.view(view) for queue, view in head["bound"].items()},
        [Written(queue, value, reader.view(view), own, np.dtype(dtype)) for queue, value, view, own, dtype in head["written"]],
        Arena({reader.buffers[number]: offset for number, offset in offsets}, arena_bytes),
        head["values"],
        frozenset(head["variables"]),
        {queue: InPlace(first, {name: tuple(jobs) for name, jobs in over.items()}) for queue, (first, over) in head["in_place"].items()},
        head["last_reads"],
        head["narrowed"],
    )
    reads, writes = (tuple(map(reader.all, head[name])) for name in ("reads", "writes"))
    return Prepared(layout, template, ConstantJobs(packing, reads, writes, frozenset(reader.all(head["kept"]))))


def _with_head(head: Mapping[str, Any], parts: Sequence[bytes]) -> bytes:
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _WORD.itemsize)
    return b"".join([len(text).to_bytes(_WORD.itemsize, "little"), text, *parts])


def _head_of(data: bytes) -> tuple[dict[str, Any], int]:
    """Return the head, and where it ends."""
    end = _WORD.itemsize + int.from_bytes(data[: _WORD.itemsize], "little")
    return json.loads(data[_WORD.itemsize : end]), end


class _Writer:
    """Numbers buffers, and gathers arrays."""

    def __init__(self, prepared: Prepared) -> None:
        self.numbers = {buffer: number for number, buffer in enumerate(dict.fromkeys(prepared.buffers()))}
        self.arrays: list[NDArray] = []
        made = {buffer for buffers in prepared.packing.writes for buffer in buffers}
        self.tables = [(number, b.array) for b, number in self.numbers.items() if b.array is not None and b.key is None and b not in made]
        for _, array in self.tables:
            words = np.zeros(-(-array.nbytes // _WORD.itemsize), _WORD)
            words.view(np.uint8)[: array.nbytes] = array.reshape(-1).view(np.uint8)
            self.arrays.append(words)

    def all(self, buffers: Sequence[PlanBuffer]) -> list[int]:
        return [self.numbers[buffer] for buffer in buffers]

    def view(self, view: View | None) -> list[Any]:
        assert view is not None
        return [self.numbers[view.buffer], view.storage, view.shape, view.strides, view.offset]

    def template(self, template: Template) -> dict[str, Any]:
        self.arrays += [template.words, template.table]
        for patch in template.patches.values():
            self.arrays += [patch.positions, patch.offsets]
        patches = [[self.numbers[buffer], len(patch.positions)] for buffer, patch in template.patches.items()]
        shapes = [len(template.words), *template.table.shape]
        return {"shapes": shapes, "kernels": template.kernels, "patches": patches, "scratch": template.scratch_bytes}


class _Reader:
    """Makes buffers, and takes arrays in order."""

    def __init__(self, head: dict[str, Any], words: NDArray[np.int64]) -> None:
        self.buffers = [
            STATUS.buffer if place == Place.STATUS.value else PlanBuffer(size, Place(place), queue, key)
            for size, place, queue, key in head["buffers"]
        ]
        self._words = words
        self._taken = 0
        for number, size_bytes in head["tables"]:
            table = aligned_bytes(size_bytes)
            table[:] = self._take(-(-size_bytes // _WORD.itemsize)).view(np.uint8)[:size_bytes]
            self.buffers[number].array = table

    def all(self, numbers: Sequence[int]) -> tuple[PlanBuffer, ...]:
        return tuple(self.buffers[number] for number in numbers)

    def view(self, raw: list[Any]) -> View:
        number, storage, shape, strides, offset = raw
        return View(self.buffers[number], storage, tuple(shape), tuple(strides), offset)

    def template(self, raw: dict[str, Any]) -> Template:
        count, jobs, columns = raw["shapes"]
        words, table = self._take(count), self._take(jobs * columns).reshape(jobs, columns)
        patches = {self.buffers[number]: Patch(self._take(size), self._take(size)) for number, size in raw["patches"]}
        return Template(words, table, tuple(raw["kernels"]), patches, raw["scratch"])

    def _take(self, count: int) -> NDArray[np.int64]:
        self._taken += count
        found = self._words[self._taken - count : self._taken]
        if len(found) != count:
            raise ValueError(f"{len(found)} words where {count} were announced")
        return found
