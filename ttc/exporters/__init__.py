"""Ways out of ttc: a package a foreign format."""
