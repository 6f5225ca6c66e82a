"""Interfaces of methods: what they are given and return, and a base class for each kind."""
