"""Computation of information terms: bins, codes, joint counts, greedy selection."""
