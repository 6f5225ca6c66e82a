"""Tables in files: arrays, and delimited text."""
