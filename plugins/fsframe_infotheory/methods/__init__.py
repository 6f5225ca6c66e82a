"""The filters and greedy criteria."""
