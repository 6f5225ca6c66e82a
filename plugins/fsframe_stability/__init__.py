"""Stability: similarity of the feature sets, or the rankings, of repeated runs."""
