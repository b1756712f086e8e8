"""Lowerings: from one node to jobs, by family of ops; see `ttc.runtime.engines.native.jobs.lowering`."""
