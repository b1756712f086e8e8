"""The loop-nest builder that kernels are written with."""
