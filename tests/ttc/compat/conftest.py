from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from ttc.compat import install


@pytest.fixture
def poptorch() -> Iterator[Any]:
    yield install("poptorch")
    for name in ("poptorch", "poptorch.optim"):
        sys.modules.pop(name, None)


@pytest.fixture
def pybuda() -> Iterator[Any]:
    module = install("pybuda")
    yield module
    module.shutdown()
    sys.modules["ttc.compat.pybuda_config"].CONFIG.clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "pybuda"]:
        del sys.modules[name]
