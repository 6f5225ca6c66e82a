"""Computation of Relief scores: columns, distances, neighbours, sums over pairs."""
