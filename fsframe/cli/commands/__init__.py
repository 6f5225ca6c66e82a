"""The commands: modules by subject, each imported when one of its commands is called.

A command is a click command in a variable of the name that is typed, ``new_plugin`` for
``new-plugin``. Plugins add commands through ``fsframe_commands``.
"""

from __future__ import annotations

_LISTED = {
    "apply": ("tables", "Write a table reduced to the features a run kept."),
    "audit": ("runs", "Recompute stages of a run and compare them with its file."),
    "chain": ("chains", "Run selectors one after the other on a table."),
    "check": ("offers", "Run the conformance tests of something that a plugin offers."),
    "compare": ("comparisons", "Compare how well several chains predict."),
    "evaluate": ("chains", "Estimate how well a chain predicts, and its stability."),
    "info": ("offers", "Show the versions, folders and limits in use."),
    "inspect": ("tables", "Describe a table, and suggest a chain to start with."),
    "methods": ("offers", "List the available methods, or explain one."),
    "new-plugin": ("offers", "Write a plugin of any kind, to start from."),
    "plot": ("results", "Plot one run or several."),
    "plugins": ("offers", "List the plugins, and whether each was loaded."),
    "predict": ("tables", "Predict the rows of a table with a run."),
    "report": ("results", "Write an HTML report on a run, a comparison or a study."),
    "resume": ("runs", "Continue a run that was interrupted."),
    "show": ("results", "Show what a run file holds."),
    "stability": ("chains", "Measure the stability of the features that a chain selects."),
    "study": ("comparisons", "Run a study that a TOML file describes."),
    "table": ("results", "Export the results of a run, by feature or by pair, as a table."),
    "verify": ("runs", "Check the integrity of run files."),
    "warm": ("offers", "Compile the numerical kernels before the first run."),
}
"""Command → the module that defines it, and its line in ``fsframe --help``."""

COMMANDS = {
    name: (f"{__name__}.{module}:{name.replace('-', '_')}", line)
    for name, (module, line) in _LISTED.items()
}
"""Command → its location as ``module:attribute``, and the same line."""
