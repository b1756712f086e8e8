"""Instruments: everything that watches the pipeline."""
