"""Evaluation: cross-validation with all learning inside the fold, stability, comparison.

The core is a plugin of its own: `entries.toml` declares protocols, measures, a log of runs and
sections of the report.
"""
