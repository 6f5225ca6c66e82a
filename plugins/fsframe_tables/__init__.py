"""Readers and writers of table formats.

What the plugin offers is declared in `entries.toml`.
"""
