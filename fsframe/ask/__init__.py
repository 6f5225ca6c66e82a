"""Requests and their results: one way for commands and for programs to run a chain on a table."""
