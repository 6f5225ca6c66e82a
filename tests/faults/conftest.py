"""What is run by processes of its own is not for pytest to import."""

collect_ignore = ["disk.py", "harness.py", "tiny_plugin"]
