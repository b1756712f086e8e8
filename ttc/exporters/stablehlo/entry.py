"""What `ttc export --to stablehlo` calls."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import LEAVES, Work
from ttc.exporters.graph import ModelGraph, dtype_of, graph_of
from ttc.exporters.refusals import RefusedOp, require_none
from ttc.exporters.request import ExportRequest
from ttc.exporters.stablehlo.literals import HloValue, NoHloForm, location, quoted
from ttc.exporters.stablehlo.rules import HLO_RULES
from ttc.exporters.stablehlo.writer import HloText, HloWriter


def exported(path: Path, request: ExportRequest) -> dict[str, bytes]:
    """Export a model as one file of text.  Raises E0503; what compilation raises."""
    graph = graph_of(path, replace(request.options, format="source"), request.program)
    return {"": stablehlo_text(graph).encode()}


def stablehlo_text(graph: ModelGraph) -> str:
    """Write a program as a module with a function `main`.  Raises E0503, which names all ops without a form."""
    text = HloText(graph)
    arguments = [_argument(text, name, index) for index, name in enumerate(graph.inputs)]
    refused = [row for work in graph.function.works for row in _write(text, work)]
    require_none("StableHLO", refused)
    outputs = [text.values[number] for number in graph.function.outputs]
    results = [f"{value.type} {{jax.result_info = {quoted(output.name)}}}" for value, output in zip(outputs, graph.outputs, strict=True)]
    names, kinds = (", ".join(getattr(value, field) for value in outputs) for field in ("name", "type"))
    return "\n".join(
        [
            f"module @{re.sub(r'[^A-Za-z0-9_.$]', '_', f'_{graph.model}' if graph.model[:1].isdigit() else graph.model)} {{",
            f"  func.func public @main({', '.join(arguments)}) -> ({', '.join(results)}) {{",
            *text.lines,
            f"    func.return {names} : {kinds}" if outputs else "    func.return",
            "  }",
            "}",
            "",
        ]
    )


def _argument(text: HloText, name: str, index: int) -> str:
    """Announce an input.  Raises E0503 for one whose size is not known."""
    kind = text.graph.function.inputs[index]
    value = HloValue(text.name(name), kind.shape, dtype_of(kind))
    text.values.append(value)
    try:
        return f"{value.name}: {value.type}{location([name])}"
    except NoHloForm as reason:
        hint = "--batch or --shape says the sizes" if min(kind.shape, default=0) < 0 else None
        raise Error("E0503", str(reason), where=name, hint=hint) from None


def _write(text: HloText, work: Work) -> list[RefusedOp]:
    """Write the text of an op; returns it if there is none."""
    kinds = [HloValue("%refused", kind.shape, dtype_of(kind)) for kind in work.results]
    start = len(text.values)
    operands = [None if number is None else text.values[number] for number in work.operands]
    text.values += kinds  # so that ops behind one that is refused are looked at
    rule = _leaf if work.op in LEAVES else HLO_RULES.get(work.op.removeprefix("nn."))
    if work.op == "ttc.state":
        return [RefusedOp.of(work, "states are kept between runs, which StableHLO does not")]
    if rule is None or work.bodies:
        return [RefusedOp.of(work, HLO_RULES.refusal(work.op.removeprefix("nn.")) or "it is no op of dialect nn")]
    try:
        types = [kind.type for kind in kinds]
        made = rule(HloWriter(text, work, operands))
    except NoHloForm as reason:
        return [RefusedOp.of(work, str(reason))]
    found = [made] if isinstance(made, HloValue) else list(made)
    if [value.type for value in found] != types:
        raise Error("E0901", f"the form of {work.op} in StableHLO gives {[value.type for value in found]}, not {types}")
    text.values[start:] = found
    return []


def _leaf(step: HloWriter) -> HloValue:
    """Write the value of a weight or literal."""
    key = step.attr("key")
    made = step.text.constant(step.text.graph.leaf(step.work).reshape(step.out), "constant" if key is None else str(key))
    step.text.leaves[made.name] = step.work
    return made
