"""The strategy whose processes hold stages of a model: `ttc.dist.Runner` for a Trainer."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.trainer.states import TrainerFn
from torch import nn

from ttc.dialects.core.errors import Error
from ttc.dist import Runner, linearize, partition
from ttc.dist.parts import Part
from ttc.dist.sharded import broadcast
from ttc.lightning.strategy import MeshStrategy


class PipelineStrategy(MeshStrategy):
    """Train with stages of a model in several processes, and replicas of these; weights become those of one process.

    The strategy runs the model's stages and its loss in the place of `training_step`, and logs `train_loss`: a batch is a pair of inputs,
    or a tuple of them, and targets.  Other steps are the model's own: the model's chain gives them the outputs of all stages.
    Checkpoints are whole: they load into any number of processes, and under any strategy.

    Args:
        model: attribute of the LightningModule with the layers, a Sequential; another module with `order`.
        loss: attribute of the LightningModule that is called with outputs and targets: a module, or a method.
        order: of the layers, as `ttc.dist.linearize` takes it.
        stages: uniform or params, as `ttc.dist.partition` takes them, or a function that gives the stages for their number.
        replicas: of the pipeline; the stages are as many as the processes of one.
        chunks: stages a process, for schedule interleaved.
        microbatches, schedule: as of `ttc.dist.Runner`.
        options: of Lightning's DDPStrategy.
    Raises: E0101 for options that cannot be.
    """

    strategy_name = "ttc_pipeline"

    def __init__(
        self,
        model: str = "net",
        loss: str = "loss",
        *,
        order: Sequence[Any] | None = None,
        stages: str | Callable[[int], Sequence[nn.Module]] = "uniform",
        replicas: int = 1,
        chunks: int = 1,
        microbatches: int = 1,
        schedule: str = "1f1b",
        **options: Any,
    ) -> None:
        super().__init__(**options)
        if type(replicas) is not int or replicas < 1 or type(chunks) is not int or chunks < 1:
            raise Error("E0101", f"a pipeline has at least 1 replica and 1 stage a process, not {replicas!r} and {chunks!r}")
        self._names, self._order, self._cut = (model, loss), order, stages
        self._replicas, self._chunks = replicas, chunks
        self._options = {"microbatches": microbatches, "schedule": schedule}
        self._runner: Runner | None = None
        self._parts: tuple[nn.Module, ...] = ()
        self._gradients: list[torch.Tensor | None] = []

    @property
    def runner(self) -> Runner:
        """The runner of the stages. Raises E0101 before a Trainer has begun."""
        if self._runner is None:
            raise Error("E0101", "no stages have been made yet", hint="they are when the Trainer begins")
        return self._runner

    @property
    def distributed_sampler_kwargs(self) -> dict[str, Any]:
        """Return how rows are divided, which is among replicas: all processes of a pipeline get the same."""
        return {"num_replicas": self._replicas, "rank": self.mesh.coordinate("data")}

    def sizes(self) -> dict[str, int]:
        """Return how many processes are replicas, and how many a pipeline has.  Raises E0101 for processes that do not divide."""
        if self.world_size % self._replicas:
            raise Error("E0101", f"{self.world_size} processes cannot be {self._replicas} pipelines", hint="replicas= divides them")
        return {"data": self._replicas, "pipe": self.world_size // self._replicas}

    def setup(self, trainer: Trainer) -> None:
        """Cut the model into stages, and make optimizers, of whose parameters this process updates those of its stages."""
        module = self.module
        self.compiler.setup(trainer)
        if not module.automatic_optimization:
            raise Error("E0101", "a model that optimizes by itself has no pipeline", hint="automatic_optimization = True")
        self.precision_plugin.convert_module(module)
        broadcast(self.mesh, module)
        self._runner = self._made(module)
        self.model = module
        if trainer.state.fn == TrainerFn.FITTING:
            self.setup_optimizers(trainer)
        self.setup_precision_plugin()
        vars(self.precision_plugin)["clip_grad_by_norm"] = lambda _, norm: self.runner.clip_grad_norm_(float(norm))

    def training_step(self, batch: Any, batch_idx: int = 0, *_: Any) -> torch.Tensor:
        """Run the stages for a batch and return its loss; gradients are set aside, as Lightning forgets what is there next."""
        x, target = _pair(batch)
        parameters = self.runner.parameters()
        before = [parameter.grad for parameter in parameters]
        self.runner.zero_grad()
        loss = self.runner.step(*x, target=target).loss
        self._gradients = [parameter.grad for parameter in parameters]
        for parameter, gradient in zip(parameters, before, strict=True):
            parameter.grad = gradient
        self.module.log("train_loss", loss)
        return loss.requires_grad_()

    def backward(self, closure_loss: torch.Tensor, optimizer: Any, *_: Any, **__: Any) -> torch.Tensor:
        """Add the batch's gradients, of which an update takes the mean over its batches, and return the loss."""
        count = self.module.trainer.accumulate_grad_batches
        for parameter, gradient in zip(self.runner.parameters(), self._gradients, strict=True):
            if gradient is not None:
                share = gradient / count
                parameter.grad = share if parameter.grad is None else parameter.grad.add_(share)
        self._gradients = []
        return closure_loss

    def validation_step(self, *x: Any, **named: Any) -> Any:
        """Run the model's step with the stages of all processes."""
        with self._staged():
            return super().validation_step(*x, **named)

    def test_step(self, *x: Any, **named: Any) -> Any:
        """Run the model's step with the stages of all processes."""
        with self._staged():
            return super().test_step(*x, **named)

    def predict_step(self, *x: Any, **named: Any) -> Any:
        """Run the model's step with the stages of all processes."""
        with self._staged():
            return super().predict_step(*x, **named)

    def lightning_module_state_dict(self) -> dict[str, Any]:
        """Return the whole model, of which each process gives the others its stages; every process calls it."""
        self._share()
        return self.module.state_dict()

    def optimizer_state(self, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
        """Return the state for the parameters of all stages; every process calls it."""
        found = super().optimizer_state(optimizer)
        states: list[Any] = [None] * self.mesh.size("pipe")
        dist.all_gather_object(states, found["state"], self.mesh.pipe_group())
        return {**found, "state": {number: state for part in reversed(states) for number, state in part.items()}}

    def load_optimizer_state_dict(self, checkpoint: Mapping[str, Any]) -> None:
        """Take the state for the parameters of this process's stages."""
        own = {id(parameter) for parameter in self.runner.parameters()}
        for optimizer, state in zip(self.optimizers, checkpoint["optimizer_states"], strict=True):
            parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
            kept = {number: value for number, value in state["state"].items() if id(parameters[number]) in own}
            optimizer.load_state_dict({**state, "state": kept})

    def on_train_end(self) -> None:
        """Leave every process with the whole model, as it is after training."""
        self._share()

    def teardown(self) -> None:
        """Let go of the Trainer."""
        vars(self.precision_plugin).pop("clip_grad_by_norm", None)
        super().teardown()

    def _made(self, module: LightningModule) -> Runner:
        """Return what runs the stages of a model."""
        chain, loss = (self._attribute(module, name) for name in self._names)
        many = self.mesh.size("pipe") * self._chunks
        if callable(self._cut):
            self._parts = tuple(self._cut(many))
        else:
            if not isinstance(chain, nn.Sequential | Part) and self._order is None:
                hint = 'order=["embed", "layers.0:4", "head"]'
                raise Error("E0101", f"the model's {self._names[0]} is no Sequential, whose layers have an order", hint=hint)
            self._parts = partition(linearize(chain, self._order), many, self._cut)
        precision = "bf16-mixed" if str(self.precision_plugin.precision) == "bf16-mixed" else "float32"
        return Runner(mesh=self.mesh, stages=self._parts, loss=loss, precision=precision, target=self.target, **self._options)

    def _attribute(self, module: LightningModule, name: str) -> Any:
        if not hasattr(module, name):
            hint = 'PipelineStrategy("net", "loss") names the layers and the loss'
            raise Error("E0101", f"a {type(module).__name__} has no attribute '{name[:40]}'", hint=hint)
        return getattr(module, name)

    def _share(self) -> None:
        """Give all processes the parameters and buffers of all stages."""
        pipe = self.mesh.ranks("pipe")
        with torch.no_grad():
            for number, part in enumerate(self._parts):
                for tensor in (*part.parameters(), *part.buffers()):
                    dist.broadcast(tensor.detach(), pipe[number % len(pipe)], group=self.mesh.pipe_group())

    @contextmanager
    def _staged(self) -> Generator[None, None, None]:
        """Let a call of the model's chain run the stages of all processes, and no graph of a step take it in."""
        chain = self._attribute(self.module, self._names[0])
        before = vars(chain).get("forward")
        vars(chain)["forward"] = torch.compiler.disable(lambda *x: self.runner.eval(*x, gather="all"), reason="stages lie in processes")
        try:
            yield
        finally:
            vars(chain).pop("forward")
            if before is not None:
                vars(chain)["forward"] = before


def _pair(batch: Any) -> tuple[tuple[Any, ...], Any]:
    """Return the inputs and the targets of a batch.  Raises E0801 for one that is no pair."""
    if not isinstance(batch, tuple | list) or len(batch) != 2:
        raise Error("E0801", "a batch of a pipeline is a pair of inputs and targets", hint="inputs may be a tuple")
    x, target = batch
    return (tuple(x) if isinstance(x, tuple | list) else (x,)), target
