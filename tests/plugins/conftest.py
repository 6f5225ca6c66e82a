"""The fake distributions are broken on purpose; only commands may import them."""

collect_ignore_glob = ["data/*"]
