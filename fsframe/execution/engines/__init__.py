"""The engines: one module each, found by this folder.

A module ``slurm`` makes the engine ``slurm``. Its docstring's first line is what lists say of it,
and it defines the class `ENGINE`, derived from `fsframe.execution.engine.Engine`. It is imported
when the engine is opened. Plugins add engines through ``fsframe_engines``.
"""
