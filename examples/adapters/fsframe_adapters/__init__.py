"""Selectors of other packages as fsframe plugins, one module each."""
