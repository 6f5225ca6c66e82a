"""Computation of margins: passes over pairs of rows, descents, tuning."""
