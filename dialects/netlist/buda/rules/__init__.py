"""The rules of Buda netlists, a file for each family; `check` runs them."""
