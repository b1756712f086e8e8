"""Shape rules of the nn ops that dialect tile shares, as plain functions of shapes: `infer` of either dialect asks them.

A size of -1 depends on data.
"""
