"""Tests of pairs of columns for statistical interaction with the class.

What the plugin offers is declared in `entries.toml`.
"""
