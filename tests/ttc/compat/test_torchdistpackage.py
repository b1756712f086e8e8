"""Scripts written for TorchDistPackage run on ttc; names that mean nothing say so."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

from tests.ttc.dist.started import started  # noqa: E402
from ttc import compat  # noqa: E402
from ttc.compat.torchdistpackage import REFUSED, REFUSED_GROUPS  # noqa: E402
from ttc.dialects.core.errors import Error  # noqa: E402

PAGE = Path(__file__).resolve().parents[3] / "docs" / "distributed.md"


@pytest.fixture
def installed() -> Iterator[ModuleType]:
    yield compat.install("torchdistpackage")
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchdistpackage"]:
        del sys.modules[name]


def test_a_pipeline_equals_one_process() -> None:
    status, printed = started("../compat/torchdistpackage_script.py", 2)
    assert status == 0, printed
    assert all(f"process {rank} is equal" in printed for rank in range(2))


def test_imports_of_both_spellings(installed: ModuleType) -> None:
    names: dict[str, object] = {}
    exec(
        "from torchdistpackage import tpc, setup_distributed, is_using_pp\n"
        "from torchdistpackage.parallel import partition_uniform, flatten_model, forward_eval\n"
        "from torchdistpackage.parallel.pipeline_sched import forward_backward as early\n"
        "from torchdistpackage.parallel.pipeline_parallel.pipeline_sched import forward_backward as late\n"
        "from torchdistpackage.parallel.clip_grad_parallel import clip_grad_norm_",
        names,
    )
    assert names["early"] is names["late"]
    assert names["tpc"] is installed.torch_parallel_context
    assert installed.is_using_pp() is False


def test_what_means_nothing_is_refused_and_on_the_page(installed: ModuleType) -> None:
    text = PAGE.read_text()
    for owner, table in ((installed, REFUSED), (installed.tpc, REFUSED_GROUPS)):
        for name, reason in table.items():
            with pytest.raises(Error, match="E0105"):
                getattr(owner, name)
            assert f"`{name}`" in text
            assert reason in text


def test_calls_before_there_are_groups(installed: ModuleType) -> None:
    with pytest.raises(Error, match="setup_process_groups"):
        installed.tpc.is_first_in_pipeline_group()
    with pytest.raises(Error, match="E0105"):
        installed.parallel.forward_backward(None, None, None, None, scatter_gather_tensors=True)
