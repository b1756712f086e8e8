"""The body of `forward`: every op by its rule, on the device if TT-NN takes it, else on the host."""

from __future__ import annotations

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import LEAVES, TensorType, Work
from ttc.exporters.graph import dtype_of
from ttc.exporters.refusals import RefusedOp, require_none
from ttc.exporters.ttnn.code import items, literal
from ttc.exporters.ttnn.collectives import COLLECTIVES
from ttc.exporters.ttnn.emitter import Emitter
from ttc.exporters.ttnn.host import HOST_RULES
from ttc.exporters.ttnn.op_text import Elsewhere, OpText
from ttc.exporters.ttnn.rules import RULES
from ttc.exporters.ttnn.values import HOST, PlacedValue

VIEWS = ("reshape", "transpose", "slice", "cast", "split", "concat", "expand", "repeat", "identity", "where")
"""Ops that stay on the host where all they read is there: the host moves data more cheaply than a device that has to receive it first."""


def write_body(emitter: Emitter) -> None:
    """Write all ops of the program, and what it returns.  Raises E0503, which names all ops without a rule."""
    graph, whole, refused = emitter.graph, emitter.whole.function, []
    for name, kind, of_all in zip(graph.inputs, graph.function.inputs, whole.inputs, strict=True):
        value = _placed(kind, of_all)
        emitter.hold(value, HOST, f"inputs[{literal(name)}]")
        emitter.values.append(value)
    last = graph.function.last_use()
    for index, (work, of_all) in enumerate(zip(graph.function.works, whole.works, strict=True)):
        problem = _write_work(emitter, work, of_all)
        if problem is not None:
            refused.append(problem)
        emitter.let_go([emitter.values[number] for number in set(work.operands) - {None} if last.get(number) == index])  # pyright: ignore
    require_none("TT-NN", refused)
    _write_outputs(emitter)


def _placed(kind: TensorType, whole: TensorType) -> PlacedValue:
    """Return the value of one chip, which holds a part where it has less than the whole."""
    value = PlacedValue(kind.shape, dtype_of(kind))
    if kind.shape != whole.shape:
        value.whole = PlacedValue(whole.shape, value.dtype, forms=value.forms)
    return value


def _without_rule(work: Work) -> str | None:
    """Why neither the device nor the host takes an op of this kind; None if one may."""
    name = work.op.removeprefix("nn.")
    if work.op in LEAVES or work.op in COLLECTIVES:
        return None
    if any(-1 in kind.shape for kind in work.results):
        return "its shape depends on data"
    if RULES.get(name) is None and HOST_RULES.get(name) is None:
        return RULES.refusal(name) or "it is no op of dialect nn"
    return None


def _write_work(emitter: Emitter, work: Work, whole: Work) -> RefusedOp | None:
    """Write one op; returns it if nothing takes it, with results that later ops may name.  whole: the op for the rows of all chips."""
    results = [_placed(kind, of_all) for kind, of_all in zip(work.results, whole.results, strict=True)]
    operands = [None if number is None else emitter.values[number] for number in work.operands]
    emitter.values += results
    why = _without_rule(work)
    if why is not None:
        return _refused(work, results, why)
    if work.op in LEAVES:
        results[0].leaf, results[0].on_host.leaf = work, whole
        if work.op == "ttc.state" and id(work) not in emitter.caches.leaves:
            emitter.variable(results[0])
        return None
    if work.op in COLLECTIVES:
        emitter.say(", ".join(work.location))
        COLLECTIVES[work.op](OpText(emitter, work, operands, results))
        return None
    try:
        _write_op(OpText(emitter, work, operands, results), whole)
    except Elsewhere as reason:
        return _refused(work, results, str(reason))
    return None


def _refused(work: Work, results: list[PlacedValue], why: str) -> RefusedOp:
    for value in results:
        value.forms[HOST] = "refused"
    return RefusedOp.of(work, why)


def _write_op(step: OpText, whole: Work) -> None:
    """Write an op on the device, or on the host.  Raises Elsewhere with the reasons of both."""
    on_host = step.on_host(whole)
    name = step.work.op.removeprefix("nn.")
    device, host = RULES.get(name), HOST_RULES.get(name)
    step.emitter.say(", ".join(step.work.location))
    if device is None or (host is not None and _stays_on_host(step, name)):
        if host is None:
            raise Elsewhere(f"{RULES.refusal(name)}; on the host: {HOST_RULES.refusal(name)}")
        host(on_host)
        for value in step.results:
            value.counts = any(read.counts or read.dtype.kind in "iu" for read in step.present)
        return
    before = len(step.emitter.lines)
    try:
        device(step)
    except Elsewhere as reason:
        if host is None:
            raise
        if len(step.emitter.lines) != before:
            raise Error("E0901", f"the rule of TT-NN for '{name}' gave up after it had written something") from None
        try:
            host(on_host)
        except Elsewhere as other:
            raise Elsewhere(f"{reason}; on the host: {other}") from None


def _stays_on_host(step: OpText, name: str) -> bool:
    """Return whether an op reads only what the host holds, and is a view or works on integers, truth values, or what was made of these."""
    values = step.present
    if any(value.on_device for value in values) or all(value.leaf is not None for value in values):
        return not values
    whole = any(not value.is_float for value in [*values, *step.results]) or any(value.counts for value in values)
    return (name in VIEWS or whole) and not (name == "gather" and step.operand(0).is_float)


def _write_outputs(emitter: Emitter) -> None:
    """Write the dictionary of outputs, as tensors of torch."""
    emitter.say("outputs")
    pairs: list[tuple[str, str]] = []
    updated: list[tuple[str, PlacedValue]] = []
    for output, number in zip(emitter.graph.outputs, emitter.graph.function.outputs, strict=True):
        if output.updates is None:
            value = emitter.values[number]
            text = emitter.host(value)
            pairs.append((output.name, emitter.let("held", text) if value.is_state else text))
        else:
            updated.append((output.updates, emitter.values[number]))
    variables = {str(leaf.attrs["sym"]): emitter.result_of(leaf) for leaf in emitter.graph.function.works if leaf.op == "ttc.state"}
    for name, value in updated:
        if name not in variables:
            raise Error("E0503", f"the program writes '{name}', which is no variable of it: programs that train are not exported to TT-NN")
        emitter.update(name, value, variables[name])
    emitter.write("return ", items([f"{literal(name)}: {text}" for name, text in pairs], "{}"))
