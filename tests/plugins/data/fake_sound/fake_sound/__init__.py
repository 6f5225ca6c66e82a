"""A plugin without a fault."""
