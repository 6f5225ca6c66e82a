"""The interfaces for authors: tables, selections, parameters, and a base class for each kind.

Nothing here depends on chains, files, workers or the command line, and nothing imports a plugin.
"""
