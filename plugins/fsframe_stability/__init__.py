"""How alike the feature sets, or the rankings, of repeated runs are."""
