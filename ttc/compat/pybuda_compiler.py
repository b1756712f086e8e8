"""The compiler configuration of PyBuda, whose attributes are options of set_configuration_options, or have no effect."""

from __future__ import annotations

from typing import Any

from ttc.compat.names import ignored
from ttc.compat.pybuda_config import (
    OPTIONS,
    override_op_size,
    override_t_stream_dir,
    override_u_kt,
    set_configuration_options,
    set_epoch_break,
)
from ttc.dialects.core.errors import Error, nearest

ALIASES = {
    "default_math_fidelity": "math_fidelity",
    "default_accumulate_df": "accumulate_df",
    "harvesting_mask": "harvested_rows",
}
"""Attributes whose option has another name."""
_FALLBACK = "ops without a kernel run on the host by themselves"
_IMPORT = "models are imported in one way"
EFFECTLESS = {
    **dict.fromkeys(("enable_tvm_cpu_fallback", "cpu_fallback_ops", "enable_tm_cpu_fallback", "tm_cpu_fallback_max_depth"), _FALLBACK),
    **dict.fromkeys(("enable_tvm_dropout", "enable_tvm_unsupported_ops", "enable_tvm_constant_prop", "tvm_constnat_prop_mask"), _IMPORT),
    **dict.fromkeys(("convert_framework_params_to_tvm", "enable_xla_jax_convert", "enable_tvm_jax_freeze_large_model"), _IMPORT),
    **dict.fromkeys(("compile_tvm_to_python", "retain_tvm_python_files", "tvm_graph_store_path", "tvm_graph_load_path"), _IMPORT),
    **dict.fromkeys(
        ("scheduler_policy", "graph_solver_self_cut_type", "match_subgraph_patterns"), "the compiler chooses the order and cuts"
    ),
    **dict.fromkeys(("enable_link_past_cache_ios", "enable_pt2_fx_graph_link", "compile_subgraphs"), "ttc.generator keeps caches"),
    **dict.fromkeys(("max_pool_add_sub_surround", "max_pool_add_sub_surround_value"), "pools take negative numbers as they are"),
    **dict.fromkeys(
        ("enable_broadcast_splitting", "enable_single_buffer_fallback", "default_dram_parameters"), "the compiler places tensors"
    ),
    **dict.fromkeys(("enable_training", "compile_depth", "device_mode"), "pipelines say what is compiled"),
    **dict.fromkeys(("enable_op_level_comparision", "tti_dump_format", "paddings"), "it changes no number"),
}
"""Attributes that are taken and have no effect, and why."""
_OF_OPS = {"grid_shape": override_op_size, "t_stream_dir": override_t_stream_dir, "u_kt": override_u_kt}


class CompilerConfig:
    """Sets options of set_configuration_options by attributes, for the whole process."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an option.  Raises as set_configuration_options does."""
        option = ALIASES.get(name, name)
        if option in OPTIONS:
            set_configuration_options(**{option: value})
        elif name in EFFECTLESS:
            ignored(f"compiler_cfg.{name}", EFFECTLESS[name])
        else:
            raise Error("E0101", f"there is no attribute '{name[:80]}'", hint=nearest(name, [*OPTIONS, *EFFECTLESS]))
        self.__dict__[name] = value

    def __getattr__(self, name: str) -> Any:
        if name in EFFECTLESS and name.endswith("_ops"):
            return self.__dict__.setdefault(name, set())
        if name in OPTIONS or name in ALIASES or name in EFFECTLESS:
            return None
        raise AttributeError(f"the compiler configuration has no attribute '{name}'")

    def balancer_op_override(self, op_name: str, attribute: str, value: Any) -> None:
        """Override how an op is cut: grid_shape, t_stream_dir or u_kt.  Raises E0105 for other attributes."""
        if attribute not in _OF_OPS:
            raise Error("E0105", f"balancer_op_override of {attribute[:40]} is not supported", hint=", ".join(_OF_OPS))
        _OF_OPS[attribute](op_name, value)

    def place_on_new_epoch(self, op_names: Any) -> None:
        """Begin an epoch with these ops."""
        set_epoch_break(op_names)


COMPILER_CONFIG = CompilerConfig()


def _get_global_compiler_config() -> CompilerConfig:
    """Return the configuration of the process."""
    return COMPILER_CONFIG
