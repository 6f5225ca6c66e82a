"""The Relief family: features scored by how near instances of each class differ in them."""
