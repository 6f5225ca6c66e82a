"""Analyses as people see them, whoever asks: a command, a program or a notebook."""
