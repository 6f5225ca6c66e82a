"""Analyses for the command line, programs and notebooks: run them and display their results."""
