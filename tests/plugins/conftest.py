"""The fake distributions are broken on purpose; nothing but a fresh interpreter may import them."""

collect_ignore_glob = ["data/*"]
