"""Steps of a native plan that run in Python."""

from __future__ import annotations

import numpy as np

from tests.runtime.engines.native.programs import Step, executors, tensor
from ttc.dialects.core.formats.text import STRING


def test_labels_of_text_stay_as_they_are():
    """The table is read once; what a caller does to its results changes no later run's."""
    words = ("red", "green", "blue")
    steps = [
        Step("labels", "ttc.constant", (), tensor(3, format="String"), {"values": words}),
        Step("place", "nn.argmax", ("x",), tensor(2, format="Int64"), {"axis": 1, "keepdims": False, "select_last": False}),
        Step("y", "nn.gather", ("labels", "place"), tensor(2, format="String"), {"axis": 0}),
    ]
    own, _ = executors({"x": tensor(2, 3)}, {}, steps, {"y.out": "y", "all": "labels"})
    x = np.array([[0, 1, 0], [0, 0, 1]], np.float32)
    for _ in range(2):
        found = own.run({"x": x})
        assert found["y.out"].tolist() == ["green", "blue"]
        assert found["all"].tolist() == list(words)
        assert found["all"].dtype == STRING
        found["all"][:] = found["y.out"][:] = "gone"
