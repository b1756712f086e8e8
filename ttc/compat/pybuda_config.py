"""Options of PyBuda and what they are here: options of ttc, rules of placement and precision, or nothing, with the reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, NamedTuple

from ttc.compat import pybuda_query as query
from ttc.compat.names import submodule
from ttc.compat.pybuda_enums import DataFormat, MathFidelity
from ttc.compat.pybuda_query import selectors_of
from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.records import record
from ttc.dialects.core.rules.placement import PlacementRule
from ttc.dialects.core.rules.precision import PrecisionRule
from ttc.dialects.core.rules.queues import QueueRule


@record(frozen=False)
class Config:
    """What scripts have set: options of `ttc.compile`, those of training alone, names of ops to tap, and rules, in order."""

    options: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    taps: list[str] = field(default_factory=list)
    placement: list[PlacementRule | QueueRule] = field(default_factory=list)
    precision: list[PrecisionRule] = field(default_factory=list)

    def fields(self) -> dict[str, Any]:
        """Return options and rules as fields of CompileOptions."""
        rules = {"placement_file": tuple(self.placement), "precision_file": tuple(self.precision)}
        return {**self.options, **{key: value for key, value in rules.items() if value}}

    def clear(self) -> None:
        """Forget all that was set."""
        for part in (self.options, self.training, self.taps, self.placement, self.precision):
            part.clear()


CONFIG = Config()
"""What the process has set, as PyBuda has one configuration a process."""


def _option(name: str, convert: Callable[[Any], Any] = lambda value: value) -> Callable[[Any], None]:
    return lambda value: CONFIG.options.__setitem__(name, convert(value))


def _rule(**settings: Any) -> None:
    CONFIG.placement.append(PlacementRule(**settings))


_POLICIES = {"default": "balanced", "NLP": "balanced", "Ribbon": "fastest", "CNN": "fastest", "MinimizeGrid": "smallest"}


def _policy(value: str) -> None:
    if value not in _POLICIES:
        raise Error("E0105", f"balancer_policy '{value[:40]}' is not supported", hint=f"there are {', '.join(_POLICIES)}")
    _rule(policy=_POLICIES[value])


class Row(NamedTuple):
    """An option of PyBuda: what it is in ttc, what sets it, and values that ask for what happens anyway; without `apply` all others are
    refused.
    """

    ours: str
    apply: Callable[[Any], None] | None = None
    anyway: tuple[Any, ...] = ()


OPTIONS: dict[str, Row] = {
    "enable_recompute": Row("`recompute` of a device", lambda on: CONFIG.training.__setitem__("recompute", "all" if on else "none")),
    "balancer_policy": Row("`policy` of a rule of placement: balanced, fastest or smallest", _policy),
    "place_on_one_row": Row("PyBuda ignored it; `grid` of a rule of placement", None, (False,)),
    "enable_t_streaming": Row('rule of placement `stream = "none"`', lambda on: None if on else _rule(stream="none")),
    "manual_t_streaming": Row('rule of placement `stream = "none"`, before those of ops', lambda on: _rule(stream="none") if on else None),
    "enable_consteval": Row("always on: constants are computed at compile time", None, (True,)),
    "default_df_override": Row("`format`", _option("format", lambda value: value.name)),
    "accumulate_df": Row(
        "`accumulate` of a rule of precision", lambda value: CONFIG.precision.append(PrecisionRule(accumulate=value.name))
    ),
    "math_fidelity": Row("`fidelity`", _option("fidelity", lambda value: value.name)),
    "performance_trace": Row("`ttc perf` and `ttc bench`: no device is driven that could be traced", None, ()),
    "backend_opt_level": Row("there is no backend with levels; `effort` is the work of placement", None, ()),
    "backend_output_dir": Row("nothing is written but what `save` is asked to write", None, ()),
    "backend_device_descriptor_path": Row("`target`, a descriptor file", _option("target")),
    "backend_cluster_descriptor_path": Row("`cluster`", _option("cluster")),
    "backend_runtime_params_path": Row("there is no database of run-time parameters", None, ("",)),
    "backend_runtime_args": Row("there is no backend with arguments", None, ("",)),
    "enable_auto_fusing": Row("always on; `ttc opt` runs passes one by one", None, (True,)),
    "enable_conv_prestride": Row("kernels take strides as they are", None, (False,)),
    "enable_stable_softmax": Row("always on: the largest element is subtracted", None, (True,)),
    "amp_level": Row("`amp`", _option("amp")),
    "harvested_rows": Row("`harvested_rows`", _option("harvested_rows", lambda rows: str(sorted({r for chip in rows for r in chip})))),
    "store_backend_db_to_yaml": Row("there is no database of the backend", None, (False,)),
    "input_queues_on_host": Row("queue rule `location`", lambda on: _queues("kind:input", "host" if on else "dram")),
    "output_queues_on_host": Row("queue rule `location`", lambda on: _queues("kind:output", "host" if on else "dram")),
    "enable_auto_transposing_placement": Row("`transpose` of a rule of placement, by op", None, (False,)),
    "use_interactive_placer": Row("there is one placer", None, (False,)),
    "op_intermediates_to_save": Row("`taps` of ttc.Pipeline", lambda names: CONFIG.taps.__setitem__(slice(None), names)),
    "enable_enumerate_u_kt": Row("always on; `u_kt` of a rule of placement sets one", None, (True,)),
    "enable_device_tilize": Row("tilizing is where the compiler puts it", None, (False,)),
    "dram_placement_algorithm": Row(
        "`dram_placement`", _option("dram_placement", lambda value: getattr(value, "name", str(value)).lower())
    ),
    "chip_placement_policy": Row("chips come in the order of the cluster", None, ("MMIO_LAST",)),
    "enable_forked_dram_inputs": Row("inputs that several ops read are read as the compiler finds best", None, (False,)),
    "device_config": Row("`target`", _option("target", lambda value: _configured(value))),
}
"""OPTIONS has every option of set_configuration_options."""
_CONFIGS = {"wh_n150": "n150", "wh_n300": "n300", "gs_e150": "e150", "bh_test": "p150"}


def _configured(value: str) -> str:
    if value not in _CONFIGS:
        raise Error("E0105", f"device_config '{value[:40]}' is not supported", hint=f"there are {', '.join(_CONFIGS)}")
    return _CONFIGS[value]


def _queues(pattern: str, location: str) -> None:
    CONFIG.placement.append(QueueRule(pattern, location=location))


def set_configuration_options(**options: Any) -> None:
    """Set options that are not None.  Raises E0101 for unknown ones, E0105 for those that mean nothing here."""
    for name, value in options.items():
        row = OPTIONS.get(name)
        if row is None:
            raise Error("E0101", f"there is no option '{name[:80]}'", hint=nearest(name, OPTIONS))
        if value is None or value in row.anyway:
            continue
        if row.apply is None:
            raise Error("E0105", f"{name}={value!r} is not supported: {row.ours}")
        row.apply(value)


def _of_op(op: Any, **settings: Any) -> None:
    """Rules of the ops of a name, a pattern or a predicate, or a list of them, whatever module they are in."""
    for selector in selectors_of(op):
        _rule(**selector, **settings)


def set_epoch_break(op_names: Any) -> None:
    """Begin an epoch with these ops: `epoch_break` of a rule of placement."""
    _of_op(op_names, epoch_break=True)


def set_chip_break(op_names: Any) -> None:
    """Begin the part of another chip with these ops: `chip_break` of a rule of placement."""
    _of_op(op_names, chip_break=True)


def override_op_size(op_name: Any, grid_size: tuple[int, int]) -> None:
    """Give an op so many rows and columns of cores: `grid` of a rule of placement."""
    _of_op(op_name, grid=tuple(grid_size))


def override_t_stream_dir(op_name: str, direction: str) -> None:
    """Say along what an op is cut: `stream` of a rule of placement, r, c or none.  Raises E0105 for rz and cz."""
    known = {"r": "r", "c": "c", "n": "none"}
    if direction not in known:
        raise Error("E0105", f"direction '{direction[:20]}' is not supported: a stream goes along rows or columns")
    _of_op(op_name, stream=known[direction])


def override_u_kt(op_name: str, u_kt: int) -> None:
    """Set the tiles of the inner dimension that a product takes at a time: `u_kt` of a rule of placement."""
    _of_op(op_name, u_kt=u_kt)


def override_input_buffer_multiplier(op_name: str, operand_index: int, multiplier: int) -> None:
    """Set the buffers of an op's inputs, all alike: `buffer` of a rule of placement."""
    _of_op(op_name, buffer=multiplier)


def override_dram_queue_placement(queue_name: str, *, chip_id: int | None = None, channel: int | None = None) -> None:
    """Place a queue in DRAM, by a rule of queues."""
    CONFIG.placement.append(QueueRule(queue_name, chip=chip_id, channel=channel))


def override_op_placement(
    op_name: Any,
    *,
    start: Any = None,
    transpose_op: bool = False,
    chip_id: int | None = None,
    spatial_epoch_break: bool = False,
    temporal_epoch_break: bool = False,
) -> None:
    """Place an op: `start`, `transpose` and `epoch_break` of a rule of placement.  Raises E0105 for a chip."""
    if chip_id is not None:
        raise Error("E0105", "chip_id is not supported: chips follow each other", hint="pybuda.set_chip_break")
    settings = {"start": None if start is None else tuple(start), "transpose": transpose_op or None}
    _of_op(op_name, **settings, epoch_break=(spatial_epoch_break or temporal_epoch_break) or None)


def configure_mixed_precision(
    *,
    op_type: str | None = None,
    name_regex: str | None = None,
    output_df: DataFormat | None = None,
    accumulate_df: DataFormat | None = None,
    intermediate_df: DataFormat | None = None,
    math_fidelity: MathFidelity | None = None,
    **others: Any,
) -> None:
    """Add a rule of precision, by kind or a regular expression of names.  Raises E0105 for other selectors, E0101 without any."""
    refused = [key for key, value in others.items() if value is not None]
    if refused:
        raise Error(
            "E0105", f"{', '.join(refused)} of mixed precision is not supported", hint="rules of precision select by op and pattern"
        )
    if op_type is None and name_regex is None:
        raise Error("E0101", "a rule of mixed precision needs a selector", hint="op_type, name_regex")
    chosen = {"output": output_df, "accumulate": accumulate_df, "intermediate": intermediate_df, "fidelity": math_fidelity}
    named = {} if name_regex is None else query.name_regex(name_regex).selectors[0].fields
    set_ = {key: value.name for key, value in chosen.items() if value is not None}
    kind = "*" if op_type is None else query.KINDS.get(op_type, op_type)
    CONFIG.precision.append(PrecisionRule(op=kind, **named, **set_))


REFUSED: Mapping[str, str] = {
    "override_t_stream_shape": "the compiler chooses the pieces of a stream",
    "internal_override_output_buffer_multiplier": "results have as many buffers as their readers need",
    "override_dram_parameters": "parameters lie where rules of queues say",
    "override_multi_op_fracture_factor": "convolutions are not cut into several ops",
    "insert_nop": "the compiler puts in what buffers a path",
    "insert_buffering_nop": "the compiler puts in what buffers a path",
    "add_schedule_constraint": "ops are scheduled in the order of the model; set_epoch_break begins epochs",
    "insert_fracture_group": "products are cut by grids, not by groups of ops",
    "add_cpu_fallback_ops": "ops without a kernel run on the host by themselves",
    "remove_cpu_fallback_ops": "ops without a kernel run on the host by themselves",
    "set_num_repeated_patterns": "there is no matching of repeated patterns",
    "set_auto_transposing_placement": "override_op_placement(transpose_op=True) turns an op",
    "dont_fuse": "fusion has no rule by op",
    "manual_fuse": "fusion has no rule by op",
}
"""REFUSED has overrides that mean nothing here, with the reason."""
OVERRIDES: dict[str, Callable[..., None]] = {
    f.__name__: f
    for f in (
        *(set_configuration_options, set_epoch_break, set_chip_break, override_op_size, override_t_stream_dir, override_u_kt),
        *(override_input_buffer_multiplier, override_dram_queue_placement, override_op_placement, configure_mixed_precision),
    )
}
MODULE = submodule("pybuda", "config", OVERRIDES, REFUSED)
"""MODULE stands in for pybuda.config."""
