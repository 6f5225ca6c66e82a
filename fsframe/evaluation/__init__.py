"""Evaluation: cross-validation with all learning inside the fold, stability, comparison."""
