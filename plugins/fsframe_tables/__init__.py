"""Readers and writers of table formats, and the stage `impute`."""
