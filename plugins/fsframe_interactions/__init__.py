"""Tests of pairs of columns for statistical interaction with the class."""
