"""Tests and aggregates over resamples of another selector: NPFS and ensembles."""
