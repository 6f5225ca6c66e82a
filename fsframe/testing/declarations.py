"""Conformance classes for the offers of plugins, with what a plugin declares about them.

A plugin may have a module ``conformance`` in the package of its methods, or in one above::

    EXCEPTIONS = {"variance": {"scale_changes_nothing": "the variance depends on the unit"}}
    TRIED_AS = {"my-ensemble": "my-ensemble:base=mim,n=10"}
    TRIED_AFTER = {"my-classifier": "immigrate"}
    WRITES = {"my-format": write}
    ENDINGS = {"my-format": ".mine"}
    ARGUMENTS = {"my-command": arguments}

Exceptions under ``"*"`` apply to all methods of the package.
`TRIED_AS` is the stage to test if the defaults do not suffice. A wrapping stage without a base is
tested with `fsframe.testing.selectors.BASE`.
`TRIED_AFTER` is the stage that a classifier or regressor needs on its left.
`WRITES` has, for a reader, a function ``write(path, columns)`` that makes a file to read
(`ReaderConformance.write`), and `ENDINGS` the ending of these files, if it is not the first one of
the entry.
`ARGUMENTS` has, for a command, a function that writes what it needs into a folder and returns the
arguments of a call (`CommandConformance.arguments`).
"""

from __future__ import annotations

import platform
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import attrs
import numpy as np

from fsframe.errors import FsframeError, RequestError, one_line
from fsframe.grammar import parse_stages
from fsframe.method.run import Run
from fsframe.method.selector import Selector
from fsframe.registry import (
    Offer,
    Registry,
    classifiers,
    commands,
    engines,
    find_offer,
    measures,
    nulls,
    observers,
    plots,
    proposals,
    readers,
    report_sections,
    selectors,
    stability_metrics,
    writers,
)
from fsframe.registry.manager import declared, declared_exceptions
from fsframe.table.dataset import Dataset
from fsframe.testing.conformance import Conformance, Outcome, peak_bytes
from fsframe.testing.measures import MeasureConformance, StabilityMetricConformance
from fsframe.testing.predictors import ClassifierConformance, RegressorConformance
from fsframe.testing.selectors import BASE, SelectorConformance, WrappingConformance
from fsframe.testing.services import (
    CommandConformance,
    EngineConformance,
    ReaderConformance,
    opening,
    written_with,
)

_SUITES: Mapping[str, type[Conformance]] = {
    "selector": SelectorConformance,
    "classifier": ClassifierConformance,
    "regressor": RegressorConformance,
    "stability metric": StabilityMetricConformance,
    "measure": MeasureConformance,
    "reader": ReaderConformance,
    "engine": EngineConformance,
    "command": CommandConformance,
}
_WITHOUT_PARAMETERS = (readers, engines, commands)
_WITHOUT_SUITES = (writers, observers, report_sections, nulls, plots, proposals)


def suite_for(text: str) -> type[Conformance]:
    """The conformance class for a method such as ``relieff`` or ``relieff:k=5``, a measure, a
    reader, an engine or a command.

    Raises
    ------
    RequestError, PluginError
        If no plugin offers it, its plugin is broken, its parameters are invalid, or something is
        missing to test it with.
    """
    stages = parse_stages(text)
    if len(stages) != 1:
        raise RequestError(f"one method is checked at a time, not the chain {text!r}")
    (stage,) = stages
    in_chains = (selectors, classifiers)
    among = in_chains if any(r.matching(stage.name) for r in in_chains) else None
    others = (*in_chains, stability_metrics, measures, *_WITHOUT_PARAMETERS)
    if among is None and not any(r.matching(stage.name) for r in others):
        _refuse_untested(stage.name)
    registry, offer = find_offer(stage.name, *(among or others))
    name = offer.entry.name
    body: dict[str, Any] = {
        "name": name,
        "offer": offer,
        "exceptions": declared_exceptions(offer.entry),
        "__doc__": f"The checks for {name}.",
    }
    suite = _SUITES[offer.entry.kind]
    if registry in _WITHOUT_PARAMETERS:
        if stage.params:
            raise RequestError(f"the {offer.entry.kind} {name} has no parameters")
        body.update(_of_part(registry, offer))
    else:
        cls = registry[offer.name]
        params = {**parse_stages(_tried_as(offer, offer.name))[0].params, **stage.params}
        if getattr(cls, "wrapping", False):
            suite = WrappingConformance
            # Invalid parameters are reported before any check is tested.
            if getattr(cls.from_texts(params), "base", "") is None:
                params["base"] = BASE
            body["advice"] = _advice(offer, params)
        cls.from_texts(params)
        body["make"] = staticmethod(lambda: cls.from_texts(params))
    if registry is classifiers:
        body["after"] = declared(offer.entry, "TRIED_AFTER").get(name, "")
    if offer.entry.kind == "selector":
        body["gives"] = offer.entry.gives  # type: ignore[attr-defined]
    title = "".join(part.capitalize() for part in name.split("-"))
    return type(f"Test{title}", (suite,), body)


def _refuse_untested(name: str) -> None:
    """Raise RequestError if a part of a kind without a suite has this name."""
    for registry in _WITHOUT_SUITES:
        for offer in registry.matching(name)[:1]:
            raise RequestError(
                f"the {registry.kind} {offer.entry.name} has no conformance suite: the tests of "
                f"its plugin {offer.provider} check it (pytest), such as those of "
                "`fsframe new-plugin`"
            )


def _of_part(registry: Registry, offer: Offer) -> dict[str, Any]:
    """Members of the conformance class for a reader, an engine or a command."""
    name, offered = offer.entry.name, registry[offer.name]
    if registry is readers:
        write = written_with(declared(offer.entry, "WRITES"), name)
        # Formats that are recognised by their content may have no ending.
        endings = [*getattr(offer.entry, "endings", ()), f".{name}"]
        ending = declared(offer.entry, "ENDINGS").get(name, endings[0])
        return {"make": staticmethod(offered), "write": staticmethod(write), "ending": ending}
    if registry is engines:
        return {"make": staticmethod(opening(offered))}
    arguments = declared(offer.entry, "ARGUMENTS").get(name)
    body: dict[str, Any] = {"make": staticmethod(lambda: offered), "target": offer.entry.target}
    return body if arguments is None else {**body, "arguments": staticmethod(arguments)}


def _advice(offer: Offer, params: Mapping[str, str]) -> str:
    """Advice for failed checks of a stage: its own base instead of the one it was checked with."""
    tried = _tried_as(offer, f"{offer.name}:base={BASE}")
    if parse_stages(tried)[0].params.get("base") == params["base"]:
        return ""
    return (
        "with a base that keeps all columns, a stage that counts what is kept cannot tell them "
        f"apart: fsframe check '{tried}'"
    )


def _tried_as(offer: Offer, otherwise: str) -> str:
    text: str = declared(offer.entry, "TRIED_AS").get(offer.entry.name, otherwise)
    return text


_NOISE_TABLES = 20
_NOISE = (80, 40)
_SHAPES = ((200, 20), (400, 20), (800, 20), (200, 80), (200, 320))
# Seconds of processor time; after a fit that takes longer, larger sizes are left out.
_LONGEST = 5.0


@attrs.frozen
class Measured:
    """Processor time and peak memory of one fit; NaN if it was refused, with the reason."""

    rows: int
    columns: int
    seconds: float
    peak: float
    reason: str = ""


def measure(make: Callable[[], Selector]) -> tuple[list[int], list[Measured]]:
    """Numbers of columns a selector keeps on noise tables, and the cost of fits.

    Parameters
    ----------
    make : callable
        Returns the method, with its parameters.

    Returns
    -------
    kept : list of int
        Number of columns kept of 40, in 20 tables of 80 rows whose label carries no information.
    cost : list of Measured
        For growing tables; the second fit is timed, on one thread.
    """
    kept = []
    for seed in range(_NOISE_TABLES):
        try:
            kept.append(int(make().select(_table(make(), *_NOISE, seed), seed=seed).selected.size))
        except FsframeError:
            kept.append(0)
    return kept, list(_costs(make))


def _table(method: Selector, rows: int, columns: int, seed: int) -> Dataset:
    """Noise, with a numeric target or survival times if classes are not supported."""
    generator = np.random.Generator(np.random.PCG64([17, seed]))
    X = generator.standard_normal((rows, columns))
    if "classification" in method.tasks:
        return Dataset.from_arrays(X, generator.permutation(np.arange(rows) % 2), name="noise")
    task = min(method.tasks)
    return Dataset.from_arrays(X, generator.standard_normal(rows), name="noise", task=task)


def _costs(make: Callable[[], Selector]) -> Iterator[Measured]:
    slow: list[tuple[int, int]] = []
    for rows, columns in _SHAPES:
        if any(rows >= r and columns >= c for r, c in slow):
            continue
        data, run = _table(make(), rows, columns, 0), Run(entropy=1, threads=1)

        def fit(data: Dataset = data, run: Run = run) -> None:
            make().select(data, run=run)

        try:
            fit()
            start = time.process_time()
            fit()
            seconds = time.process_time() - start
            yield Measured(rows, columns, seconds, peak_bytes(fit))
        except FsframeError as error:
            yield Measured(rows, columns, np.nan, np.nan, one_line(error))
            continue
        if seconds > _LONGEST:
            slow.append((rows, columns))


def _growth(cost: Sequence[Measured], of: str, what: str) -> str:
    """The power of the number of rows (columns) with which a cost grows, from the largest two."""
    fixed = "columns" if of == "rows" else "rows"
    least = 1e-3 if what == "seconds" else 1e5
    along = [
        c for c in cost if getattr(c, fixed) == getattr(cost[0], fixed) and getattr(c, what) > least
    ]
    if len(along) < 2:
        return f"too little to measure with the number of {of}"
    a, b = along[-2:]
    power = np.log(getattr(b, what) / getattr(a, what)) / np.log(getattr(b, of) / getattr(a, of))
    return f"as {of}^{power:.1f}"


def badge_lines(
    name: str,
    facts: Sequence[tuple[str, str]],
    outcomes: Sequence[Outcome],
    kept: Sequence[int],
    cost: Sequence[Measured],
) -> Iterator[str]:
    """The report as Markdown, from the outcomes of all checks and the results of `measure`.

    `name` is the method as it was checked, such as ``"relieff:k=5"``, and `facts` (`facts_of`) are
    for the head; `kept` and `cost` are empty for methods that are not selectors.
    """
    counts = Counter(outcome.status for outcome in outcomes)
    verdict = "fails" if counts["failed"] else "passes"
    yield f"# `{name}` {verdict} the conformance checks of fsframe"
    yield ""
    yield from (f"* {label}: {value}" for label, value in facts)
    yield f"* checks: {', '.join(f'{n} {status}' for status, n in sorted(counts.items()))}"
    for status, title in (("failed", "Failed"), ("excepted", "Exceptions, with reasons")):
        matching = [outcome for outcome in outcomes if outcome.status == status]
        if matching:
            yield from ("", f"## {title}", "")
            yield from (f"* {o.check.replace('_', ' ')}: {o.detail}" for o in matching)
    if kept:
        yield from ("", "## With a random label", "")
        some = sum(number > 0 for number in kept)
        yield (
            f"{len(kept)} tables of noise, {_NOISE[0]} × {_NOISE[1]}: columns were kept in {some} "
            f"of them, {min(kept)} to {max(kept)} columns, {np.mean(kept):.1f} on average."
        )
    if cost:
        yield from ("", "## Time and memory", "", "| rows | columns | seconds | peak, MiB |")
        yield "|--:|--:|--:|--:|"
        for each in cost:
            figures = f"{each.seconds:.3f} | {each.peak / 2**20:.1f}"
            told = f"refused: {each.reason} |" if each.reason else figures
            yield f"| {each.rows} | {each.columns} | {told} |"
        yield ""
        yield (
            "One thread, processor time of a second fit on noise; peak memory of Python and numpy. "
            f"Time grows {_growth(cost, 'rows', 'seconds')} and "
            f"{_growth(cost, 'columns', 'seconds')}, memory {_growth(cost, 'rows', 'peak')} and "
            f"{_growth(cost, 'columns', 'peak')}."
        )


def facts_of(offer: Any) -> Iterator[tuple[str, str]]:
    """Versions and the machine, for the head of a report."""
    source = offer.plugin.source
    yield offer.entry.kind, f"{source.distribution} {source.version} ({offer.entry.target})"
    if offer.entry.reference:
        yield "source", offer.entry.reference
    numpy_too = f"Python {platform.python_version()}, numpy {np.__version__}"
    yield "checked with", f"fsframe {version('fsframe')}, {numpy_too}"
