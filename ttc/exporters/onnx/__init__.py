"""From a program at stage nn to an ONNX model."""
