"""How people and programs spell cells, numbers and names of columns in text."""
