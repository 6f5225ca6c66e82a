"""A run as one HTML page with plots."""
