"""Small programs built by hand, as tests of the runtime have them."""

from tests.runtime.conftest import affine, counter

__all__ = ["affine", "counter"]
