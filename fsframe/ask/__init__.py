"""Requests and their results: the one way in which commands and programs run a chain on a table."""
