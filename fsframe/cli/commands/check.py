"""Run the conformance tests of a method."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click

from fsframe.cli.method_names import MethodName
from fsframe.cli.saying import say, say_block, say_json
from fsframe.errors import PluginError

__all__ = ["check"]

_MARKS = {"passed": "ok", "failed": "FAILED", "excepted": "excepted", "not applicable": "—"}


@click.command()
@click.argument("name", type=MethodName())
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("-q", "--quiet", is_flag=True, help="Print only failures and the totals.")
def check(name: str, as_json: bool, quiet: bool) -> None:
    """Run every conformance test that applies to a method.

    NAME may carry parameters as in a chain, such as relieff:k=5. Exceptions that the plugin
    declares are shown with their reason. Exit code 3 if a test fails.

    \b
    Example:
      fsframe check kuncheva
    """
    from fsframe.testing import run_checks, suite_for

    outcomes = []
    for outcome in run_checks(suite_for(name)):
        outcomes.append(outcome)
        if as_json or (quiet and outcome.status != "failed"):
            continue
        detail = f": {outcome.detail}" if outcome.detail else ""
        line = f"{_MARKS[outcome.status]:>8}  {outcome.law.replace('_', ' ')}{detail}"
        say_block(line, indent=" " * 10)
    sums = Counter(outcome.status for outcome in outcomes)
    if as_json:
        found: dict[str, Any] = {
            "method": name,
            "checks": len(outcomes),
            "sums": dict(sums),
            "laws": [{"law": o.law, "status": o.status, "detail": o.detail} for o in outcomes],
        }
        say_json(found)
    else:
        parts = ", ".join(f"{number} {status}" for status, number in sorted(sums.items()))
        say(f"{name}: {len(outcomes)} checks: {parts}")
    if sums["failed"]:
        raise PluginError(f"{name} breaks {sums['failed']} of {len(outcomes)} laws")
