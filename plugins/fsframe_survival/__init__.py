"""Survival data: Cox's score test of each feature, and the proportional hazards model.

What the plugin offers is declared in `entries.toml`.
"""
