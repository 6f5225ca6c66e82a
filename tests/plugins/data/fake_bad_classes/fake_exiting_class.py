"""Ends the program when the class is imported."""

raise SystemExit("bye")
