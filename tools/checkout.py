"""Import this first to find the packages of this checkout where ttc is not installed."""

import sys
from importlib.util import find_spec
from pathlib import Path

if find_spec("ttc") is None:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
