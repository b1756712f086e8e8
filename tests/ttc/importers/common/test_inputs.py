import numpy as np
import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.spec import Spec
from ttc.importers.common.inputs import OpenInput, input_specs

F32 = np.dtype(np.float32)
INPUTS = [OpenInput("x", ("n", 3, "h"), F32), OpenInput("mask", ("n", "n"), np.dtype(bool)), OpenInput("k", (), F32)]


def test_shapes_by_name_and_the_batch_wherever_it_is_named():
    specs = input_specs(INPUTS, {"x": (4, 3, 9)}, 4)
    assert specs == {"x": Spec((4, 3, 9), F32), "mask": Spec((4, 4), np.dtype(bool)), "k": Spec((), F32)}


@pytest.mark.parametrize(
    ("shapes", "batch", "code", "words"),
    [
        ({}, None, "E0205", "--shape x=1x3x1"),
        ({}, 2, "E0205", "--shape x=2x3x1"),
        ({"x": (4, 2, 9)}, 4, "E0206", "[n, 3, h]"),
        ({"x": (4, 3)}, 4, "E0206", "does not fit"),
        ({"y": (4,)}, 4, "E0206", "no input 'y'"),
        ({}, 0, "E0206", "batch of 0"),
    ],
)
def test_what_does_not_fit_is_named(shapes, batch, code, words):
    with pytest.raises(Error) as error:
        input_specs(INPUTS, shapes, batch)
    assert error.value.code == code
    assert words in str(error.value) + (error.value.hint or "")
