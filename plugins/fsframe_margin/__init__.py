"""Margin-based methods: IMMIGRATE, IM4E, BIM, Simba, G-flip, I-RELIEF, LFE, LOGO, SimbaMBIW.

What the plugin offers is declared in `entries.toml`.
"""
