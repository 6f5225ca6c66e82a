"""Running a chain on many resamples of one table: wrapping stages and the work they hand out."""
