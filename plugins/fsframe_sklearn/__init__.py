"""Scikit-learn's estimators as stages: selectors, and the classifier at the end of a chain."""
