"""The laws of selectors, a module for each thing that the core promises."""
