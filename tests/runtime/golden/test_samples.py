"""Netlists of the reference's own tests; see tests/data/README.md."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ttc.dialects.netlist.buda.epochs import epochs_of
from ttc.dialects.netlist.buda.reader import read_netlist
from ttc.dialects.netlist.buda.to_netlist import to_netlist
from ttc.dialects.netlist.model import Netlist
from ttc.runtime.engines.table import engine_named
from ttc.runtime.golden.session import GoldenSession
from ttc.stimulus.config import host_config
from ttc.stimulus.host import host_of
from ttc.stimulus.parameters import parameters

SAMPLES = Path(__file__).parents[2] / "data" / "netlists" / "valid"
MAX_BYTES = 60_000
MAX_WORK = 3 * 10**8
"""What a sample may need at most to be run here: multiplications and elements, of each graph once."""
MAX_COMPARED_WORK = 2 * 10**7
"""Likewise, to be run on both engines."""
NETWORKS = ("bert_tiny_inference_12chip_2enc", "netlist_encoder_x2", "fe_bert_stable_softmax_issue_574")
FILES = [path for path in sorted(SAMPLES.rglob("*.yaml")) if path.stat().st_size < MAX_BYTES or path.stem in NETWORKS]


@cache
def sample(path: Path, engine: str = "reference") -> GoldenSession:
    """The session in which all programs of a sample have run, each once."""
    form = read_netlist(path)
    netlist, config = to_netlist(form), host_config(form.extra)
    session = GoldenSession(netlist, host_of(netlist, config.rules, 0, {}), keep=True, engine=engine_named(engine, 1))
    for program in netlist.programs.values():
        session.run(program.name, parameters(program, netlist, {}, config.arguments))
    return session


def named(stem: str) -> GoldenSession:
    (path,) = SAMPLES.rglob(f"{stem}.yaml")
    return sample(path)


def arrays(session: GoldenSession, *roles: str) -> dict[str, NDArray]:
    return {record.queue.name: record.array() for record in session.records() if record.role in roles}


def work(netlist: Netlist) -> int:
    return sum(epoch.microbatches * epoch.work for epoch in {id(e): e for e in epochs_of(netlist).values()}.values())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_sample_runs(path: Path):
    if work(to_netlist(read_netlist(path))) > MAX_WORK:
        pytest.skip(f"it needs more than {MAX_WORK:,} multiplications, the limit for a sample in this test")
    session = sample(path)
    written = {queue for graph in session.netlist.graphs.values() for _, queue in graph.writes}
    assert written & arrays(session, "output", "ram", "edge").keys()


@pytest.mark.parametrize("path", FILES[::3], ids=lambda path: path.stem)
def test_engines_agree(path: Path):
    if work(to_netlist(read_netlist(path))) > MAX_COMPARED_WORK:
        pytest.skip(f"it needs more than {MAX_COMPARED_WORK:,} multiplications, the limit for a sample that both engines compute here")
    expected, found = (arrays(sample(path, engine), "output", "ram", "edge") for engine in ("reference", "native"))
    assert found.keys() == expected.keys()
    for queue, values in expected.items():
        finite = np.isfinite(values)
        np.testing.assert_array_equal(found[queue][~finite], values[~finite], err_msg=queue)
        distance = np.linalg.norm((found[queue] - values)[finite].astype(np.float64))
        assert distance <= 1e-4 * np.linalg.norm(values[finite].astype(np.float64)), queue


def test_training():
    """Forward, backward and optimizer of two products, with gradients in rams, as numpy does it."""
    session = named("simple_training_netlist")
    given, found = arrays(session, "input"), arrays(session, "output", "ram")
    x1, x2, loss = (given[name][:, 0] for name in ("act1", "act2", "loss_test_module.output_add"))
    w1, w2 = (given[f"test_module.weights{i}"][0, 0] for i in (1, 2))
    rate1, rate2 = (np.tile(given[f"input_opt_test_module.weights{i}_0.lr"][0, 0], (2, 2)) for i in (1, 2))
    m1, m2 = x1 @ w1, x2 @ w2
    np.testing.assert_allclose(found["test_module.output_add"][:, 0], m1 @ m2 + m2, rtol=1e-4, atol=1e-5)
    joined = loss + m1.swapaxes(1, 2) @ loss
    np.testing.assert_allclose(found["output_grad_act2"][:, 0], joined @ w2.T, rtol=1e-4, atol=1e-5)
    gradient1 = (x1.swapaxes(1, 2) @ (loss @ m2.swapaxes(1, 2))).sum(axis=0)
    gradient2 = (x2.swapaxes(1, 2) @ joined).sum(axis=0)
    for name, expected in (
        ("grad_acc_test_module.weights1", gradient1),
        ("grad_acc_test_module.weights2", gradient2),
        ("test_module.weights1", w1 - gradient1 * rate1),
        ("test_module.weights2", w2 - gradient2 * rate2),
    ):
        np.testing.assert_allclose(found[name][0, 0], expected, rtol=1e-4, atol=1e-4, err_msg=name)


def test_a_cache_is_written_and_read_through_views():
    session = named("netlist_dual_view_ram")
    given, found = arrays(session, "input"), arrays(session, "output")
    memory = given["reader"].copy()
    memory[0, 0] = given["q0"][0, 0]
    np.testing.assert_array_equal(found["output"], memory)


def test_a_relay_with_fewer_entries_than_inputs():
    session = named("netlist_relay_queue_multi_input_counts")
    x, y = arrays(session, "input")["q0"], arrays(session, "output")["output"]
    assert len(y) == 8
    np.testing.assert_allclose(y, np.exp(x), rtol=1e-6)


def test_queues_start_again_after_each_round():
    session = named("netlist_module_direct_1x1")
    given, found = arrays(session, "input"), arrays(session, "output")
    first, second = (given[f"act{i}"] @ given[f"direct.weights{i}"][0] for i in (1, 2))
    np.testing.assert_allclose(found["direct.output_add_0"], first + second, atol=2e-3)
    np.testing.assert_allclose(found["direct.output_matmul2"], second, atol=2e-3)
