"""Readers of tables in the formats of other programs."""
