"""Classifiers to measure selections with: nearest neighbours."""
