"""The bench of training: what it computes from times and losses, and its networks."""

from __future__ import annotations

import argparse
import math

import pytest

pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")


from bench_training import NETWORKS, Steps, document, parser, report, rounds, wrong

WAY = "torch.compile"


def steps() -> Steps:
    return Steps(
        "mlp",
        "float32",
        {"eager": [0.004, 0.002, 0.003], "inductor": [0.005, 0.006, 0.007], WAY: [0.006, 0.006, 0.001]},
        {"eager": 0.002, "inductor": 0.004, WAY: 0.001},
        {"eager": [2.0, 1.0, 0.5], "inductor": [2.0, 1.0, 0.5], WAY: [2.0, 1.00002, 0.49]},
    )


def test_ratios_are_to_the_faster_peer() -> None:
    found = steps()
    assert found.ratio(WAY) == pytest.approx(2.0)
    assert found.ratio(WAY, fastest=True) == pytest.approx(0.5)
    del found.seconds["eager"]
    assert found.ratio(WAY) == pytest.approx(1.0)
    assert Steps("mlp", seconds={WAY: [0.1]}).ratio(WAY) is None


def test_differences_of_losses() -> None:
    found = steps()
    assert found.difference("inductor") == 0
    assert found.difference(WAY) == pytest.approx(0.01)
    found.losses[WAY] = [2.0, 1.0]
    assert found.difference(WAY) == math.inf


def test_losses_that_differ_and_failures_are_wrong() -> None:
    failed = Steps("tiny", failed={WAY: "no", "inductor": "no compiler"})
    assert wrong([steps(), failed], WAY) == ["tiny: torch.compile failed", "mlp: losses of torch.compile differ"]
    nan = Steps("tiny", losses={"eager": [1.0], WAY: [math.nan]})
    assert wrong([nan], WAY) == ["tiny: losses of torch.compile differ"]


def test_tables_flag_what_is_over_its_bar() -> None:
    one = steps()
    one.peak, one.first = {"eager": 2_000_000, WAY: 1_500_000}, {WAY: 0.25}
    lines = report([one, Steps("tiny", failed={WAY: "no"})], WAY, ("eager", "inductor")).splitlines()
    assert lines[1].split() == ["mlp", "3", "6", "6", "2.000!", "1.0", "1.0e-02"]
    assert lines[2].split() == ["tiny", "-", "-", "-", "-", "0.45", "inf"]
    assert lines[4].split() == ["mlp", "2", "-", "1.5"]
    assert lines[6].split() == ["mlp", "-", "-", "0.25"]
    assert lines[7] == "tiny: torch.compile failed: no"
    (row,) = document([one], WAY, {"cores": 2})["networks"]
    assert (row["ratio"], row["bar"], row["difference"]["inductor"]) == (pytest.approx(2.0), 1.0, 0)


def test_mean_and_worst_of_several_networks() -> None:
    other = Steps("vit", "bfloat16", {"eager": [0.002], WAY: [0.001]})
    assert other.bar == 1.05
    assert "geometric mean 1.000 (bar 0.85), worst 2.000" in report([steps(), other], WAY)


def test_rounds() -> None:
    assert rounds("9") == 9
    with pytest.raises(argparse.ArgumentTypeError):
        rounds("8")
    assert parser().parse_args(["--networks", "mlp,vit"]).networks == ("mlp", "vit")


@pytest.mark.parametrize(("way", "network"), [("eager", "mlp"), ("eager", "cnn"), ("step", "tiny"), ("torch.compile", "tiny")])
def test_each_way_learns(way: str, network: str) -> None:
    import torch

    from training_worker import Training

    threads = torch.get_num_threads()
    try:
        training = Training(way, network, 1)
        losses = training.losses
    finally:
        torch.set_num_threads(threads)
    assert losses == sorted(losses, reverse=True)
    assert losses[0] == pytest.approx(math.log(10), rel=0.2)
    assert training.first_seconds > 0
    assert training.peak_bytes >= 0


def test_jax_trains_as_eager_does() -> None:
    pytest.importorskip("jax", reason="JAX, of the extra `peers`, is not installed")
    from training_worker import Training

    for network in ("tiny", "segmentation"):
        eager, jax = (Training(way, network, 1).losses for way in ("eager", "jax"))
        assert jax == pytest.approx(eager, rel=1e-4)


def test_networks_are_those_of_the_command() -> None:
    import training_networks

    assert tuple(training_networks.NETWORKS) == ("mlp", "tiny", *NETWORKS[2:])
