"""Scikit-learn's estimators as stages: selectors, and the classifier at the end of a chain.

What the plugin offers is declared in `entries.toml`.
"""
