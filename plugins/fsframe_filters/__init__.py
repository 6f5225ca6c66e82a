"""Filters of single columns that need no estimator: tests, thresholds, gaps; nearest neighbours."""
