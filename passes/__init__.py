"""Passes over the IR, the driver that runs them, and the named stages."""

if __name__ != "ttc.passes":
    raise ImportError("import ttc.passes")
