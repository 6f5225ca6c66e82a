"""The Relief family: features scored by how near instances of each class differ in them.

What the plugin offers is declared in `entries.toml`.
"""
