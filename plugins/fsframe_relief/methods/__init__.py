"""The methods of the Relief family: one module per selector."""
