"""ttc as a backend of ONNX's own test suite: `onnx.backend.test.runner.Runner(Backend)` runs it.

Every model goes the whole way: imported, compiled, written as an archive, read back, run.  What cannot be compiled raises `ttc.Error`; no
case is skipped.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, ValueInfoProto, helper
from onnx.backend.base import Backend as OnnxBackend
from onnx.backend.base import BackendRep, namedtupledict

from ttc.dialects.core.errors import Error
from ttc.importers.onnx import import_onnx
from ttc.importers.onnx.containers import is_sequence, item_name, packed_names
from ttc.runtime.arguments import inputs_of
from ttc.runtime.temporary import temporary_folder

if TYPE_CHECKING:
    from ttc.runtime.executor import Executor

TARGET = "host"


class Backend(OnnxBackend):
    """Compiles models for one target; `device` is "CPU", which executes every target."""

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", *, target: str = TARGET, **options: Any) -> Prepared:
        """Return a model ready to run.

        Args:    model: checked by the importer alone.  target: as `ttc.compile` takes it; options: further ones of it.
        Raises:  ttc.Error for what cannot be compiled, E0104 for a device other than the CPU.
        """
        if not cls.supports_device(device):
            raise Error("E0104", f"there is no device '{device[:40]}'", hint="CPU")
        return Prepared(model, {"target": target, **options})

    @classmethod
    def run_node(
        cls,
        node: NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[Any, Sequence[int]]] | None = None,
        **options: Any,
    ) -> tuple[Any, ...]:
        """Return the outputs of one node of ONNX's newest opset (or option `opset_version`) on arrays, as a named tuple.

        Args:    inputs: arrays in order, None where the node leaves one out; outputs_info: unused, as types are inferred.
        Raises:  as `prepare` and running do.
        """
        del outputs_info
        opset = options.pop("opset_version", onnx.defs.onnx_opset_version())
        present = [(name, np.asarray(x)) for name, x in zip(node.input, inputs, strict=True) if name]
        infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in present]
        names = [name for name in node.output if name]
        graph = helper.make_graph([node], "node", infos, [onnx.ValueInfoProto(name=name) for name in names])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(node.domain, opset)])
        found = cls.prepare(model, device, **options).run([x for _, x in present])
        return namedtupledict("Outputs", names)(*found)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Return whether models can be prepared for a device: only "CPU"."""
        return device.partition(":")[0] == "CPU"


class Prepared(BackendRep):
    """A model that runs on arrays.

    It is compiled at once if its own types suffice.  If sizes in it follow from values of integer inputs (a shape, axes, k), or inputs have
    open dimensions, it is compiled for the first arrays, and again for others that it does not fit.

    Args:
        model: the ONNX model; its inputs without an initializer take the arrays of `run`, in order.
        options: of `ttc.compile`.
    """

    def __init__(self, model: ModelProto, options: Mapping[str, Any]) -> None:
        self._model = model
        self._options = dict(options)
        weights = {tensor.name for tensor in model.graph.initializer}
        self._inputs = [value.name for value in model.graph.input if value.name not in weights]
        self.executor: Executor | None = None
        try:
            self._compile({})
        except Error as error:
            if error.code not in ("E0202", "E0205"):
                raise

    def run(self, inputs: Any, **_kwargs: Any) -> tuple[Any, ...]:
        """Return the outputs in the model's order.

        Args:    inputs: arrays in the order of the inputs, or by name.
        Raises:  ttc.Error for what cannot be compiled for them or does not fit.
        """
        given = inputs if isinstance(inputs, Mapping) else dict(zip(self._inputs, inputs, strict=False))
        values = {name: x if x is None or isinstance(x, list | tuple) else np.asarray(x) for name, x in given.items()}
        feeds = _flat(values)
        if self.executor is None or not self._fits(feeds):
            self._compile(values)
        assert self.executor is not None
        found = self.executor.run(feeds)
        return tuple(_gathered(output, found) for output in self._model.graph.output)

    def _fits(self, feeds: Mapping[str, NDArray]) -> bool:
        """Return whether inputs that the program was compiled for have the values they had, and all have its names and shapes."""
        if self.executor is None:
            return False
        shapes = {a.name: a.shape for a in inputs_of(self.executor.netlist.programs["forward"])}
        same = all(np.array_equal(feeds[name], value) for name, value in self.executor.fixed_inputs.items() if name in feeds)
        return same and shapes == {name: x.shape for name, x in feeds.items()}

    def _compile(self, values: Mapping[str, Any]) -> None:
        from ttc.compiler.driver import compile_source
        from ttc.compiler.source import Source
        from ttc.options import CompileOptions, resolve
        from ttc.runtime.loader import load

        with temporary_folder("ttc-onnx-") as folder:
            path = folder / "model.onnx"
            onnx.save(self._model, path)
            module, weights = import_onnx(path, shapes=_open_shapes(self._model, values), values=values)
            program = compile_source(Source(module, weights, "import"), resolve(CompileOptions, self._options)).program()
            archive = folder / "model.tti"
            program.save(archive)
            self.executor = load(archive)


def _flat(values: Mapping[str, Any]) -> dict[str, NDArray]:
    """Return the arrays among and in the values, by the names that programs give them."""
    found: dict[str, NDArray] = {}
    for name, value in values.items():
        if isinstance(value, list | tuple):
            found.update({item_name(name, i): np.asarray(x) for i, x in enumerate(value)})
        elif value is not None:
            found[name] = value
    return found


def _gathered(output: ValueInfoProto, found: Mapping[str, NDArray]) -> Any:
    """An output of the model from the program's: an array, a list of them for a sequence, None for an optional without an element."""
    if not is_sequence(output.type):
        return found.get(output.name)
    flat, sizes = packed_names(output.name)
    if flat in found:
        ends = np.cumsum([np.prod(row, dtype=np.int64) for row in found[sizes]])
        return [part.reshape(row) for part, row in zip(np.split(found[flat], ends[:-1]), found[sizes], strict=False)] if len(ends) else []
    names = (item_name(output.name, i) for i in itertools.count())
    return [found[name] for name in itertools.takewhile(lambda name: name in found, names)]


def _open_shapes(model: ModelProto, values: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Return shapes of the arrays for inputs that the model leaves open."""
    found: dict[str, tuple[int, ...]] = {}
    for value in model.graph.input:
        dims = value.type.tensor_type.shape.dim
        if isinstance(values.get(value.name), np.ndarray) and not all(dim.HasField("dim_value") for dim in dims):
            found[value.name] = values[value.name].shape
    return found


prepare = Backend.prepare
run_node = Backend.run_node
run_model = Backend.run_model
supports_device = Backend.supports_device
