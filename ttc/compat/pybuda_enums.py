"""Enumerations of PyBuda, by its names, and methods that mean nothing here."""

from __future__ import annotations

from enum import Enum


class DataFormat(Enum):
    """Formats of numbers, by PyBuda's names, which are ttc's."""

    Float32, Float16, Bfp8, Bfp4, Bfp2, Float16_b, Bfp8_b, Bfp4_b, Bfp2_b, Lf8, UInt16, Int8 = range(12)
    RawUInt8, RawUInt16, RawUInt32, Int32, Invalid = range(12, 17)


class MathFidelity(Enum):
    """Multipliers that a device can compute with."""

    LoFi, HiFi2, HiFi3, HiFi4, Invalid = range(5)


class BackendType(Enum):
    """What a TTDevice is run by; here it is this machine, whichever is asked for."""

    Golden, Model, Silicon, NoBackend, Versim = range(5)


class BackendDevice(Enum):
    """Architectures of devices that programs are made for."""

    Grayskull, Wormhole, Wormhole_B0, Blackhole = range(4)


class DeviceMode(Enum):
    """What a device is for; here it always compiles and runs."""

    CompileAndRun, CompileOnly, RunOnly = range(3)


class PerfTraceLevel(Enum):
    """How much a device traces."""

    NONE, LIGHT, VERBOSE = range(3)


class DRAMPlacementAlgorithm(Enum):
    """How queues are spread over channels of memory."""

    ROUND_ROBIN, ROUND_ROBIN_FLIP_FLOP, GREATEST_CAPACITY, CLOSEST = range(4)


_QUEUES = "devices have no queues of commands: calls of ttc.Pipeline run in the process that makes them"
_VERIFY = "VerifyConfig, or verify='torch' of ttc.Pipeline compares every stage"
_COMPILE = "stages are compiled with their pipeline"
REFUSED_OF_DEVICES = {
    **dict.fromkeys(("push_to_command_queue", "get_command_queue_response", "get_next_command", "run_next_command", "run"), _QUEUES),
    **dict.fromkeys(("dc_transfer_thread", "dc_transfer"), _QUEUES),
    **dict.fromkeys(("cpueval_forward", "cpueval_forward_pt", "cpueval_forward_tf", "cpueval_backward"), _VERIFY),
    **dict.fromkeys(("generate_graph", "compile_for", "compile_for_pt", "compile_for_tf"), _COMPILE),
    **dict.fromkeys(("forward_pt", "forward_tf"), "pybuda.run_forward takes microbatches through all devices"),
    **dict.fromkeys(("get_first_inputs", "get_first_targets"), "`inputs` and `targets` of ttc.Pipeline are its queues"),
    **dict.fromkeys(("get_dram_io_queues", "set_active_subgraph", "get_active_subgraph"), "queues belong to the session"),
    **dict.fromkeys(("get_optimizer_params", "get_scheduler_params"), "hyper-parameters are inputs of programs"),
    **dict.fromkeys(("get_device_config", "shutdown_device"), "no device is driven"),
    "generate": "ttc.generator generates tokens",
    "set_debug_gradient_trace_queue": "d2d_bwd_queues of initialize_pipeline get what passes back",
}
"""Methods of devices that are refused, with the reason."""
REFUSED_OF_MODULES = {
    "backward": "pybuda.run_backward takes microbatches back through all devices",
    "call": "forward calls the model",
    "insert_tapout_queue_for_op": "`taps` of ttc.Pipeline",
}
"""Methods of modules that are refused, with the reason."""
