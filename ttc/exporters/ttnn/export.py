"""From programs at stage nn to a folder of a Python module and its weights."""

from __future__ import annotations

from collections.abc import Sequence

from safetensors.numpy import save

from ttc.dialects.core.errors import Error
from ttc.dialects.core.rules.precision import PrecisionRule
from ttc.exporters.graph import ModelGraph
from ttc.exporters.ttnn.body import write_body
from ttc.exporters.ttnn.emitter import Emitter
from ttc.exporters.ttnn.module import module_text
from ttc.exporters.ttnn.placing import Placing
from ttc.exporters.ttnn.precision import Precision
from ttc.exporters.ttnn.weights import StoredWeights

MODULE, WEIGHTS = "model.py", "weights.safetensors"


def export(
    graph: ModelGraph, format_: str | None = None, fidelity: str | None = None, whole: ModelGraph | None = None, *, trace: bool = False
) -> dict[str, bytes]:
    """Write one program as `export_all` writes several.  whole: the program for the rows of all chips; None: there is one chip."""
    return export_all([(whole or graph, graph)], format_, fidelity, trace=trace)


def export_all(
    programs: Sequence[tuple[ModelGraph, ModelGraph]],
    format_: str | None = None,
    fidelity: str | None = None,
    *,
    rules: Sequence[PrecisionRule] = (),
    trace: bool = False,
) -> dict[str, bytes]:
    """Write the programs of a model as a Python module for TT-NN and a file of weights; returns files by name.

    Args:
        programs: of all chips, and of one of them; the same where there is one chip.
        format_: of tensors, as `ttc compile --format` names it; None: 16 bits.
        fidelity: of the multiplier; None: all passes for 16 bits and more, two for blocks of 8 bits.
        rules: formats of weights, and fidelities, of single ops.
        trace: the module has the functions that record its work on the device, and run the record.
    Raises: E0503 for ops that neither TT-NN nor torch computes, all at once, and for a program that a trace cannot
        record; E0101 for a format that TT-NN lacks.
    """
    _require_same_parts([part for _, part in programs])
    precision = Precision.of(format_, fidelity, rules)
    weights, emitters = StoredWeights.empty(), []
    for whole, graph in programs:
        target = graph.target
        emitters.append(Emitter(graph, whole, precision, Placing(target.cores * target.l1_bytes, {}), weights))
        write_body(emitters[-1])
    text = module_text(emitters, trace)
    stored = save({name: weight.array for name, weight in weights.stored.items()})
    return {WEIGHTS: stored, MODULE: text.encode()}  # in this order: a module that is there has its weights


def _require_same_parts(programs: Sequence[ModelGraph]) -> None:
    """Raises E0503 if chips divide a variable in one program and not in another, or otherwise."""
    known: dict[str, tuple[object, str]] = {}
    for graph in programs:
        for leaf in graph.function.works:
            if leaf.op != "ttc.state":
                continue
            parts, program = known.setdefault(str(leaf.attrs["sym"]), (leaf.attrs.get("parts"), graph.program))
            if parts != leaf.attrs.get("parts"):
                message = f"chips divide variable '{leaf.attrs['sym']}' in other ways in programs {program} and {graph.program}"
                raise Error("E0503", message, hint="choose one with --program")
