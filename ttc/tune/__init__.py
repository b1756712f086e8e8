"""Search for the cheapest precision that keeps a bound on the error."""
