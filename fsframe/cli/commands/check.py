"""Run the conformance tests of something that a plugin offers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from fsframe.cli.options import MethodName
from fsframe.cli.terminal import json_option, say, say_block, say_json
from fsframe.errors import PluginError, RequestError

_MARKS = {"passed": "ok", "excepted": "excepted", "not applicable": "—"}


@click.command()
@click.argument("name", type=MethodName())
@json_option
@click.option("-q", "--quiet", is_flag=True, help="Print only failures and the totals.")
@click.option(
    "--badge",
    is_flag=True,
    help="Also write a report: versions, test results, exceptions with reasons; for a "
    "selector, how it behaves on noise and how its time and memory grow.",
)
@click.option(
    "-o", "--out", metavar="FILE", help="Where to write the report. [default: NAME.check.md]"
)
@click.option("--overwrite", is_flag=True, help="Replace the report if it exists.")
def check(
    name: str, as_json: bool, quiet: bool, badge: bool, out: str | None, overwrite: bool
) -> None:
    """Run every conformance test that applies to a method, measure, reader, engine or command.

    NAME may carry parameters as in a chain, such as relieff:k=5. A stage that resamples others is
    tested with a base that keeps few columns unless it names one. Exceptions that the plugin
    declares are shown with their reasons; failures are grouped by cause at the end. Exit code 3 if
    a test fails.

    \b
    Examples:
      fsframe check kuncheva
      fsframe check mim --badge -q
    """
    from fsframe.storage import check_destination
    from fsframe.testing import by_cause, run_checks, suite_for

    if (out or overwrite) and not badge:
        raise RequestError("-o and --overwrite apply to the report; add --badge")
    suite = suite_for(name)
    target = Path(out or f"{name.partition(':')[0].replace('/', '-')}.check.md")
    if badge:
        check_destination(target, overwrite=overwrite)
    outcomes = []
    for outcome in run_checks(suite):
        outcomes.append(outcome)
        # Failures are printed at the end, once for each cause.
        if as_json or quiet or outcome.status == "failed":
            continue
        detail = f": {outcome.detail}" if outcome.detail else ""
        line = f"{_MARKS[outcome.status]:>8}  {outcome.check.replace('_', ' ')}{detail}"
        say_block(line, indent=" " * 10)
    sums = Counter(outcome.status for outcome in outcomes)
    if as_json:
        found: dict[str, Any] = {
            "method": name,
            "checks": len(outcomes),
            "sums": dict(sums),
            "outcomes": [
                {"check": o.check, "status": o.status, "detail": o.detail} for o in outcomes
            ],
        }
        found["causes"] = by_cause(outcomes)
        say_json(found)
    else:
        for cause, checks in by_cause(outcomes).items():
            words = ", ".join(check.replace("_", " ") for check in checks)
            number = f" ({len(checks)} checks)" if len(checks) > 1 else ""
            say_block(f"  FAILED  {words}{number}: {cause}", indent=" " * 10)
        parts = ", ".join(f"{number} {status}" for status, number in sorted(sums.items()))
        say(f"{name}: {len(outcomes)} checks: {parts}")
    if badge:
        written = _write_badge(name, suite, outcomes, target, overwrite)
        if not as_json:
            say(f"report: {written}")
    if sums["failed"]:
        if suite.advice and not as_json:
            say_block(f"  {suite.advice}", indent="  ")
        raise PluginError(f"{name} fails {sums['failed']} of {len(outcomes)} checks")


def _write_badge(
    name: str, suite: Any, outcomes: Sequence[Any], target: Path, overwrite: bool
) -> Path:
    from fsframe.storage import place_file
    from fsframe.testing import SelectorConformance
    from fsframe.testing.declarations import badge_lines, facts_of, measure

    kept, cost = measure(suite.make) if issubclass(suite, SelectorConformance) else ([], [])
    lines = badge_lines(name, list(facts_of(suite.offer)), outcomes, kept, cost)
    content = "".join(f"{line}\n" for line in lines).encode()
    return place_file(target, content, overwrite=overwrite)
