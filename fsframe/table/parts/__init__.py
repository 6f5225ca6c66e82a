"""Tables larger than memory: read in blocks of rows, with what is kept beside them."""
