"""Where a compilation starts: a model, or IR text with its weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from ttc.compiler.variants import imported
from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_named, format_of
from ttc.dialects.core.ir.attributes import WeightAttr
from ttc.dialects.core.ir.entries import Port, derived_functions, finish_function, make_function, module_attr, set_module_attr
from ttc.dialects.core.ir.leaves import LeafOp
from ttc.dialects.core.ir.parsing import parse_module
from ttc.dialects.core.ir.random_weights import seeded_weights
from ttc.dialects.core.ir.spec import Spec, tensor_type
from ttc.dialects.core.ir.to_plain import plain_block, plain_type
from ttc.dialects.core.ir.verification import verify
from ttc.dialects.core.plain import interpret
from ttc.dialects.core.plain.functions import Work
from ttc.dialects.core.plain.weights import Weight, WeightStore
from ttc.dialects.core.records import record
from ttc.dialects.netlist.model import Argument
from ttc.dialects.netlist.ops import queues_of
from ttc.importers.common.inputs import OpenDimensions
from ttc.importers.common.likely_shapes import GUESSES, likely_shapes
from ttc.importers.common.unsupported import UnsupportedOps
from ttc.inputs.files import require_model
from ttc.inputs.input_values import recorded_values, values_of
from ttc.inputs.npy_files import read_bundle
from ttc.options import STAGES, CompileOptions
from ttc.runtime.manifest import DTYPE_NAMES
from ttc.settings.option_values import Shape

if TYPE_CHECKING:
    from ttc.runtime.archive import Archive

MAX_TEXT_BYTES = 1 << 28
"""The largest IR text that is read, in bytes."""
TRACED = (".keras",)
"""Kinds of models whose import runs their framework: shapes are not tried on them."""


@record(frozen=False)
class Source:
    """What is compiled: IR at the end of `stage`, and the values of its weights."""

    module: ModuleOp
    weights: WeightStore
    stage: str


def open_source(path: Path, options: CompileOptions) -> Source:
    """Import a model, or parse IR text (suffix .mlir, or option `from_`).  Raises E0102, E02xx, E03xx."""
    require_model(path)
    if is_text(path, options):
        return _open_text(path, options)
    if path.suffix.lower() == ".tti":
        raise Error("E0201", f"{path.name} is compiled already", hint=f"ttc run {path}")
    if options.weights is not None:
        raise Error("E0101", "--weights goes with IR text; a model has its own", where=str(path))
    module, weights = _import(path, options)
    return Source(module, weights, "import")


def identity(spec: Spec) -> Source:
    """Return a program whose result is its input."""
    function = make_function("forward", [(Port("x"), tensor_type(spec))])
    finish_function(function, [(Port("y"), function.body.block.args[0])])
    module = ModuleOp([function])
    set_module_attr(module, "model", "identity")
    return Source(module, WeightStore(), "import")


def is_text(path: Path, options: CompileOptions) -> bool:
    """Return whether a file is taken as IR text."""
    return options.from_ is not None or path.suffix.lower() == ".mlir"


def _import(path: Path, options: CompileOptions) -> tuple[ModuleOp, WeightStore]:
    from ttc.importers.base import import_model

    values = values_of(options.values)

    def one(shapes: Mapping[str, Shape], batch: int | None) -> tuple[ModuleOp, WeightStore]:
        try:
            return import_model(path, shapes=shapes, batch=batch, values=values)
        except OpenDimensions as error:
            if path.suffix.lower() not in TRACED:
                _suggest_shapes(path, shapes, batch, values, error)
            raise

    module, weights = imported(options, one)
    known = {*dict(options.shape), *(row[0] for row in module_attr(module, "item_inputs") or ())}
    for name, value in values.items():
        if value is not None and value.dtype.kind not in "iub" and name not in known:
            message = f"input '{name}' is {value.dtype}: a program can be compiled only for values of integer inputs"
            raise Error("E0206", message, hint=f"--shape {name}={'x'.join(map(str, value.shape))} sets its shape")
    return module, weights


def _suggest_shapes(path: Path, given: Mapping[str, Shape], batch: int | None, values: Mapping[str, Any], error: OpenDimensions) -> None:
    """Let the error suggest the first of the likely shapes with which the model's own layers can be imported."""
    from ttc.importers.base import import_model

    tried: list[dict[str, Shape]] = []
    for guess in GUESSES:
        found = likely_shapes(error.inputs, given, batch, guess)
        shapes = {name: found[name] for name in error.likely}
        if shapes in tried:
            continue
        tried.append(shapes)
        try:
            import_model(path, shapes={**given, **shapes}, batch=batch, values=values)
        except UnsupportedOps:
            pass  # whatever the sizes
        except Error:
            continue
        error.suggesting(shapes)
        return


def _open_text(path: Path, options: CompileOptions) -> Source:
    module = parse_module(read_text(path), path.name, dialects())
    stage = module_attr(module, "stage")
    if stage not in STAGES[:-1]:
        raise Error(
            "E0305", f"ttc.stage is {stage!r}", where=path.name, hint=f"the module's attribute ttc.stage is one of {', '.join(STAGES[:-1])}"
        )
    if options.from_ is not None and options.from_ != stage:
        raise Error("E0305", f"the IR is of stage '{stage}', not '{options.from_}'", where=path.name)
    if options.shape or options.batch is not None or options.values:
        raise Error("E0101", "--shape, --batch and --values go with a model: IR text has its shapes and values", where=path.name)
    check_recorded(module, path.name)
    verify(module)
    return Source(module, text_weights(module, options.weights), stage)


def read_text(path: Path) -> str:
    """Return the module of IR text in a file. Raises E0102, E0301."""
    if path.stat().st_size > MAX_TEXT_BYTES:
        raise Error("E0301", f"{path} is larger than {MAX_TEXT_BYTES >> 20} MB")
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise Error("E0102", f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise Error("E0301", f"not text: {error}", where=str(path)) from None


def dialects() -> list[Any]:
    """Return our dialects, as `parse_module` takes them."""
    from ttc.dialects.netlist.ops import dialect as netlist
    from ttc.dialects.nn.base import dialect as nn
    from ttc.dialects.tile.base import dialect as tile

    return [nn, tile, netlist]


def check_recorded(module: ModuleOp, name: str) -> None:
    """Check that what a module records of itself has the form that `set_module_attr` gives it. Raises E0302.

    name: of the file, for messages.
    """
    seed = module_attr(module, "seed")
    if seed is not None and not (type(seed) is int and seed >= 0):
        raise Error("E0302", "ttc.seed is no seed of random weights", where=name)
    done = module_attr(module, "passes_done")
    if done is not None and not (type(done) is int and 0 <= done < 1000):
        raise Error("E0302", "ttc.passes_done is no number of passes", where=name)
    for key in ("options", "target"):
        if not isinstance(module_attr(module, key) or {}, dict):
            raise Error("E0302", f"ttc.{key} is not a dictionary", where=name)
    for key in ("sources", "parameters", "states"):
        rows = module_attr(module, key) or ()
        if not isinstance(rows, tuple) or not all(_is_row(row, 3 if key == "sources" else 4) for row in rows):
            form = 'a weight\'s key, shape and type: ["w", array<i64: 8, 4>, "float32"]'
            raise Error("E0302", f"ttc.{key} does not hold rows of {'' if key == 'sources' else 'a name, '}{form}", where=name)
    try:
        recorded_values(module)
    except Error as error:
        raise error.at(name) from None


def _is_row(row: Any, length: int) -> bool:
    """Return whether a value is (name, ..., shape, numpy's name of a dtype)."""
    if not isinstance(row, tuple) or len(row) != length or not isinstance(row[0], str):
        return False
    *_, shape, dtype = row
    whole = isinstance(shape, tuple) and all(type(size) is int and size >= 0 for size in shape)
    return whole and isinstance(dtype, str) and dtype in DTYPE_NAMES


# ---- weights of IR text ---------------------------------------------------------------------------------------------------------


def named_weights(module: ModuleOp) -> dict[str, Spec]:
    """Return the weights that IR names, with the types it gives them: those of leaves, else of queues. Raises E0302 if one has two
    types.
    """
    found: dict[str, Spec] = {key: Spec(tuple(shape), np.dtype(dtype)) for key, shape, dtype in module_attr(module, "sources") or ()}
    for op in module.walk():
        value = op.value if isinstance(op, LeafOp) else None
        if isinstance(value, WeightAttr) and found.setdefault(value.key.data, value.spec) != value.spec:
            key = value.key.data
            raise Error("E0302", f"weight '{key}' is {found[key]} here and {value.spec} there")
    for queue in queues_of(module).values():
        if queue.key is not None:
            stored = plain_type(queue.tensor)
            found.setdefault(queue.key, Spec(stored.shape, format_named(stored.format).array_dtype))
    return found


def text_weights(module: ModuleOp, file: Path | None, archive: Archive | None = None) -> WeightStore:
    """Return the weights that a module names: from an archive or a model, or computed from those by their expressions in the module.

    archive: the file, where it is one that is open already.

    With a file, reading a weight that it does not give raises E0304.  Without one the store is empty, unless the module names a seed
    (`ttc.seed`): then weights are random, and the same whenever they are asked for.
    """
    wanted = named_weights(module)
    seed = module_attr(module, "seed")
    if file is None and isinstance(seed, int):
        return seeded_weights(wanted, seed)
    if file is None:
        return WeightStore()
    stored = _loaders(require_model(file), module) if archive is None else _archive_loaders(archive)
    expressions = derived_functions(module)

    def known(key: str, weight: Weight) -> Callable[[], NDArray] | None:
        return partial(_converted, stored[key], key, Spec(weight.shape, weight.dtype)) if key in stored else None

    store = WeightStore(known)
    for key, spec in wanted.items():
        load = partial(_converted, stored[key], key, spec) if key in stored else partial(_missing, key, file)
        if key not in stored and key in expressions:
            load = partial(_derive, plain_block(expressions[key].body.block), store, spec)
        store.add(key, Weight(spec.shape, spec.dtype, load, derived=key in expressions))
    return store


def _missing(key: str, file: Path) -> NDArray:
    raise Error("E0304", f"{file.name} does not hold weight '{key}'", hint="give the model itself with --weights")


def _derive(function: Any, store: WeightStore, spec: Spec) -> NDArray:
    def resolve(work: Work) -> NDArray:
        value = store[str(work.attrs["key"])].value()
        return format_of(value.dtype).unpack(value)

    (value,) = interpret.run(function, [], resolve)
    return format_of(spec.dtype).pack(value)


def _loaders(path: Path, module: ModuleOp) -> dict[str, Callable[[], NDArray]]:
    """Loaders of the weights that a file holds, by key.  module: the IR, which records the options and values it was made with."""
    if path.suffix.lower() == ".npz":
        known = {key: Argument(key, "input", "", spec.shape, str(spec.dtype)) for key, spec in named_weights(module).items()}
        return {key: partial(np.asarray, value) for key, value in read_bundle(path, known).items()}
    if path.suffix.lower() != ".tti":
        from ttc.importers.base import import_model

        recorded = module_attr(module, "options") or {}
        made = CompileOptions(shape=recorded.get("shape", ()), batch=recorded.get("batch"))
        values = recorded_values(module)
        _, store = imported(made, lambda shapes, batch: import_model(path, shapes=shapes, batch=batch, values=values))
        return {key: store[key].value for key in store}
    from ttc.runtime.archive import open_archive

    return _archive_loaders(open_archive(path))


def _archive_loaders(archive: Archive) -> dict[str, Callable[[], NDArray]]:
    """Return loaders of the tensors that an archive holds, by key."""
    return {key: partial(archive.tensor, key) for key in archive.manifest.tensors}


def _converted(load: Callable[[], NDArray], key: str, spec: Spec) -> NDArray:
    """Return a stored value in the type that the IR gives it.  Raises E0304 if it has another shape."""
    value = load()
    if value.shape != spec.shape:
        raise Error("E0304", f"weight '{key}' is {list(value.shape)} in the file and {list(spec.shape)} in the IR")
    return np.array(format_of(spec.dtype).pack(format_of(value.dtype).unpack(value)))
