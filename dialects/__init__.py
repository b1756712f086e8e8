"""IR: definitions, types, verifiers, text, and the numpy semantics of every op."""

if __name__ != "ttc.dialects":
    raise ImportError("import ttc.dialects")
