"""List the plugins, and whether each was loaded."""

from __future__ import annotations

from collections import Counter

import click

from fsframe.cli.terminal import json_option, say, say_block, say_json, say_lines
from fsframe.registry import default_manager
from fsframe.registry.entries import Entry
from fsframe.text import table_lines


def _number_of(entries: tuple[Entry, ...]) -> str:
    """Such as ``3 methods, 1 command``."""
    kinds = Counter(e.kind if e.kind in ("reader", "command") else "method" for e in entries)
    return ", ".join(f"{n} {kind}" + ("s" if n != 1 else "") for kind, n in kinds.items())


@click.command()
@json_option
@click.option("--traceback", is_flag=True, help="Print the traceback of plugins that failed.")
def plugins(as_json: bool, traceback: bool) -> None:
    """List the plugins, and whether each was loaded.

    FSFRAME_PLUGINS=a,b loads only these, FSFRAME_BLOCK=a,b all but these; FSFRAME_STRICT=1 stops at
    the first that fails; FSFRAME_TRACE=1 reports each step; FSFRAME_IMPORT_TIMEOUT=60 allows 60 s
    per import instead of 30. Use DISTRIBUTION/NAME for a method whose name a bundled method or
    another plugin also has; FSFRAME_PREFER=DISTRIBUTION/NAME,… chooses between plugins.

    \b
    Example:
      fsframe plugins
    """
    found = default_manager().plugins()
    for remark in default_manager().remarks():
        say(f"note: {remark}", err=True)
    if as_json:
        rows = [
            {
                "name": plugin.name,
                "provider": plugin.provider,
                "distribution": plugin.source.distribution,
                "version": plugin.source.version,
                "target": plugin.source.target,
                "status": plugin.status,
                "reason": plugin.reason,
                "notes": list(plugin.notes),
                "entries": [entry.name for entry in plugin.entries],
            }
            for plugin in found
        ]
        say_json({"plugins": rows})
        return
    table = [
        [
            plugin.name,
            f"{plugin.source.distribution} {plugin.source.version}",
            plugin.status,
            "; ".join([plugin.reason or _number_of(plugin.entries), *plugin.notes]),
        ]
        for plugin in found
    ]
    say_lines(table_lines(["plugin", "distribution", "status", ""], table))
    for plugin in found:
        if traceback and plugin.detail:
            say()
            say(f"{plugin.name}:")
            say_block(f"  {plugin.detail.rstrip()}", indent="  ")
