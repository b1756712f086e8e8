"""From a program at stage nn to StableHLO text."""
