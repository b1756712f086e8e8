"""Programs of PyTorch's modules that a copy of the process exports and compiles.

The process of the tests makes no copies, so that each test has processes of its own: copies of one that has loaded PyTorch already.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

HEAD = """
import json, os, sys
import torch
import ttc
from ttc.runtime.forked import can_fork

def same(module, *inputs, **options):
    "Compile, run, and compare with PyTorch; gives what was counted."
    assert can_fork()
    with ttc.metrics.scope("here") as counted:
        program = ttc.compile(module.eval(), inputs, target="host", **options)
    with ttc.Executor(program) as executor:
        (found,) = executor.run({name: x.numpy() for name, x in zip(("x", "count"), inputs)}).values()
    torch.testing.assert_close(torch.from_numpy(found), module(*inputs).detach(), rtol=1e-5, atol=1e-6)
    return {name: counted.value(name) for name in ("compilations", "compile_cache_hits", "compile_cache_misses")}

def updates(net, x, seed=0):
    "The losses of three updates, and what was counted."
    torch.manual_seed(seed)
    assert can_fork()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    with ttc.metrics.scope("here") as counted, ttc.training(net, loss="mse", optimizer=optimizer, target="host") as executor:
        losses = [float(executor(x, torch.zeros(4, 8))[1]) for _ in range(3)]
    return losses, {name: counted.value(name) for name in ("kernels_compiled", "kernel_cache_misses")}

LOWERING = ("ttc.runtime.engines.native.prepare.build",)

def loaded(*names):
    "Which of these modules the process has."
    return [name for name in names if name in sys.modules]

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 6)
        self.second.weight = torch.nn.Parameter(self.first.weight.detach().T.contiguous())
        self.third = torch.nn.Linear(6, 8)
        self.third.weight = self.first.weight

    def forward(self, x):
        return self.third(self.second(torch.relu(self.norm(self.first(x))))) * torch.tensor([1.0, 2, 3, 4, 5, 6, 7, 8])

torch.manual_seed(0)
"""


SERVE = """
import torch._dynamo, torch._export.passes, torch.export, torch.fx.experimental.symbolic_shapes  # seconds, otherwise of each program

for line in sys.stdin:
    request = json.loads(line)
    child = os.fork()
    if child == 0:
        for number, path in enumerate((os.devnull, *request["printed"])):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), number)
        os.environ.update(request["environment"])
        sys.argv[1:] = request["arguments"]
        exec(request["code"])
        sys.exit()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
Said = Callable[..., Any]


@pytest.fixture(scope="module")
def server() -> Iterator[subprocess.Popen[str]]:
    """A process that has loaded PyTorch and ttc, and does nothing but start copies of itself, each of which runs a program."""
    command = [sys.executable, "-c", HEAD + SERVE]
    environment = {"PATH": "/usr/bin:/bin", "OMP_WAIT_POLICY": "passive"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as process:
        yield process
        process.kill()


@pytest.fixture
def said(server: subprocess.Popen[str], tmp_path: Path) -> Said:
    """Runs code in a process with a cache in a folder, or that of the test; gives the line that it prints as JSON."""

    def said(code: str, *arguments: Path, folder: Path = tmp_path) -> Any:
        folder.mkdir(exist_ok=True)
        printed = [folder / name for name in ("printed", "errors")]
        for path in printed:
            path.write_text("")
        request = {
            "code": textwrap.dedent(code),
            "arguments": [str(argument) for argument in arguments],
            "environment": {"TTC_CACHE_DIR": str(folder / "cache"), "HOME": str(folder)},
            "printed": [str(path) for path in printed],
        }
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        assert server.stdout.readline() == "0\n", printed[1].read_text()
        return json.loads(printed[0].read_text())

    return said


def test_the_process_loads_no_compiler(said: Said) -> None:
    code = """
    x = torch.randn(4, 6)
    print(json.dumps([same(Net(), x), loaded("xdsl.ir", "ttc.importers.torch.exporting", *LOWERING)]))
    """
    assert said(code) == [{"compilations": 1, "compile_cache_hits": 0, "compile_cache_misses": 1}, []]
    assert said(code) == [{"compilations": 0, "compile_cache_hits": 1, "compile_cache_misses": 0}, []]


def test_training_goes_on_in_the_tensors_of_the_module(said: Said) -> None:
    code = """
    losses = []
    for engine in ("ours", "eager"):
        torch.manual_seed(0)
        net, x = Net(), torch.randn(4, 6)
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.05)
        target = torch.zeros(4, 8)
        if engine == "ours":
            assert can_fork()
            with ttc.training(net, loss="mse", optimizer=optimizer, target="host") as executor:
                losses.append([float(executor(x, target)[1]) for _ in range(3)])
            continue
        losses.append([])
        for _ in range(3):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(net(x), target)
            loss.backward()
            optimizer.step()
            losses[-1].append(float(loss))
    print(json.dumps([*losses, loaded("xdsl.ir", "ttc.importers.torch.exporting")]))
    """
    ours, eager, modules = said(code)
    assert ours == pytest.approx(eager, rel=1e-4)
    assert ours[0] > ours[2]
    assert modules == []


def test_the_process_lowers_and_compiles_no_kernels(said: Said) -> None:
    code = """
    print(json.dumps([*updates(Net(), torch.randn(4, 6)), loaded(*LOWERING)]))
    """
    cold, counted, modules = said(code)
    assert counted["kernels_compiled"] == counted["kernel_cache_misses"] > 0
    assert modules == []
    warm, counted, modules = said(code)
    assert warm == cold
    assert set(counted.values()) == {0}
    assert modules == []


def test_a_plan_of_which_a_part_runs_in_python_is_made_here(said: Said) -> None:
    code = """
    net = torch.nn.Sequential(Net(), torch.nn.Dropout(0.5))
    print(json.dumps([*updates(net, torch.randn(4, 6)), loaded(*LOWERING)]))
    """
    cold, _, modules = said(code)
    assert modules == ["ttc.runtime.engines.native.prepare.build"]
    assert said(code)[0] == cold
    assert cold[0] > 0


def test_a_plan_whose_copy_fails_is_made_here(said: Said, tmp_path: Path) -> None:
    code = """
    from ttc.runtime.engines.native.engine import NativeEngine

    def ends(*_):
        os._exit(9)

    NativeEngine._keep = ends
    print(json.dumps([*updates(Net(), torch.randn(4, 6)), loaded(*LOWERING)]))
    """
    here, counted, modules = said(code, folder=tmp_path / "here")
    assert counted["kernels_compiled"] > 0
    assert modules == ["ttc.runtime.engines.native.prepare.build"]
    assert said(code.replace("NativeEngine._keep", "NativeEngine.other"), folder=tmp_path / "copy")[0] == here


def test_what_cannot_be_compiled_ahead_is_no_error_yet(said: Said) -> None:
    code = """
    from ttc.runtime.engines.native.engine import NativeEngine

    def fails(self):
        raise ttc.Error("E0104", "no memory for code")

    NativeEngine.prepare_cache = fails
    print(json.dumps(same(Net(), torch.randn(4, 6))["compilations"]))
    """
    assert said(code) == 1


def test_a_program_that_cannot_be_kept_is_compiled_here(said: Said, tmp_path: Path) -> None:
    """The copy finds that out by compiling it, and those of later processes know."""
    code = """
    from ttc.compiler import driver, kept
    kept.KeptCompilation._packed = lambda *_: None
    compile_source = driver.compile_source

    def noted(*arguments):
        print("compiled", file=open(sys.argv[1], "a"))
        return compile_source(*arguments)

    driver.compile_source = noted

    class Plain(torch.nn.Module):
        def forward(self, x):
            return torch.relu(x)

    print(json.dumps(same(Plain(), torch.randn(4, 4))["compilations"]))
    """
    for compiled in (2, 3):
        assert said(code, tmp_path / "compiled") == 1
        assert len((tmp_path / "compiled").read_text().splitlines()) == compiled


def test_a_program_of_values_of_its_input_is_compiled_here(said: Said) -> None:
    code = """
    class Sized(torch.nn.Module):
        def forward(self, x, count):
            return x.expand(count.item(), 6) + 1

    print(json.dumps(same(Sized(), torch.zeros(1, 6), torch.tensor(3))["compilations"]))
    """
    assert said(code) == 1


def test_an_error_is_that_of_this_process(said: Said) -> None:
    code = """
    class Bad(torch.nn.Module):
        def forward(self, x):
            return torch.linalg.eigvals(x)

    try:
        ttc.compile(Bad(), (torch.zeros(3, 3),), target="host")
    except ttc.Error as error:
        print(json.dumps([error.code, type(error).__name__]))
    """
    assert said(code) == ["E0202", "UnsupportedOps"]


def test_constants_of_the_program_come_with_the_answer(said: Said) -> None:
    """Tensors that are no parameters or buffers, as long as they are small; with large ones the process compiles by itself."""
    code = """
    class Held(torch.nn.Module):
        def __init__(self, count):
            super().__init__()
            self.held = torch.randn(count)

        def forward(self, x):
            return x * self.held

    found = [(same(Held(count), torch.randn(count)), bool(loaded("ttc.importers.torch.exporting"))) for count in (10, 300_000)]
    print(json.dumps([[counts["compilations"], there] for counts, there in found]))
    """
    assert said(code) == [[1, False], [1, True]]
