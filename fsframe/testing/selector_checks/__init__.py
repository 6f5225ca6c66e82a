"""The checks of selectors, a module for each promise of the core."""
