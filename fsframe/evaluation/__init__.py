"""Honest answers: cross-validation with everything that learns inside the fold, and comparison."""
