"""Offers nothing."""
