"""ttc: compile PyTorch, ONNX and TensorFlow models for tiled dataflow accelerators and the CPU, and run them."""

from pathlib import Path as _Path

__version__ = "0.1.0"

_root = _Path(__file__).resolve().parent.parent
if (_root / "dialects").is_dir() and (_root / "pyproject.toml").is_file():
    __path__.append(str(_root))  # a checkout: dialects/, passes/, runtime/ lie beside this folder
