"""The table that methods are given: values, label, kinds and roles of columns."""
