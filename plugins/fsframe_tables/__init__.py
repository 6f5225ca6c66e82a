"""Readers of tables in the formats of other programs, and stages that make tables fit."""
