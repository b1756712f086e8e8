"""Activations by name, and what is done to a result at the end."""

from __future__ import annotations

import numpy as np
import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.kernels.epilogue import activation_attrs, finish


def test_arguments_take_the_names_of_the_kernel_in_order() -> None:
    assert activation_attrs("relu") == {}
    assert activation_attrs("gelu") == {}
    assert activation_attrs("hard_sigmoid", (0.2, 0.5)) == {"alpha": 0.2, "beta": 0.5}
    assert activation_attrs("clip", (-1.0,)) == {"min": -1.0}


@pytest.mark.parametrize(
    ("activation", "args"),
    [
        ("relu", (1.0,)),
        ("elu", ()),
        ("clip", (0.0, 1.0, 2.0)),
        ("cast", ()),
        ("is_nan", ()),
        ("not", ()),
        ("add", ()),
        ("shape", ()),
        ("reduce_sum", ()),
        ("", ()),
        ("_padded", ()),
    ],
)
def test_what_is_not_an_activation(activation: str, args: tuple[float, ...]) -> None:
    with pytest.raises(Error) as caught:
        activation_attrs(activation, args)
    assert caught.value.code == "E0402"


def test_a_misspelt_activation_gets_a_hint() -> None:
    with pytest.raises(Error) as caught:
        activation_attrs("leaky_rleu", (0.1,))
    assert caught.value.hint == "did you mean 'leaky_relu'?"


def test_finish_adds_bias_before_the_activation() -> None:
    y = np.array([[-3.0, 1.0]], np.float32)
    assert finish(y, np.array([1.0, 2.0], np.float32), "leaky_relu", (0.5,)).tolist() == [[-1.0, 3.0]]
