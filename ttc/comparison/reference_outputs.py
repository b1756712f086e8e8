"""What a model gives by other means: onnxruntime where it is installed, else the reference semantics of the imported nn."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping, Sequence
from itertools import count, takewhile
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.accuracy.distances import Comparison, Exactness, compare
from ttc.dialects.core.errors import Error, nearest
from ttc.inputs.files import require_model

NOTHING_ABSENT: Mapping[str, str] = MappingProxyType({})


def reference_outputs(
    model: Path, inputs: Mapping[str, NDArray], absent: Mapping[str, str] = NOTHING_ABSENT, probes: Sequence[str] = ()
) -> tuple[dict[str, NDArray], str]:
    """Return outputs of a model by name, and what computed them: `onnxruntime`, `evaluate`, or both where onnxruntime has no value of a
    probe.

    Args:
        inputs: by name, items of a sequence as `s[0]`, `s[1]`, ...
        absent: inputs that are left out, with the reason: one of `ttc.runtime.contract.ABSENT`.
        probes: nodes whose values are outputs, too; onnxruntime gives those of nodes with one output.
    Raises: E0102, E02xx, E0801.
    """
    require_model(model)
    native = all(array.dtype.isbuiltin == 1 for array in inputs.values())
    found: dict[str, NDArray] | None = None
    if native and importlib.util.find_spec("onnxruntime") is not None:
        found = _onnxruntime(model, inputs, absent, probes)
    if found is None:
        return _evaluate(model, inputs, absent, probes), "evaluate"
    missing = [name for name in probes if name not in found]
    if not missing:
        return found, "onnxruntime"
    return {**_evaluate(model, inputs, absent, missing), **found}, "onnxruntime and evaluate"


def _onnxruntime(
    model: Path, inputs: Mapping[str, NDArray], absent: Mapping[str, str], probes: Sequence[str] = ()
) -> dict[str, NDArray] | None:
    """Outputs, and of the probes those that it can give.  None if onnxruntime cannot load or run the model."""
    import onnxruntime

    quiet = onnxruntime.SessionOptions()
    quiet.log_severity_level = 4
    quiet.add_session_config_entry("session.x64quantprecision", "1")  # else sums of 8-bit products saturate where CPUs lack VNNI
    try:
        what, tensors = _with_outputs(model, quiet, probes) if probes else (str(model), {})
        session = onnxruntime.InferenceSession(what, quiet, providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        whole = {item.name: _whole(item.name, inputs, absent) for item in session.get_inputs()}
        values = session.run(names, {name: value for name, value in whole.items() if value is not None})
        return dict(
            pair for name, value in zip(names, values, strict=True) for node in tensors.get(name, [name]) for pair in _parts(node, value)
        )
    except Exception:  # its errors have no common base, and whatever they are, the other way is open
        return None


def _with_outputs(model: Path, options: Any, probes: Sequence[str]) -> tuple[bytes, dict[str, list[str]]]:
    """An ONNX model that gives the values of nodes that have one output, too; and under which names each of those tensors is given."""
    import onnx

    from ttc.importers.onnx.structure import node_name

    loaded = onnx.load(model, load_external_data=False)
    names = {output.name: [output.name] for output in loaded.graph.output}
    wanted = set(probes)
    for node in loaded.graph.node:
        if len(node.output) == 1 and node_name(node) in wanted:
            (tensor,) = node.output
            if tensor not in names:
                loaded.graph.output.append(onnx.ValueInfoProto(name=tensor))
            names.setdefault(tensor, []).append(node_name(node))
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(model.resolve().parent))
    return loaded.SerializeToString(), names


def _whole(name: str, inputs: Mapping[str, NDArray], absent: Mapping[str, str]) -> NDArray | list[NDArray] | None:
    """Return an input of the model: an array, the list that a sequence is, or None."""
    items = takewhile(lambda item: item in inputs, (f"{name}[{index}]" for index in count()))
    listed = [inputs[item] for item in items]
    return inputs[name] if name in inputs else listed if listed or absent.get(name) == "sequence" else None


def _parts(name: str, value: Any) -> list[tuple[str, NDArray]]:
    """An output of the model as outputs of a program: an item of a sequence each by itself, none for an optional without an element."""
    if isinstance(value, list):
        return [(f"{name}[{index}]", np.asarray(item)) for index, item in enumerate(value)]
    return [] if value is None else [(name, np.asarray(value))]


def _evaluate(model: Path, inputs: Mapping[str, NDArray], absent: Mapping[str, str], probes: Sequence[str]) -> dict[str, NDArray]:
    from ttc.accuracy.module_values import evaluate
    from ttc.compiler.probes import add_probes
    from ttc.dialects.core.ir.entries import entry_functions
    from ttc.dialects.core.machines.targets import load_target
    from ttc.importers.base import import_model
    from ttc.passes.base import Unit

    module, weights = import_model(model, values={**inputs, **dict.fromkeys(absent)})
    add_probes(module, probes)
    (function,) = entry_functions(module)
    name = function.sym_name.data
    return evaluate(Unit(module, weights, load_target("host")), {name: inputs})[name]


def compare_outputs(
    outputs: Mapping[str, NDArray], expected: Mapping[str, NDArray], exactness: Exactness = Exactness.FLOAT32
) -> dict[str, Comparison]:
    """Compare outputs with those of the same name.  Raises E0206 for one that the model does not have."""
    found: dict[str, Comparison] = {}
    for name, array in outputs.items():
        if name not in expected:
            raise Error("E0206", f"the model has no output '{name}' to compare with", hint=nearest(name, expected))
        found[name] = compare(array, expected[name], exactness)
    return found


def probes_of(options: Mapping[str, object]) -> tuple[str, ...]:
    """Return the nodes whose values an archive compiled with these options gives as outputs."""
    found = options.get("probe")
    return tuple(map(str, found)) if isinstance(found, tuple | list) else ()


def exactness_of(options: Mapping[str, object], dtypes: Iterable[str]) -> Exactness:
    """Return how exact an archive is that was compiled with these options, with outputs of these types."""
    names = [name for name in (str(options.get("format", "source")), *_rule_formats(options)) if name != "source"]
    names += ["Float16_b" for dtype in dtypes if dtype in ("bfloat16", "float16")]
    return max(Exactness.of_precision(options.get("precision")), *map(Exactness.of_format, names), Exactness.FLOAT32)


def _rule_formats(options: Mapping[str, object]) -> list[str]:
    """Formats that the recorded rules of precision name."""
    if not options.get("amp") and not options.get("precision_file"):
        return []
    from ttc.options import CompileOptions, resolve

    rules = resolve(CompileOptions, {name: options.get(name) for name in ("amp", "precision_file")}).rules
    return [value for rule in rules for key, value in rule.settings.items() if key != "fidelity"]
