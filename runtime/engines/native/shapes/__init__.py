"""Shape rules of tile ops as plain functions, by family; see `ttc.runtime.engines.native.prepare.shape_rules`."""
