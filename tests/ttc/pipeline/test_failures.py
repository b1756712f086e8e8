"""Nothing of a pipeline hangs, and nothing is left of it: full queues, failing stages, killed processes, interrupts, many starts."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from queue import Queue
from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch", reason="stages are modules of PyTorch")

import ttc  # noqa: E402
from tests.ttc.pipeline.networks import ROWS, Whole, check_weights, microbatches, parts  # noqa: E402
from ttc.pipeline.remote import RemoteSession  # noqa: E402

CONCURRENT = ["threads", "processes"]
STARTS = int(os.environ.get("STARTS", "4"))
"""How often processes are started: each takes seconds; `make check-starts` starts them 200 times."""
WAIT = 30.0
"""Seconds for which a thread of a test is awaited that has ended."""


class Fails(torch.nn.Module):
    """A stage that fails on negative inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.last = torch.nn.Linear(6, 4)

    def forward(self, x: Any) -> Any:
        if (x < 0).any():
            raise ValueError("negative")
        return self.last(x)


def children() -> set[str]:
    """Return the processes that this one started; a thread that ends while the list is made has none."""
    found: set[str] = set()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found |= set((task / "children").read_text().split())
    return found


def left() -> tuple[int, set[str], set[str], int]:
    """Threads of stages, processes, shared memory with a name, and open files; names in /dev/shm are those that Python gives."""
    threads = sum(thread.name.startswith("ttc stage") for thread in threading.enumerate())
    shared = {name for name in os.listdir("/dev/shm") if name.startswith(("psm_", "sem."))}
    return threads, children(), shared, len(os.listdir("/proc/self/fd"))


def processes_of(pipeline: Any) -> dict[str, int]:
    """Numbers of processes by stage."""
    sessions = {stage.name: getattr(stage, "session", None) for stage in pipeline._flow.stages}  # noqa: SLF001 - nobody else needs them
    return {name: session.process for name, session in sessions.items() if isinstance(session, RemoteSession)}


@pytest.mark.parametrize("mode", CONCURRENT)
def test_a_thousand_pushes_through_a_full_queue(mode: str, rng: np.random.Generator) -> None:
    stages = parts(2)
    x = rng.standard_normal((1000, ROWS, 6)).astype(np.float32)
    found: list[Any] = []
    with ttc.Pipeline([("host", stages[0]), ("cpu", stages[1])], mode=mode, room=2) as pipeline:
        pipeline.push(x[0])
        pipeline.run_inference(1000)
        drainer = threading.Thread(target=lambda: found.extend(pipeline.outputs.get() for _ in range(1000)))
        drainer.start()
        for one in x[1:]:
            pipeline.push(one)
        drainer.join(WAIT)
        assert not drainer.is_alive()
        pipeline.wait()
    with torch.no_grad():
        wanted = Whole(stages)(torch.from_numpy(x.reshape(-1, 6)))
    np.testing.assert_allclose(np.concatenate(found), wanted, atol=1e-5)


def push_often(pipeline: ttc.Pipeline, x: Any) -> None:
    for _ in range(20):
        pipeline.push(x)


def computed(pipeline: ttc.Pipeline, x: Any) -> object:
    pipeline.push(x)
    pipeline.run_inference()
    return pipeline.outputs.get()


@pytest.mark.parametrize("mode", CONCURRENT)
def test_a_full_queue_that_nobody_drains(mode: str, rng: np.random.Generator) -> None:
    x, _ = microbatches(rng, 1)
    with ttc.Pipeline([("host", parts(1)[0])], mode=mode, room=2, patience=0.3) as pipeline:
        pipeline.push(x[0])
        pipeline.run_inference(0)
        told = r"queue 'inputs' is full with 2.*stage host waits: queue 'outputs' is full with 2"
        with pytest.raises(ttc.Error, match=told) as caught:
            push_often(pipeline, x[0])
        assert caught.value.code == "E0804"
        assert pipeline.outputs.get().shape == (ROWS, 4)
        pipeline.push(x[0])


def test_one_thread_cannot_fill_a_queue_forever(rng: np.random.Generator) -> None:
    x, _ = microbatches(rng, 1)
    small: Any = Queue(2)
    with ttc.Pipeline([("cpu", parts(1)[0])], patience=0.2) as pipeline:
        for _ in range(4):
            pipeline.push(x[0])
        with pytest.raises(ttc.Error, match="queue 'outputs' is full"):
            pipeline.run_inference(4, small)
        assert small.qsize() == 2
        assert pipeline.run_inference(inputs=[x[0]]).get().shape == (ROWS, 4)
        with pytest.raises(ttc.Error, match="queue 'outputs' is empty"):
            pipeline.outputs.get()


@pytest.mark.parametrize("mode", CONCURRENT)
def test_training_that_lacks_targets(mode: str, rng: np.random.Generator) -> None:
    x, t = microbatches(rng, 2)
    with ttc.Pipeline([("host", parts(1)[0])], loss="mse", optimizer="sgd", mode=mode, patience=0.2) as pipeline:
        for one in x:
            pipeline.push(one)
        pipeline.push_target(t[0])
        with pytest.raises(ttc.Error, match="stage host waits: queue 'targets' is empty") as caught:
            pipeline.run_training(microbatches=2)
        assert caught.value.code == "E0804"


@pytest.mark.parametrize("mode", ["sequential", *CONCURRENT])
def test_a_failing_microbatch_changes_nothing(mode: str, rng: np.random.Generator) -> None:
    last, middle = Fails(), torch.nn.Identity()
    x, t = [value.abs() for value in microbatches(rng, 4)[0]], microbatches(rng, 4)[1]
    pairs = [("host", torch.nn.Sequential(torch.nn.Linear(6, 6))), ("cpu", middle), ("cpu", last)]
    with torch.no_grad():
        pairs[0][1][0].weight.copy_(torch.eye(6))  # pyright: ignore[reportIndexIssue]
        pairs[0][1][0].bias.zero_()  # pyright: ignore[reportIndexIssue]
    whole = Whole([module for _, module in pairs])
    with ttc.Pipeline(pairs, loss="mse", optimizer="sgd:lr=0.1", mode=mode) as pipeline:
        for one, target in zip([*x[:3], -x[3]], t, strict=True):
            pipeline.push(one)
            pipeline.push_target(target)
        with pytest.raises(ttc.Error, match="E0813.*ValueError: negative"):
            pipeline.run_training(accumulate=2, microbatches=2)
        check_weights(whole, list(pipeline.parameters().values()))
        assert (len(pipeline.inputs), len(pipeline.targets), len(pipeline.losses)) == (0, 0, 0)
        for one, target in zip(x, t, strict=True):
            pipeline.push(one)
            pipeline.push_target(target)
        pipeline.run_training(accumulate=2, microbatches=2)
        torch.nn.functional.mse_loss(whole(torch.cat(x)), torch.cat(t)).backward()
        torch.optim.SGD(whole.parameters(), 0.1).step()
        check_weights(whole, list(pipeline.parameters().values()))


def test_an_error_of_pytorch_names_the_stage_and_the_module(rng: np.random.Generator) -> None:
    wrong = torch.nn.Sequential(torch.nn.Linear(6, 6), torch.nn.Sequential(torch.nn.Tanh(), torch.nn.Linear(7, 4)))
    with ttc.Pipeline([("host", torch.nn.Linear(6, 6)), ("cpu", wrong)]) as pipeline:
        pipeline.push(microbatches(rng, 1)[0][0])
        with pytest.raises(ttc.Error, match="shapes cannot be multiplied") as caught:
            pipeline.run_inference()
    assert (caught.value.code, caught.value.where) == ("E0813", "stage 'cpu', module '1.1'")
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_an_error_of_pytorch_on_the_way_back_names_the_stage(rng: np.random.Generator) -> None:
    class FailsBack(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            raise ValueError("no way back")

    class Middle(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return FailsBack.apply(x)

    x, t = microbatches(rng, 1)
    with ttc.Pipeline([("cpu", torch.nn.Linear(6, 6)), ("cpu", Middle()), ("cpu", torch.nn.Linear(6, 4))], loss="mse") as pipeline:
        pipeline.push(x[0])
        pipeline.push_target(t[0])
        with pytest.raises(ttc.Error, match="ValueError: no way back") as caught:
            pipeline.run_training()
        assert (caught.value.code, caught.value.where) == ("E0813", "stage 'cpu#2'")


def test_a_failure_in_the_background_is_raised_by_the_next_call(rng: np.random.Generator) -> None:
    x, _ = microbatches(rng, 1)
    with ttc.Pipeline([("cpu", Fails())], mode="threads") as pipeline:
        pipeline.push(x[0].abs())
        pipeline.run_inference(0)
        assert pipeline.outputs.get().shape == (ROWS, 4)
        pipeline.push(-x[0].abs())
        with pytest.raises(ttc.Error, match="E0813.*ValueError: negative"):
            pipeline.outputs.get()
        with pytest.raises(ttc.Error, match="E0813.*ValueError: negative"):
            pipeline.wait()
        assert pipeline.run_inference(inputs=[x[0].abs()]).get().shape == (ROWS, 4)


@pytest.mark.parametrize("killed", [0, 2])
def test_a_process_that_is_killed(killed: int, rng: np.random.Generator) -> None:
    x, t = microbatches(rng, 2)
    before = left()
    names = ["first", "middle", "last"]
    devices = [ttc.Device("host", name="first"), ttc.Device("cpu", name="middle"), ttc.Device("host", name="last")]
    with ttc.Pipeline(list(zip(devices, parts(3), strict=True)), loss="mse", optimizer="sgd", mode="processes") as pipeline:
        for one, target in zip(x, t, strict=True):
            pipeline.push(one)
            pipeline.push_target(target)
        pipeline.compile()
        found = processes_of(pipeline)
        assert found.keys() == {"first", "last"}
        os.kill(found[names[killed]], signal.SIGKILL)
        with pytest.raises(ttc.Error, match=f"stage '{names[killed]}': its process has ended by signal 9") as caught:
            pipeline.run_training(microbatches=2)
        assert caught.value.code == "E0811"
        with pytest.raises(ttc.Error, match="has ended by signal 9"):
            computed(pipeline, x[0])
    assert left()[:3] == before[:3]


def test_a_process_that_is_killed_while_the_caller_waits(rng: np.random.Generator) -> None:
    x, _ = microbatches(rng, 1)
    with ttc.Pipeline([("host", parts(1)[0])], mode="processes", patience=WAIT) as pipeline:
        pipeline.push(x[0])
        pipeline.run_inference(0)
        pipeline.outputs.get()
        threading.Timer(0.1, os.kill, (processes_of(pipeline)["host"], signal.SIGKILL)).start()
        with pytest.raises(ttc.Error) as caught:
            pipeline.outputs.get()
        assert caught.value.code == "E0811"


def test_whoever_waits_hears_of_a_shutdown(rng: np.random.Generator) -> None:
    x, _ = microbatches(rng, 1)
    pipeline = ttc.Pipeline([("cpu", parts(1)[0])], mode="threads", patience=WAIT)
    pipeline.push(x[0])
    pipeline.run_inference(0)
    pipeline.outputs.get()
    threading.Timer(0.1, pipeline.shutdown).start()
    with pytest.raises(ttc.Error) as caught:
        pipeline.outputs.get()
    assert caught.value.code == "E0803"
    for call in (lambda: pipeline.push(x[0]), lambda: pipeline.run_inference(1), pipeline.wait):
        with pytest.raises(ttc.Error) as caught:
            call()
        assert caught.value.code == "E0803"
    pipeline.shutdown()


@pytest.mark.parametrize(("mode", "starts"), [("threads", 200), ("processes", STARTS)])
def test_many_starts_leave_nothing(mode: str, starts: int, tmp_path: Path) -> None:
    x = np.zeros((2, 4), np.float32)
    ttc.compile(torch.nn.ReLU(), (torch.zeros(2, 4),), target="host").save(tmp_path / "relu.tti")

    def start() -> None:
        with ttc.Pipeline([("host", tmp_path / "relu.tti"), ("cpu", torch.nn.Identity())], mode=mode) as pipeline:
            pipeline.push(x)
            pipeline.run_inference(0)
            pipeline.outputs.get()

    start()
    before = left()
    for _ in range(starts):
        start()
    assert left() == before


SCRIPT = """
import os, signal, sys, threading
import numpy as np
import ttc, torch  # noqa: E402

pipeline = ttc.Pipeline([("host", {archive!r})], mode="processes", patience=60)
pipeline.push(np.zeros((2, 4), np.float32))
pipeline.run_inference(0)
pipeline.outputs.get()
print(pipeline._flow.stages[0].session.process, flush=True)
if {interrupted}:
    threading.Timer(0.2, os.kill, (os.getpid(), {interrupted})).start()
    try:
        pipeline.outputs.get()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("number", [0, signal.SIGINT, signal.SIGKILL])
def test_an_interpreter_that_ends_leaves_nothing(number: int, tmp_path: Path) -> None:
    """At its end, after Ctrl-C, and where it is killed itself; no `if __name__ == "__main__"` is needed."""
    archive = tmp_path / "relu.tti"
    ttc.compile(torch.nn.ReLU(), (torch.zeros(2, 4),), target="host").save(archive)
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(archive=str(archive), interrupted=int(number)))
    found = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False)
    lines = found.stdout.split()
    assert found.returncode == (-signal.SIGKILL if number == signal.SIGKILL else 0), found.stderr
    assert lines[1:] == (["interrupted"] if number == signal.SIGINT else [])
    ended = Path(f"/proc/{lines[0]}/stat")
    for _ in range(500):
        if not ended.exists() or ended.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        threading.Event().wait(0.02)
    pytest.fail("the process of the stage is still there")
