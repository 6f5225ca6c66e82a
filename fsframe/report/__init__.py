"""A run as one HTML page with plots; needs matplotlib (the extra ``report``)."""
