"""Show the versions, folders and limits in use."""

from __future__ import annotations

import os

import click

from fsframe.cli.terminal import json_option, say, say_json

_VARIABLES = (
    "FSFRAME_PLUGINS",
    "FSFRAME_BLOCK",
    "FSFRAME_STRICT",
    "FSFRAME_TRACE",
    "FSFRAME_TABLE_MEMORY",
)


@click.command()
@json_option
def info(as_json: bool) -> None:
    """Show the versions and limits in use.

    \b
    Example:
      fsframe info
    """
    from fsframe.chains.recording import environment
    from fsframe.kernels.threads import available_threads
    from fsframe.method.run import DEFAULT_MEMORY

    facts: dict[str, object] = dict(environment())
    facts["threads"] = available_threads()
    facts["memory bound"] = f"{DEFAULT_MEMORY / 1024**3:g} GiB"
    facts.update({name: os.environ[name] for name in _VARIABLES if name in os.environ})
    if as_json:
        say_json(facts)
        return
    width = max(map(len, facts))
    for name, value in facts.items():
        say(f"{name:<{width}}  {value}")
