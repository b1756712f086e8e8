"""Nodes of an ONNX model while they are written."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper

from ttc.dialects.core.names import FreeNames
from ttc.dialects.core.plain.functions import TensorType, Work
from ttc.exporters.graph import ModelGraph, dtype_of

OPSET, IR_VERSION = 20, 9
"""The versions of exported models: ops of ONNX 1.15, which has Gelu; runtimes of 2024 and newer read it."""
MAX_BYTES = (1 << 31) - (1 << 20)
"""The most bytes of weights that fit into one file: protobuf ends at 2 GB."""


class NoNode(Exception):
    """Raised for an op that ONNX has no form of; the message says why."""


class NodeList:
    """The nodes and weights of a model, and the names of its values.

    Args:
        graph: the program.
    """

    def __init__(self, graph: ModelGraph) -> None:
        self.graph = graph
        self.nodes: list[NodeProto] = []
        self.initializers: dict[str, TensorProto] = {}
        self.values: list[str] = list(graph.inputs)
        self.types: list[TensorType] = list(graph.function.inputs)
        self.leaves: dict[str, Work] = {}
        self._taken = {*graph.inputs, *(output.name for output in graph.outputs)}
        self._names = FreeNames("_")

    def name(self, stem: str) -> str:
        """Return a name that no other value has."""
        name = self._names.of(stem or "value", self._taken)
        self._taken.add(name)
        return name

    def constant(self, value: NDArray, stem: str = "constant") -> str:
        """Store an array, and return its name."""
        name = self.name(stem)
        self.store(name, value)
        return name

    def store(self, name: str, value: NDArray) -> None:
        """Store an array under a name that was taken for it.  Raises NoNode for a dtype that ONNX lacks."""
        element_type(value.dtype)
        self.initializers[name] = numpy_helper.from_array(np.ascontiguousarray(value).reshape(value.shape), name)


class NodeWriter:
    """One op while its nodes are written: what rules ask, and what they give.

    Args:
        nodes: of the model.
        work: the op.
        results: names that its results get.
    """

    def __init__(self, nodes: NodeList, work: Work, results: list[str]) -> None:
        self.nodes, self.work, self.results = nodes, work, results
        self.mnemonic = work.op.removeprefix("nn.")

    def has(self, index: int) -> bool:
        """Return whether an operand is present."""
        return index < len(self.work.operands) and self.work.operands[index] is not None

    def x(self, index: int = 0) -> str:
        """Return the name of an operand.  Raises NoNode for one that is absent."""
        if not self.has(index):
            raise NoNode(f"operand {index} is absent")
        return self.nodes.values[cast("int", self.work.operands[index])]

    def all(self) -> list[str]:
        """Return the names of all operands that are present."""
        return [self.nodes.values[number] for number in self.work.operands if number is not None]

    def shape(self, index: int = 0) -> tuple[int, ...]:
        """Return the shape of an operand."""
        return self.nodes.types[cast("int", self.work.operands[index])].shape

    def dtype(self, index: int = 0) -> np.dtype:
        """Return the dtype of an operand."""
        return dtype_of(self.nodes.types[cast("int", self.work.operands[index])])

    @property
    def out(self) -> tuple[int, ...]:
        """The shape of the first result."""
        return self.work.results[0].shape

    @property
    def out_dtype(self) -> np.dtype:
        """The dtype of the first result."""
        return dtype_of(self.work.results[0])

    def attr(self, name: str) -> Any:
        """Return an attribute; tuples become lists."""
        value = self.work.attrs.get(name)
        return list(value) if isinstance(value, tuple) else value

    def array(self, index: int) -> NDArray | None:
        """Return the value of a constant operand; None for one that is computed."""
        leaf = self.nodes.leaves.get(self.x(index))
        return None if leaf is None else self.nodes.graph.leaf(leaf)

    def constant(self, value: Any, dtype: DTypeLike = np.int64) -> str:
        """Store a constant, and return its name."""
        return self.nodes.constant(np.asarray(value, dtype))

    def make(self, op: str, *inputs: str, **attrs: Any) -> str:
        """Write a node on the way to the result, and return the name of its output."""
        name = self.nodes.name(self.mnemonic)
        self._node(op, inputs, [name], attrs)
        return name

    def give(self, op: str, *inputs: str, **attrs: Any) -> None:
        """Write the node that gives the results."""
        self._node(op, inputs, self.results, attrs)

    def _node(self, op: str, inputs: tuple[str, ...], outputs: list[str], attrs: dict[str, Any]) -> None:
        kept = {key: value for key, value in attrs.items() if value is not None}
        label = ", ".join(self.work.location)
        self.nodes.nodes.append(helper.make_node(op, list(inputs), outputs, name=self.nodes.name(f"{op}_node"), doc_string=label, **kept))

    def transposed(self, name: str, order: tuple[int, ...], index: int | None = None) -> str:
        """Return a value with its dimensions in another order; of a constant operand as a constant."""
        if tuple(order) == tuple(range(len(order))):
            return name
        value = None if index is None else self.array(index)
        return (
            self.make("Transpose", name, perm=list(order))
            if value is None
            else self.nodes.constant(value.transpose(order), f"{name}.transposed")
        )


def element_type(dtype: np.dtype) -> int:
    """Return ONNX's number of a dtype.  Raises NoNode if it has none."""
    try:
        return helper.np_dtype_to_tensor_dtype(dtype)
    except (KeyError, ValueError):
        raise NoNode(f"ONNX has no dtype {dtype}") from None
