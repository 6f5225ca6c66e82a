"""The filters and greedy criteria: one module per selector."""
