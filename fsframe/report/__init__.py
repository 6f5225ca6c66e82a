"""A run as one page with pictures; needs matplotlib (the extra ``report``)."""
