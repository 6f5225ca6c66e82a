"""Filters of single columns that need no estimator: tests, thresholds, gaps; nearest neighbours.

What the plugin offers is declared in `entries.toml`.
"""
