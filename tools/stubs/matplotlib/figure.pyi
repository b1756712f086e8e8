"""What a picture of losses takes of matplotlib.figure."""

from typing import Any

class Figure:
    def __init__(self, *, figsize: tuple[float, float], dpi: int, layout: str) -> None: ...
    def add_subplot(self, **settings: Any) -> Any: ...
