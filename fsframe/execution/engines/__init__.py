"""The engines, imported when opened; `fsframe.execution.engine.ENGINES` lists them.

Plugins add engines through ``fsframe_engines``.
"""
