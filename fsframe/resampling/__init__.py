"""Run a chain on many resamples of one table: wrapping stages and their tasks."""
