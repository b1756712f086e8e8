import numpy as np
import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.spec import Spec
from ttc.importers.common.inputs import input_specs
from ttc.importers.common.open_input import OpenInput

F32 = np.dtype(np.float32)
INPUTS = [OpenInput("x", ("n", 3, "h"), F32), OpenInput("mask", ("n", "n"), np.dtype(bool)), OpenInput("k", (), F32)]


def test_shapes_by_name_and_the_batch_wherever_it_is_named():
    specs = input_specs(INPUTS, {"x": (4, 3, 9)}, 4)
    assert specs == {"x": Spec((4, 3, 9), F32), "mask": Spec((4, 4), np.dtype(bool)), "k": Spec((), F32)}


@pytest.mark.parametrize(
    ("shapes", "batch", "code", "words"),
    [
        ({}, None, "E0205", "--shape x=1x3x128 --shape mask=1x1"),
        ({}, 2, "E0205", "fix them: --shape x=2x3x128"),
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


def test_a_batch_needs_a_leading_dimension_that_is_open():
    fixed = [OpenInput("x", (1, 3), F32), OpenInput("k", (), F32)]
    assert input_specs(fixed, {}, 1)["x"] == Spec((1, 3), F32)
    with pytest.raises(Error) as error:
        input_specs(fixed, {}, 8)
    assert (error.value.code, "the leading dimension of 'x' is fixed at 1" in error.value.message) == ("E0206", True)
    assert input_specs([*fixed, OpenInput("y", ("n",), F32)], {}, 8)["y"] == Spec((8,), F32), "others may have tables"
