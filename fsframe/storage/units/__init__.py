"""Checkpoints: finished units of a run, kept beside the run file so that the run can be resumed.

See docs/resume.md.
"""
