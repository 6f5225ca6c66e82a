"""Tests and aggregates over resamples of another selector: NPFS and ensembles.

What the plugin offers is declared in `entries.toml`.
"""
