"""Information-theoretic filters: mutual information and the greedy criteria built on it."""
