"""Stability: similarity of the feature sets, or the rankings, of repeated runs.

What the plugin offers is declared in `entries.toml`.
"""
