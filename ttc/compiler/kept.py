"""Programs that are kept from one process to the next: what a compilation made, found again by what it was made of.

    known = KeptCompilation.of(text, weights, options)      # text: of all that is compiled but weights
    program = known.recall()
    ...
    known.watch(source.weights)
    program = known.kept(compile_source(source, options))

An entry of the cache holds netlist, description and texts of a program, and no weights, or says that the program cannot be kept.  Where a
compilation looked at the value of a weight, the entry has its digest, and counts for that value alone.  Beside it each graph's plan is kept
once it is made, which counts for the values of all weights but those that programs update.
"""

from __future__ import annotations

import hashlib
import json
import sys
import zlib
from collections.abc import Callable, Mapping
from dataclasses import field, fields, replace
from functools import cache, partial
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import ttc
from ttc import dialects, passes, runtime
from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_of
from ttc.dialects.core.plain import interpret
from ttc.dialects.core.plain.functions import Function, Work
from ttc.dialects.core.plain.weights import Weight, WeightStore
from ttc.dialects.core.records import record
from ttc.dialects.netlist import json_text
from ttc.dialects.netlist.codec import decode, encode
from ttc.dialects.netlist.model import Netlist
from ttc.options import CompileOptions
from ttc.runtime.archive import called_function
from ttc.runtime.cpu import checked_threads
from ttc.runtime.engines.base import RemembersPlans
from ttc.runtime.engines.native.codegen.cache import Cache, process_cache
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.codegen.generator import sources_version
from ttc.runtime.engines.table import engine_named
from ttc.runtime.machine.surface import Surface
from ttc.runtime.manifest import Description, state_keys
from ttc.runtime.metrics import counter
from ttc.runtime.netlists import Netlists
from ttc.runtime.program import Plans, Program
from ttc.runtime.tensors import Constants, TensorSource

if TYPE_CHECKING:
    from ttc.compiler.driver import Compilation

MAX_MADE_BYTES, MAX_LITERAL_BYTES = 1 << 24, 1 << 12
"""The most bytes of a constant that the import made, such as a mask, and of one that a pass made without an expression, which is a literal
of the IR: larger ones may be parts of weights."""
_HITS, _MISSES = counter("compile_cache_hits"), counter("compile_cache_misses")
_LENGTH_BYTES = 8
_REFUSED = b"refused"
"""The entry of a program that cannot be kept."""


@cache
def _packages() -> tuple[Path, ...]:
    """Folders of the sources that decide what a model becomes."""
    return tuple(sorted({Path(path) for module in (ttc, dialects, passes, runtime) for path in module.__path__}))


def compiler_version() -> bytes | None:
    """Return the version of all sources of ours, of Python and numpy; None: a source was changed since this process began."""
    ours = sources_version(_packages())
    return None if ours is None else ours + f"{sys.version} {np.__version__}".encode()


@record
class KeptCompilation:
    """The place of a program in the cache.

    Args:
        store: the cache.
        entry: the name of its entry.
        weights: the model's tensors by name.
        read: names of those whose values the compilation has looked at.
        made: names of constants that the import made.
    """

    store: Cache
    entry: str
    weights: Mapping[str, Weight]
    read: set[str] = field(default_factory=set)
    made: set[str] = field(default_factory=set)

    @staticmethod
    def of(text: str, weights: Mapping[str, Weight], options: CompileOptions) -> KeptCompilation | None:
        """Return the place of what a model becomes with options; None where there is no cache, or options name files.

        text: all that decides what the model is but the values of `weights`.
        """
        chosen = _text_of(options)
        store = process_cache()
        entry = None if chosen is None else store.name(f"program {chosen}\n{text}", host_cpu(), compiler_version)
        return None if entry is None else KeptCompilation(store, entry, weights)

    @property
    def is_refused(self) -> bool:
        """Whether it was found that this program cannot be kept."""
        return self.store.read(self.entry) == _REFUSED

    def recall(self) -> Program | None:
        """Return the program, or None if it is not kept for these weights; counts which it is."""
        found = self.found()
        (_MISSES if found is None else _HITS).add()
        return found

    def found(self) -> Program | None:
        """Return the program, or None if it is not kept for these weights."""
        data = self.store.read(self.entry)
        try:
            return None if data is None else self._recalled(data)
        except (Error, ValueError, KeyError, TypeError):
            return None

    def watch(self, weights: WeightStore) -> None:
        """Note from now on which of the weights a compilation looks at; those that the import has looked at or left out count as read."""
        self.read.update(name for name in self.weights if name not in weights or weights[name].is_loaded)
        self.made.update(name for name in weights if name not in self.weights)
        for name in weights:
            if name in self.weights:
                weights[name].load = partial(self._noted, name, weights[name].load)

    def kept(self, compilation: Compilation) -> Program:
        """Return the program that was compiled from the weights watched, and keep it if that is possible."""
        program = compilation.program()
        read = sorted(self.read)
        packed = self._packed(program, compilation.unit.weights, read)
        if packed is None:
            self.store.write(self.entry, _REFUSED)
            return program
        self.store.write(self.entry, packed)
        return replace(program, plans=self._plans(program.netlists, program.constants, program.description))

    # ---- inside --------------------------------------------------------------------------------------------------------------------------

    def _noted(self, name: str, load: Callable[[], NDArray]) -> NDArray:
        self.read.add(name)
        return load()

    def _plans(self, netlists: Netlists, constants: Constants, description: Description) -> Plans:
        @cache
        def key() -> str:
            fixed = netlists.updated | state_keys(description.states)
            values = [f"{name} {weight.digest()}" for name, weight in sorted(self.weights.items()) if name not in fixed]
            return f"{self.entry} {hashlib.sha256(chr(10).join(values).encode()).hexdigest()}"

        return Plans(engine_named(None, checked_threads(None)), netlists, constants, key=key)

    def _packed(self, program: Program, weights: WeightStore, read: list[str]) -> bytes | None:
        """Return the entry of a program; None if it holds for some inputs alone, calls Python, or has tensors that nothing here gives."""
        description, netlist = program.description, program.netlist
        if description.fixed_inputs or not isinstance(program.plans.engine, RemembersPlans) or called_function(netlist, description):
            return None
        derived = {each.key for each in description.derived}
        tensors: dict[str, list[Any]] = {}
        own = [key for key in {**program.constants.sources, **dict.fromkeys(self.made)} if key not in derived and key not in self.weights]
        for key in own:
            most = MAX_MADE_BYTES if key in self.made else MAX_LITERAL_BYTES
            if weights[key].size_bytes > most or weights[key].dtype.hasobject:
                return None
        for key, source in program.constants.sources.items():
            tensors[key] = [weights[key].shape, str(weights[key].dtype), source.format]
        head = {
            "description": encode(description),
            "surface": encode(program.netlists.surface),
            "tensors": tensors,
            "own": {key: [weights[key].shape, str(weights[key].dtype)] for key in own},
            "derived": {key: [weights[key].shape, str(weights[key].dtype)] for key in sorted(derived)},
            "read": {name: self.weights[name].digest() for name in read},
        }
        parts = [json.dumps(head, separators=(",", ":")).encode(), json_text.dumps(netlist), json.dumps(program.texts()).encode()]
        parts.append(b"".join(weights[key].value().tobytes() for key in own))
        return b"".join(len(part).to_bytes(_LENGTH_BYTES, "little") + part for part in (zlib.compress(part, 1) for part in parts))

    def _recalled(self, data: bytes) -> Program | None:
        """None if values that the compilation looked at differ."""
        parts = _parts(data)
        head = json.loads(zlib.decompress(parts[0]))
        if any(self.weights[name].digest() != digest for name, digest in head["read"].items()):
            return None
        description = decode(Description, head["description"])
        weights = dict(self.weights)
        values = memoryview(zlib.decompress(parts[3]))
        for key, (shape, dtype) in head["own"].items():
            size = prod(shape) * np.dtype(dtype).itemsize
            weights[key] = literal(np.frombuffer(values[:size], np.dtype(dtype)).reshape(shape))
            values = values[size:]
        for each in description.derived:
            shape, dtype = head["derived"][each.key]
            weights[each.key] = _derived(each.function, tuple(shape), np.dtype(dtype), weights)
        sources: dict[str, TensorSource] = {}
        for key, (shape, dtype, format_) in head["tensors"].items():
            weight = weights[key]
            if (weight.shape, weight.dtype) != (tuple(shape), np.dtype(dtype)):
                return None
            sources[key] = TensorSource.of_weight(weight, format_)

        def read() -> Netlist:
            return json_text.loads(zlib.decompress(parts[1]))

        def texts() -> Mapping[str, str]:
            return json.loads(zlib.decompress(parts[2]))

        constants = Constants(sources)
        netlists = Netlists(read, description, joins=True, surface=decode(Surface, head["surface"]))
        return Program(netlists, description, constants, self._plans(netlists, constants, description), texts=texts)


def _parts(data: bytes) -> list[bytes]:
    """Return the parts of an entry.  Raises ValueError where they are not four."""
    found: list[bytes] = []
    at = 0
    while at < len(data):
        end = at + _LENGTH_BYTES + int.from_bytes(data[at : at + _LENGTH_BYTES], "little")
        found.append(data[at + _LENGTH_BYTES : end])
        at = end
    if len(found) != 4 or at != len(data):
        raise ValueError("an entry of four parts was expected")
    return found


def _text_of(options: CompileOptions) -> str | None:
    """Return options as text, those of training among them; None where one is a file, or values of inputs."""
    from ttc.dialects.core.machines.targets import is_target_file

    if options.values or options.weights is not None or is_target_file(options.target):
        return None
    rows = [f"{item.name}={getattr(options, item.name)!r}" for item in fields(options) if item.name != "given"]
    return "\n".join([*rows, " ".join(sorted(options.given))])


def _derived(function: Function, shape: tuple[int, ...], dtype: np.dtype, weights: Mapping[str, Weight]) -> Weight:
    """Return a weight that is computed from others when it is asked for."""

    def resolve(work: Work) -> NDArray:
        value = weights[str(work.attrs["key"])].value()
        return format_of(value.dtype).unpack(value)

    def load() -> NDArray:
        (value,) = interpret.run(function, [], resolve)
        if value.size > 1 and not any(value.strides):  # one number for all elements: it takes the memory of one
            return np.broadcast_to(format_of(dtype).pack(value[(slice(0, 1),) * value.ndim]).reshape(()), shape)
        return np.ascontiguousarray(format_of(dtype).pack(value)).reshape(shape)

    return Weight(shape, dtype, load)


def literal(value: NDArray) -> Weight:
    """Return a weight of a value."""
    return Weight(value.shape, value.dtype, lambda: value)
