"""Classifiers for evaluating selections: nearest neighbours."""
