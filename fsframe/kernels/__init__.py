"""Compiled functions, their cache, bits and threads."""
