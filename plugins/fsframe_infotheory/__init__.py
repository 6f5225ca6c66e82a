"""Information-theoretic filters: mutual information and the greedy criteria built on it.

What the plugin offers is declared in `entries.toml`.
"""
