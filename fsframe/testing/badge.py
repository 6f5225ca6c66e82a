"""The report on a method: its checks, its results on noise, growth of time and memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from fsframe.errors import FsframeError, one_line
from fsframe.method.run import Run
from fsframe.method.selector import Selector
from fsframe.table.dataset import Dataset
from fsframe.testing.conformance import Outcome
from fsframe.testing.side_effects import peak_bytes

_NOISE_TABLES = 20
_NOISE = (80, 40)
_SHAPES = ((200, 20), (400, 20), (800, 20), (200, 80), (200, 320))
# Larger sizes are left out after one that took longer, in seconds of processor time.
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
        Columns kept of 40, in 20 tables of 80 rows whose label carries no information.
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
    base = cost[0] if cost else None
    along = [c for c in cost if base and getattr(c, fixed) == getattr(base, fixed)]
    along = [c for c in along if getattr(c, what) > (1e-3 if what == "seconds" else 1e5)]
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
    counts: dict[str, int] = {}
    for outcome in outcomes:
        counts[outcome.status] = counts.get(outcome.status, 0) + 1
    verdict = "fails" if counts.get("failed") else "passes"
    yield f"# `{name}` {verdict} the conformance checks of fsframe"
    yield ""
    yield from (f"* {label}: {value}" for label, value in facts)
    yield f"* checks: {', '.join(f'{n} {status}' for status, n in sorted(counts.items()))}"
    for status, title in (("failed", "Failed"), ("excepted", "Exceptions, with reasons")):
        found = [outcome for outcome in outcomes if outcome.status == status]
        if found:
            yield from ("", f"## {title}", "")
            yield from (f"* {o.check.replace('_', ' ')}: {o.detail}" for o in found)
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
            figures = (
                f"{each.seconds:.3f} | {each.peak / 2**20:.1f}"
                if not each.reason
                else f"refused: {each.reason} |"
            )
            yield f"| {each.rows} | {each.columns} | {figures} |"
        yield ""
        yield (
            "One thread, processor time of a second fit on noise; peak memory of Python and numpy. "
            f"Time grows {_growth(cost, 'rows', 'seconds')} and "
            f"{_growth(cost, 'columns', 'seconds')}, memory {_growth(cost, 'rows', 'peak')} and "
            f"{_growth(cost, 'columns', 'peak')}."
        )


def facts_of(offer: Any) -> Iterator[tuple[str, str]]:
    """Versions and the machine, for the head of a report."""
    import platform
    from importlib.metadata import version

    source = offer.plugin.source
    yield offer.entry.kind, f"{source.distribution} {source.version} ({offer.entry.target})"
    if offer.entry.reference:
        yield "source", offer.entry.reference
    numpy_too = f"Python {platform.python_version()}, numpy {np.__version__}"
    yield "checked with", f"fsframe {version('fsframe')}, {numpy_too}"
