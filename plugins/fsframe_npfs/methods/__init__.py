"""NPFS and ensembles: the selectors, and how they report."""
