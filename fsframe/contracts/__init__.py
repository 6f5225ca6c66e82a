"""What authors build on: tables, selections, parameters, and a base class for each kind.

Nothing here knows of chains, files, workers or the command line, and nothing imports a plugin.
"""
