"""Passes of stage nn: from what an importer mapped to the smallest equivalent expression in nn ops, constants evaluated, channels last.

Each module holds one pass whose name is the module's in kebab case; `match` holds what several of them look for.
"""
