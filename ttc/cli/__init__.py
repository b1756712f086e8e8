"""The command line: `main`, and one command a file."""

from ttc.cli.app import main

__all__ = ["main"]
