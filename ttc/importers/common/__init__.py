"""What importers share: the function being built, what is known at import, refusals, inputs with open dimensions."""
