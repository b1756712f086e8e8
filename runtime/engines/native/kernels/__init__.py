"""Kernels by family; see `ttc.runtime.engines.native.kernels.kernel`."""
