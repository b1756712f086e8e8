"""Compiled netlists as Buda netlists: `export` gives the form, and what the host has to put into its queues."""
