"""What `ttc export --to onnx` calls."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from onnx import ModelProto, ValueInfoProto, checker, helper

from ttc import __version__
from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import LEAVES, TensorType, Work
from ttc.exporters.graph import ModelGraph, dtype_of, graph_of
from ttc.exporters.onnx.rules import NODE_RULES
from ttc.exporters.onnx.writer import IR_VERSION, MAX_BYTES, OPSET, NodeList, NodeWriter, NoNode, element_type
from ttc.exporters.refusals import RefusedOp, require_none
from ttc.exporters.request import ExportRequest


def exported(path: Path, request: ExportRequest) -> dict[str, bytes]:
    """Export a model as one ONNX file.  Raises E0503; what compilation raises."""
    graph = graph_of(path, replace(request.options, format="source"), request.program, channels_first=True)
    return {"": onnx_model(graph).SerializeToString(deterministic=True)}


def onnx_model(graph: ModelGraph) -> ModelProto:
    """Write a program as an ONNX model, which ONNX's checker has accepted.  Raises E0503, which names all ops without a form."""
    nodes, refused = NodeList(graph), []
    for number, work in enumerate(graph.function.works):
        refused += _write(nodes, work, number)
    require_none("ONNX", refused)
    outputs = [_output(nodes, output.name, number) for output, number in zip(graph.outputs, graph.function.outputs, strict=True)]
    inputs = [_value(name, kind) for name, kind in zip(graph.inputs, graph.function.inputs, strict=True)]
    read = {name for node in nodes.nodes for name in node.input}  # weights that are stored transposed are not read as they were
    weights = [tensor for name, tensor in nodes.initializers.items() if name in read]
    if sum(len(tensor.raw_data) for tensor in weights) > MAX_BYTES:
        raise Error("E0503", "weights of more than 2 GB do not fit into one ONNX file")
    made = helper.make_graph(nodes.nodes, graph.model, inputs, outputs, weights)
    opset = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(made, opset_imports=opset, ir_version=IR_VERSION, producer_name="ttc", producer_version=__version__)
    try:
        checker.check_model(model, full_check=True)
    except Exception as error:  # the checker's own classes of errors are several
        raise Error("E0503", f"ONNX's checker refuses the model, mostly for a type that an op does not take: {str(error)[:500]}") from None
    return model


def _write(nodes: NodeList, work: Work, place: int) -> list[RefusedOp]:
    """Write the nodes of an op; returns it if there are none."""
    results = [_result_name(nodes, work, index) for index in range(len(work.results))]
    nodes.values += results
    nodes.types += work.results
    if work.op == "ttc.state":
        return [RefusedOp.of(work, "states are kept between runs, which ONNX does not")]
    name = work.op.removeprefix("nn.")
    rule = _leaf if work.op in LEAVES else NODE_RULES.get(name)
    if rule is None or work.bodies:
        return [RefusedOp.of(work, NODE_RULES.refusal(name) or "it is no op of dialect nn")]
    try:
        rule(NodeWriter(nodes, work, results))
    except NoNode as reason:
        return [RefusedOp.of(work, str(reason))]
    return []


def _leaf(step: NodeWriter) -> None:
    """Store the value of a weight or literal."""
    nodes, (name,) = step.nodes, step.results
    nodes.leaves[name] = step.work
    nodes.store(name, nodes.graph.leaf(step.work).reshape(step.out))


def _result_name(nodes: NodeList, work: Work, index: int) -> str:
    """Return the name of a result: a weight's key, the output that it is, or the op's."""
    if work.op in LEAVES:
        return nodes.name(str(work.attrs.get("key") or "constant"))
    number = len(nodes.values) + index
    outputs = [output.name for output, of in zip(nodes.graph.outputs, nodes.graph.function.outputs, strict=True) if of == number]
    free = [name for name in outputs if name not in nodes.graph.inputs]
    return free[0] if free else nodes.name(work.op.removeprefix("nn."))


def _output(nodes: NodeList, name: str, number: int) -> ValueInfoProto:
    """Announce an output; one that is an input, a weight or another output, too, is a copy of it."""
    if nodes.values[number] != name:
        if name in nodes.graph.inputs:
            raise Error("E0503", f"ONNX has one name for input and output '{name}', which are two values")
        nodes.nodes.append(helper.make_node("Identity", [nodes.values[number]], [name], name=nodes.name("Identity_node")))
    return _value(name, nodes.types[number])


def _value(name: str, kind: TensorType) -> ValueInfoProto:
    """Announce an input or output.  Raises E0503 for a dtype that ONNX lacks."""
    shape = [size if size >= 0 else None for size in kind.shape]
    try:
        return helper.make_tensor_value_info(name, element_type(dtype_of(kind)), shape)
    except NoNode as reason:
        raise Error("E0503", str(reason), where=name) from None
