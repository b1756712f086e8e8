"""Where an archive leaves its model: values of the model's nodes, as the archive computes them, against those of the model itself.

What became of each node is read off the locations of the archive's ops: the last node of an op is the one whose value the op gives, the
others are fused into it.  The model is compiled again with the archive's own options, and with these values as outputs, a bounded number of
bytes at a time; layouts, streaming and padding are then undone as for any output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from math import prod
from pathlib import Path

from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp, TensorType

from ttc.accuracy.distances import Comparison, Exactness, compare
from ttc.comparison.reference_outputs import probes_of, reference_outputs
from ttc.compiler.driver import compile_source
from ttc.compiler.source import Source
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import entry_functions, ports
from ttc.dialects.core.ir.locations import source_names
from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.core.records import record
from ttc.dialects.netlist.model import Netlist
from ttc.dialects.nn.base import NNOp
from ttc.importers.base import import_model
from ttc.loading import on_engine
from ttc.options import CompileOptions, RunOptions, resolve
from ttc.runtime.executor import Executor
from ttc.runtime.manifest import Description

BATCH_NODES = 256
"""The most values that are outputs of one compilation."""
BATCH_BYTES = 1 << 28
"""The most bytes of values that are outputs of one compilation, but for a single one that is larger."""

Arrays = Mapping[str, NDArray]


@record
class ModelLayer:
    """A node of the model.

    Args:
        node: its name.
        op: of dialect nn, which gives its value.
        shape: of the value.
        fused: nodes before it that the archive computes in the same op.
        figures: against what the model gives; None if it could not be compared, for the `reason`.
    """

    node: str
    op: str
    shape: tuple[int, ...]
    fused: tuple[str, ...] = ()
    figures: Comparison | None = None
    reason: str = ""

    @property
    def within(self) -> bool:
        return self.figures is None or self.figures.within


@record
class Layers:
    """The nodes whose values the archive has, in the order of the model.

    Args:
        by: what computed the values of the model.
        drift: outputs that the model, compiled again, does not give as the archive does: the archive has another origin.
        folded: nodes that no op of the archive stems from: constants, and views that are gone.
    """

    layers: tuple[ModelLayer, ...]
    by: str
    drift: Mapping[str, Comparison]
    folded: tuple[str, ...]

    @property
    def first_off(self) -> ModelLayer | None:
        """The first node whose value is out of bound."""
        return next((layer for layer in self.layers if not layer.within), None)


@record
class LayerComparison:
    """What is compared: an archive's netlist and description, the model, and how both run.

    Args:
        outputs: of the archive for the inputs.
        exactness: whose bounds apply.
        say: told what is being done.
    """

    netlist: Netlist
    description: Description
    model: Path
    inputs: Arrays
    outputs: Arrays
    options: RunOptions
    exactness: Exactness
    say: Callable[[str], None] = field(default=lambda text: None)

    @property
    def absent(self) -> dict[str, str]:
        """The inputs of the model that the archive does without."""
        return dict(self.description.absent_inputs)


def compare_layers(run: LayerComparison) -> Layers:
    """Compare all nodes that are left in the archive.  Raises E0102, E02xx, and E0101 for a target that is no longer at hand."""
    run.say(f"importing {run.model.name}")
    module, weights = import_model(run.model, values={**run.inputs, **dict.fromkeys(run.absent)})
    nodes = _nodes(module)
    fused, known = _survivors(run.netlist, list(nodes))
    comparison = _Comparison(run, module, weights, _outputs(module))
    wanted = [name for name in nodes if name in fused]
    layers: list[ModelLayer] = []
    for batch in _batches(wanted, nodes):
        run.say(f"comparing nodes {len(layers) + 1} to {len(layers) + len(batch)} of {len(wanted)}")
        for name, (figures, reason) in comparison.of(batch).items():
            layers.append(ModelLayer(name, nodes[name].op, nodes[name].shape, fused[name], figures, reason))
    return Layers(tuple(layers), " and ".join(comparison.by), comparison.drift, tuple(name for name in nodes if name not in known))


# ---- what becomes of nodes ------------------------------------------------------------------------------------------------------


@record
class _Node:
    op: str
    shape: tuple[int, ...]
    size_bytes: int


def _nodes(module: ModuleOp) -> dict[str, _Node]:
    """The nodes of an imported model by name, in order, each with the last op that it became, but for those in loops and branches."""
    found: dict[str, _Node] = {}
    for function in entry_functions(module):
        for op in function.body.block.ops:
            names = source_names(op.location)
            if not isinstance(op, NNOp) or not names or not op.results or not isinstance(op.results[0].type, TensorType):
                continue
            spec = spec_of(op.results[0].type)
            found[names[0]] = _Node(op.name.removeprefix("nn."), spec.shape, prod(map(abs, spec.shape)) * spec.dtype.itemsize)
    return found


def _survivors(netlist: Netlist, nodes: Sequence[str]) -> tuple[dict[str, tuple[str, ...]], set[str]]:
    """Nodes whose values ops of the netlist give, each with those that are fused into its op; and all nodes that ops stem from.

    An op that moves values for another has the location of that one's first nodes: these are inside of it.
    """
    order = {name: index for index, name in enumerate(nodes)}
    chains = [
        sorted({name for name in op.location if name in order}, key=order.__getitem__)
        for graph in netlist.graphs.values()
        for op in graph.ops
    ]
    inner = {name for chain in chains for name in chain[:-1]}
    fused: dict[str, tuple[str, ...]] = {}
    for chain in chains:
        if chain and chain[-1] not in inner:
            before = fused.get(chain[-1], ())
            fused[chain[-1]] = tuple(dict.fromkeys((*before, *chain[:-1])))
    return fused, inner | set(fused)


def _outputs(module: ModuleOp) -> set[str]:
    """Return outputs of the model that have the name of the node that gives them."""
    found: set[str] = set()
    for function in entry_functions(module):
        _, results = ports(function)
        last = function.body.block.last_op
        for port, value in zip(results, last.operands if last is not None else (), strict=True):
            if port.name in source_names(getattr(value.owner, "location", function.location)):
                found.add(port.name)
    return found


def _batches(names: Sequence[str], nodes: Mapping[str, _Node]) -> Iterator[list[str]]:
    batch: list[str] = []
    size_bytes = 0
    for name in names:
        size = nodes[name].size_bytes
        if batch and (len(batch) >= BATCH_NODES or size_bytes + size > BATCH_BYTES):
            yield batch
            batch, size_bytes = [], 0
        batch.append(name)
        size_bytes += size
    if batch:
        yield batch


# ---- comparing ------------------------------------------------------------------------------------------------------------------


_Found = tuple["Comparison | None", str]
"""The figures, and why there are none."""


@record
class _Comparison:
    """Compares some nodes after the other.

    Args:
        outputs: of the model that have the name of the node that gives them.
        by: what computed the model's values so far, in order.
        drift: see `Layers`.
    """

    run: LayerComparison
    module: ModuleOp
    weights: WeightStore
    outputs: set[str]
    by: dict[str, None] = field(default_factory=dict)
    drift: dict[str, Comparison] = field(default_factory=dict)

    def of(self, names: Sequence[str]) -> dict[str, _Found]:
        """By node.  Where nodes cannot be made outputs together, they are by parts; one that cannot be alone has a reason."""
        probed = probes_of(self.run.description.options)
        probes = (*probed, *[name for name in names if name not in self.outputs and name not in probed])
        try:
            values = self._values(probes)
            expected, by = reference_outputs(self.run.model, self.run.inputs, self.run.absent, probes)
        except Error as error:
            if error.code.startswith("E01"):
                raise
            if len(names) == 1:
                return {names[0]: (None, error.message)}
            middle = len(names) // 2
            return self.of(names[:middle]) | self.of(names[middle:])
        for name in self.run.outputs.keys() & values.keys():
            figures = compare(values[name], self.run.outputs[name], self.run.exactness)
            self.drift.update({} if figures.within else {name: figures})
        self.by.update(dict.fromkeys(by.split(" and ")))
        return {name: self._compared(values.get(name), expected.get(name)) for name in names}

    def _compared(self, value: NDArray | None, expected: NDArray | None) -> _Found:
        if value is None or expected is None:
            return None, "it has no value by itself"
        try:
            return compare(value, expected, self.run.exactness), ""
        except Error as error:
            return None, error.message

    def _values(self, probes: Sequence[str]) -> dict[str, NDArray]:
        """Return what the model gives, compiled as the archive was but for the probes."""
        description, options = self.run.description, self.run.options
        compiling = resolve(CompileOptions, {**description.options, "probe": tuple(probes) or None})
        source = Source(self.module.clone(), self.weights.copy(), "import")
        with Executor(on_engine(compile_source(source, compiling).program(), options)) as executor:
            return dict(executor.run(dict(self.run.inputs)))
