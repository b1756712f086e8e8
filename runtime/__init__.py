"""Archives, execution and cost: everything that runs without xDSL, torch or onnx."""

if __name__ != "ttc.runtime":
    raise ImportError("import ttc.runtime")
