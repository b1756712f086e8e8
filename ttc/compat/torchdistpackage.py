"""TorchDistPackage's names on `ttc.dist`: its topology of processes, pipelines of functions, and clipping.

Gradients are summed over microbatches, and a call returns what this stage gave for the last one, as there.  Rows that do not divide are an
error, and norms are those of all stages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining.schedules import Schedule1F1B, ScheduleGPipe

from ttc.compat.names import Refusing, submodule, told
from ttc.dialects.core.errors import Error
from ttc.dist import clipping
from ttc.dist.cutting import partition
from ttc.dist.failures import naming
from ttc.dist.lines import StageLine, StagePlace
from ttc.dist.parts import Layer, Part, layers_of, linearize
from ttc.dist.processes import Mesh, mesh
from ttc.dist.signatures import microbatch_of
from ttc.dist.stages import Backward, Crossing

_CALLS = {
    **{"get_group": "group", "get_group_rank": "coordinate", "get_group_size": "size"},
    **{"get_ranks_in_group": "ranks", "is_first_in_group": "is_first", "is_last_in_group": "is_last"},
}
"""Methods of a mesh by the names that calls with a dimension have."""
_AXES = {"tp": "tensor", "pp": "pipe", "dp": "data"}


class ProcessTopology:
    """The mesh of a script's processes by TorchDistPackage's names of calls."""

    def __init__(self) -> None:
        self._mesh: Mesh | None = None

    @property
    def mesh(self) -> Mesh:
        """The mesh of the script's processes. Raises E0101 before there is one."""
        if self._mesh is None:
            raise Error("E0101", "there are no groups of processes yet", hint="tpc.setup_process_groups([('data', 1), ('pipe', 2)])")
        return self._mesh

    def setup_process_groups(self, config: Sequence[tuple[str, float]]) -> None:
        """Lay the processes out, outermost dimension first."""
        told("torchdistpackage.tpc", "ttc.dist.mesh")
        self._mesh = mesh(**{name: int(size) for name, size in config})

    def is_mode_inited(self, mode: str) -> bool:
        """Return whether several processes lie along a dimension."""
        return self._mesh is not None and self._mesh.size(mode) > 1

    def get_prev_global_rank(self, mode: str = "pipe") -> int:
        """Return the process before this one along a dimension; the last one for the first."""
        return self.mesh.ranks(mode)[self.mesh.coordinate(mode) - 1]

    def get_next_global_rank(self, mode: str = "pipe") -> int:
        """Return the process after this one along a dimension; the first one for the last."""
        return self.mesh.ranks(mode)[(self.mesh.coordinate(mode) + 1) % self.mesh.size(mode)]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in _CALLS:
            return getattr(self.mesh, _CALLS[name])
        for short, dimension in _AXES.items():
            if name == f"get_{short}_rank":
                return lambda: self.mesh.coordinate(dimension)
            if name == f"get_{short}_size":
                return lambda: self.mesh.size(dimension)
        for long, dimension in {"pipeline": "pipe", "tensor": "tensor", "data": "data"}.items():
            if name == f"is_first_in_{long}_group":
                return lambda: self.mesh.is_first(dimension)
            if name == f"is_last_in_{long}_group":
                return lambda: self.mesh.is_last(dimension)
        Refusing("torchdistpackage.tpc", REFUSED_GROUPS)(name)


class _Function(nn.Module):
    """A function of one stage as a stage of ours: it keeps what it gave last."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.function, self.last = function, None

    def forward(self, *inputs: torch.Tensor, **more: torch.Tensor) -> Any:
        """Call the function with a tensor, or a list of several."""
        given = [*inputs, *more.values()]
        self.last = self.function(given[0] if len(given) == 1 else given)
        return self.last


def setup_distributed(*_: Any, **__: Any) -> None:
    """Join the other processes of torchrun; ttc.dist.mesh does so, too."""
    mesh()


def is_using_pp() -> bool:
    """Return whether there are several stages."""
    return tpc.is_mode_inited("pipe")


def flatten_model(model: nn.Module, layer_list: Sequence[Any], return_list: bool = False) -> Any:
    """Return the layers of a model in an order, as a list or a Sequential."""
    told("torchdistpackage.flatten_model", "ttc.dist.linearize")
    layers = _modules(linearize(model, layer_list))
    return layers if return_list else nn.Sequential(*layers)


def partition_uniform(flat_sequence: Any, extra_len: int = 0) -> list[nn.Module]:
    """Return this process's share of layers, alike in number."""
    return _share(flat_sequence, "uniform", extra_len)


def partition_balanced(flat_sequence: Any, sequence: Any = None, **_: Any) -> list[nn.Module]:
    """Return this process's share of layers, alike in parameters."""
    return _share(flat_sequence, "params", 0)


def forward_backward(
    optimizer: Any, fwd_fn: Callable[[Any], Any], bwd_fn: Backward | None, inputs: Any, num_microbatches: int = 1,
    forward_only: bool = False, dtype: Any = None, scatter_gather_tensors: bool = False,
) -> Any:  # fmt: skip
    """Run microbatches through functions of all stages, and return what this one gave for the last; gradients are summed.

    Types of what passes between stages are found, not told.  Raises E0105 for scattered tensors, E0801 for rows that do not divide, E0811.
    """
    if scatter_gather_tensors:
        raise Error("E0105", "torchdistpackage's scatter_gather_tensors is not supported: there are no shares of tensors")
    if optimizer is not None:
        optimizer.zero_grad()
    tensors: list[torch.Tensor] = [inputs] if isinstance(inputs, torch.Tensor) else list(inputs or ())
    with naming(tpc.mesh, "forward_backward"), torch.set_grad_enabled(not forward_only):
        return _run(_Function(fwd_fn), bwd_fn, tensors, num_microbatches, not forward_only)


def forward_eval(fwd_fn: Callable[[Any], Any], inputs: Any, dtype: Any = None, **_: Any) -> Any:
    """Run a batch through functions of all stages without gradients, and return what this one gave."""
    return forward_backward(None, fwd_fn, None, inputs, forward_only=True)


def clip_grad_norm_(parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False) -> torch.Tensor:
    """Clip gradients by the norm of those of all stages; every process calls it."""
    told("torchdistpackage.clip_grad_norm_", "ttc.dist.clip_grad_norm_")
    with naming(tpc.mesh, "clipping"):
        return clipping.clip_grad_norm_(parameters, max_norm, norm_type, mesh=tpc.mesh, error_if_nonfinite=error_if_nonfinite)


def _run(function: _Function, backward: Backward | None, tensors: list[torch.Tensor], microbatches: int, training: bool) -> Any:
    of = tpc.mesh
    place = StagePlace(of, of.size("pipe"), (of.coordinate("pipe"),))
    named = {} if of.is_first("pipe") else {f"extra{number}": tensor for number, tensor in enumerate(tensors)}
    first = tuple(tensors) if of.is_first("pipe") else ()
    pieces = _pieces(tensors, microbatches)
    crossings = {place.own[0]: Crossing(function, "float32", is_last=of.is_last("pipe"))}
    extra = dict(zip(named, pieces, strict=False))
    line = StageLine.build(place, crossings, crossings, pieces if first else (), extra, backward, training=training, is_compiled=False)
    kind = ScheduleGPipe if microbatches < place.stages else Schedule1F1B
    loss = (lambda leaves, _: leaves[0].reshape(())) if training else None
    schedule: Any = kind(line.stages[0], microbatches, loss_fn=loss, scale_grads=False)
    if training:
        last = of.is_last("pipe")
        schedule.step(
            *first, target=torch.zeros(microbatches) if last else None, losses=[] if last else None, return_outputs=False, **named
        )
    else:
        schedule.eval(*first, **named)
    return function.last


def _pieces(tensors: list[torch.Tensor], microbatches: int) -> list[torch.Tensor]:
    """Return the first microbatch.  Raises E0801 in all processes of the pipeline where one cannot divide its rows."""
    refusal: Error | None = None
    pieces: list[torch.Tensor] = []
    try:
        pieces = microbatch_of(tensors, microbatches)
        if tpc.mesh.is_first("pipe") and not tensors:
            raise Error("E0801", "the first stage has no inputs")
    except Error as error:
        refusal = error
    refused = torch.tensor(0 if refusal is None else 1)
    dist.all_reduce(refused, group=tpc.mesh.pipe_group())
    if refusal is not None:
        raise refusal
    if refused:
        raise Error("E0801", "another process cannot divide its rows into microbatches", hint="its own error says which")
    return pieces


def _modules(chain: Part) -> list[nn.Module]:
    return [layer.call if isinstance(layer.call, nn.Module) else Part([Layer("", layer.call)]) for layer in layers_of(chain)]


def _share(layers: Any, by: str, extra: int) -> list[nn.Module]:
    if extra:
        raise Error("E0105", "torchdistpackage's extra_len is not supported: stages are alike in the layers that there are")
    told("torchdistpackage.partition", "ttc.dist.partition")
    return _modules(partition(nn.Sequential(*layers), tpc.mesh.size("pipe"), by)[tpc.mesh.coordinate("pipe")])


REFUSED_GROUPS = {
    "build_moe_groups": "there are no experts over processes",
    "get_mp_rank": "a mesh has data, pipe and tensor; ask for those",
    "get_mp_size": "a mesh has data, pipe and tensor; ask for those",
}
"""Calls of its topology that mean nothing here, with the reason."""
REFUSED: dict[str, str] = {
    "NaiveDDP": "torch.nn.parallel.DistributedDataParallel over tpc.get_group('data') averages gradients",
    "Bf16ZeroOptimizer": "torch.distributed.optim.ZeroRedundancyOptimizer shares an optimizer's state",
    "setup_distributed_slurm": "torchrun starts the processes",
    "test_comm": "it tests CUDA's communication",
    "fix_random_seed": "torch.manual_seed",
    **dict.fromkeys(("moe_dp_iter_step", "create_moe_dp_hooks"), "there are no experts over processes"),
    **dict.fromkeys(("ParallelBlock", "Block", "Attention", "TpAttention", "Mlp", "TpMlp"), "there are no shares of tensors"),
}
"""Names that mean nothing here, with the reason."""
tpc = torch_parallel_context = ProcessTopology()
_SCHEDULES = {"forward_backward": forward_backward, "forward_eval": forward_eval}
_HELPERS = {"flatten_model": flatten_model, "partition_uniform": partition_uniform, "partition_balanced": partition_balanced}
_PARTS = {
    "pipeline_sched": submodule("torchdistpackage.parallel", "pipeline_sched", _SCHEDULES),
    "pipeline_helper": submodule("torchdistpackage.parallel", "pipeline_helper", _HELPERS),
}
parallel = submodule("torchdistpackage", "parallel", {**_SCHEDULES, **_HELPERS, **_PARTS}, REFUSED)
_CLIPPING = submodule("torchdistpackage.parallel", "clip_grad_parallel", {"clip_grad_norm_": clip_grad_norm_})
_PIPELINES = submodule("torchdistpackage.parallel", "pipeline_parallel", _PARTS)
parallel.__dict__.update(clip_grad_parallel=_CLIPPING, pipeline_parallel=_PIPELINES)
SUBMODULES: dict[str, ModuleType] = {
    "parallel": parallel,
    "parallel.clip_grad_parallel": _CLIPPING,
    "parallel.pipeline_parallel": _PIPELINES,
    **{f"parallel.{name}": module for name, module in _PARTS.items()},
    **{f"parallel.pipeline_parallel.{name}": module for name, module in _PARTS.items()},
}
"""SUBMODULES holds the modules inside torchdistpackage by name."""
__path__: list[str] = []
__getattr__ = Refusing("torchdistpackage", REFUSED)
