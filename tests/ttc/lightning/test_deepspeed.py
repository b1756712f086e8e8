"""Configurations of DeepSpeed's are read; keys that mean nothing are all named, and what is not supported says why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ttc.dialects.core.errors import Error, TtcWarning
from ttc.lightning.deepspeed import EFFECTLESS, READ, read_config

SEED: dict[str, Any] = {
    "train_batch_size": 8,
    "bf16": {"enabled": True},
    "fp16": {"enabled": False},
    "train_micro_batch_size_per_gpu": 2,
    "scheduler": {
        "type": "WarmupDecayLR",
        "params": {
            "warmup_min_lr": 0.02,
            "warmup_max_lr": 0.05,
            "warmup_num_steps": 4,
            "total_num_steps": 8,
            "warmup_type": "linear",
        },
    },
    "zero_allow_untested_optimizer": True,
    "zero_optimization": {"stage": 2},
}


def test_a_config_says_what_it_asks_for() -> None:
    with pytest.warns(TtcWarning, match="zero_allow_untested_optimizer has no effect"):
        found = read_config(SEED)
    assert (found.stage, found.offload, found.is_bfloat16, found.train_rows, found.rows, found.accumulated) == (2, None, True, 8, 2, None)
    assert found.scheduler is not None
    assert found.scheduler[0] == "WarmupDecayLR"


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "nvme", "nvme_path": str(tmp_path)}}}))
    found = read_config(path)
    assert (found.stage, found.offload) == (3, tmp_path)


@pytest.mark.parametrize("text", ["[]", "{", '{"bf16": {}, "bf16": {}}', '{"gradient_clipping": NaN}', "[" * 100_000, "\xff"])
def test_a_file_that_is_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(Error) as caught:
        read_config(path)
    assert caught.value.code == "E0101"


def test_unknown_keys_are_all_named() -> None:
    with pytest.raises(Error, match=r"optimizer\.name, train_batch, zero_optimization\.offload_optimizer\.disk, zero_optimization\.stages"):
        read_config({
            "train_batch": 8,
            "zero_optimization": {"stages": 1, "offload_optimizer": {"disk": 1}},
            "optimizer": {"type": "Adam", "name": "x"},
        })  # fmt: skip


@pytest.mark.parametrize(
    ("config", "code"),
    [
        ({"zero_optimization": {"stage": "two"}}, "E0101"),
        ({"zero_optimization": 2}, "E0101"),
        ({"optimizer": {"type": "LAMB"}}, "E0101"),
        ({"scheduler": {"type": "OneCycle"}}, "E0101"),
        ({"gradient_clipping": -1}, "E0101"),
        ({"zero_optimization": {"offload_optimizer": {"device": "moon"}}}, "E0101"),
        ({"zero_optimization": {"offload_optimizer": {"device": "nvme"}}}, "E0101"),
        ({"zero_optimization": {"offload_param": {"device": "nvme", "nvme_path": "/tmp"}}}, "E0105"),
        ({"fp16": {"enabled": True}}, "E0105"),
        ({"activation_checkpointing": {"partition_activations": True}}, "E0105"),
    ],
)
def test_what_a_config_cannot_ask_for(config: dict[str, Any], code: str) -> None:
    with pytest.raises(Error) as caught:
        read_config(config)
    assert caught.value.code == code


def test_a_key_is_read_or_has_no_effect() -> None:
    for table, keys in EFFECTLESS.items():
        assert not keys.keys() & set(READ[table])
