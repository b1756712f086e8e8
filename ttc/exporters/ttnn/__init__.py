"""From a program at stage nn to readable Python for TT-NN."""
