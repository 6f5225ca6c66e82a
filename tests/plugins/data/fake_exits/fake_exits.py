"""Ends the program at import."""

raise SystemExit(7)
