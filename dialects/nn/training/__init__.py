"""Training as nn functions: losses, optimizers, and what names and settings they have as text."""
