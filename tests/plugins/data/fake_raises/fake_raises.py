"""Fails at import with a message of two lines that would clear the terminal."""

raise ValueError("first line\nsecond line \x1b[2J")
