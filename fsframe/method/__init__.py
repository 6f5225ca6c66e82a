"""Interfaces of methods: their arguments and results, and a base class for each kind."""
