"""What a picture of losses takes of matplotlib.backends.backend_agg."""

from typing import IO, Any

from matplotlib.figure import Figure

class FigureCanvasAgg:
    def __init__(self, figure: Figure) -> None: ...
    def print_png(self, filename: IO[bytes], *, metadata: dict[str, Any]) -> None: ...
