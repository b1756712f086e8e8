"""Buda netlists: the YAML format of the reference compiler, its rules, and its way into and out of the dialect."""
