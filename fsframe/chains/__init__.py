"""Chains: stages run from left to right, recorded, and applied to new rows."""
