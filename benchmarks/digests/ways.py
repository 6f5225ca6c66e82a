"""Every method on every table, in every way that a run may be computed, as digests by name."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import warnings
from collections.abc import Iterator
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from families import table

import fsframe
from fsframe.registry import classifiers, measures, regressors, selectors, stability_metrics

__all__ = ["METRICS", "WAYS", "kind_of", "method_digests", "metric_digests", "named_methods"]

WAYS = ("alone", "wrapped", "resumed", "workers")
"""The method as a chain; resampled; resampled, interrupted and continued; by two workers."""

METRICS = "metrics-and-measures"
"""The name under which stability metrics and measures are listed."""

# Parameters without a default, and smaller numbers than the defaults where these take long.
OPTIONS: dict[str, tuple[str, ...]] = {
    "anova-f": ("", "top=2"),
    "bim": ("rounds=3",),
    "bim-vote": ("rounds=3",),
    "boruta": ("max_runs=5,trees=8",),
    "cpss": ("base=mim:top=3,pairs=4",),
    "cross-validation": ("base=(mim:top=3 knn),folds=2,repeats=1",),
    "ensemble": ("base=mim,n=4", "base=(mim:top=4 relieff:top=2),n=4"),
    "im4e": ("", "sigma=cv"),
    "immigrate": (
        "",
        "update=psd-clip,line_search=false",
        "sigma=cv",
        "prune=true",
        "screen=4,top=2",
    ),
    "importance": ("of=DecisionTreeClassifier", "of=Ridge"),
    "impute": ("", "method=mean", "method=neighbours,k=3"),
    "mim": ("", "top=2", "pairs=synergy"),
    "interactions-split": ("base=mim:top=4,draws=20",),
    "ipss": ("base=mim:top=4,pairs=4",),
    "knockoffs": ("base=mim,copies=2",),
    "npfs": (
        "base=mim,n=4,permutations=9,alpha=0.3",
        "base=mim,n=4,null=published",
        "base=mim,n=4,null=matlab",
        "base=mim,n=3,null=shards",
    ),
    "relieff": ("", "k=3,missing=probability"),
    "rfecv": ("folds=2",),
    "sequential": ("of=GaussianNB,top=2,folds=2",),
    "simba-mbiw": ("", "strategy=order"),
    "sklearn": ("estimator=GaussianNB", "estimator=Ridge"),
    "sklearn-selector": ('estimator=SelectKBest,options={"k":2}',),
    "stability-study": ("base=mim:top=3,n=4",),
    "turf": ("base=relieff",),
    "vls": ("subset=3,rounds=2",),
}

# Attributes of a run file that differ between two equal runs, or name where code lives.
_NOT_COMPARED = frozenset(
    {"command", "created", "digest", "fsframe-version", "provider", "provider-version", "seconds"}
)
_PATHS = re.compile(r"(/[\w.@%+-]+){2,}/?")


def named_methods() -> list[str]:
    """The names of all methods, and `METRICS`."""
    return [*sorted({*selectors, *classifiers, *regressors}), METRICS]


def kind_of(method: str) -> str:
    """``"selector"`` or ``"classifier"``, which ends a chain."""
    return "selector" if method in selectors else "classifier"


def method_digests(
    method: str,
    families: list[str],
    ways: list[str],
    folder: Path,
    workers: Executor | None,
    *,
    every: bool,
) -> Iterator[tuple[str, str]]:
    """Name and digest of the runs of a method, or the message of the error that refuses one."""
    for place, options in enumerate(OPTIONS.get(method, ("",))):
        stage = f"{method}:{options}" if options else method
        for family in families:
            for way in ways:
                if not (every or _is_usual(place, family, way)):
                    continue
                chain = stage if way == "alone" else _resampled(method, stage, family)
                name = f"{stage} | {family} | {way}"
                yield name, _outcome(chain, family, way, folder, workers)


def _is_usual(place: int, family: str, way: str) -> bool:
    """Whether a run is one of those that differ most from others; all take some minutes more.

    Further parameters change neither how tables are read nor how a run is interrupted, and what
    units and workers hold depends on the kind of the table, less on the roles of its columns.
    """
    if place > 0:
        return family in ("numeric", "nominal", "gaps", "regression") and way in WAYS[:2]
    return way in WAYS[:2] or family in ("numeric", "parts", "survival", "groups")


def _resampled(method: str, stage: str, family: str) -> str:
    if kind_of(method) == "selector" and getattr(selectors[method], "wrapping", False):
        return stage
    if kind_of(method) == "classifier":
        return f"cross-validation:base=({stage}),folds=2,repeats=1"
    if family == "survival":
        return f"{stage} ensemble:n=3"
    return f"{stage} npfs:n=3,permutations=2,alpha=0.4"


class _Stopped(BaseException):
    """Ends a run as an interrupt would."""


def _outcome(chain: str, family: str, way: str, folder: Path, workers: Executor | None) -> str:
    """The digest of the run file, or the message of the error."""
    given: dict[str, Any] = {"executor": workers} if way == "workers" else {}
    target = folder / "run.h5"
    stopped = 0

    def stop(_: Any) -> None:
        nonlocal stopped
        stopped += 1
        if stopped == 2:
            raise _Stopped

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            data = table(family, folder)
            parsed = fsframe.Chain.parse(chain)
            if way == "resumed":
                with contextlib.suppress(_Stopped):
                    parsed.run(data, seed=1, out=target, overwrite=True, listener=stop)
            parsed.run(data, seed=1, out=target, overwrite=True, **given)
        except Exception as error:
            # An error of any kind is what this request leads to, and is compared like a result.
            return masked(f"{type(error).__name__}: {error}", folder)
    return run_file_digest(target)


def run_file_digest(path: Path) -> str:
    """SHA-256 of all values of a run file that two equal runs share."""
    digest = hashlib.sha256()

    def add(name: str, node: Any) -> None:
        for key in sorted(set(node.attrs) - _NOT_COMPARED):
            digest.update(f"{name}@{key}={node.attrs[key]!r}\n".encode())
        if isinstance(node, h5py.Dataset) and name != "environment":
            values = node[()]
            digest.update(f"{name} {node.dtype} {node.shape}\n".encode())
            digest.update(np.ascontiguousarray(values).tobytes())

    with h5py.File(path) as file:
        add("/", file)
        file.visititems(add)
    return digest.hexdigest()[:16]


def masked(text: str, *folders: Path) -> str:
    """`text` without paths of this machine."""
    for folder in folders:
        text = text.replace(str(folder), "FOLDER")
    return _PATHS.sub("PATH", text)


def metric_digests() -> Iterator[tuple[str, str]]:
    """The values of all stability metrics and measures on fixed examples."""
    generator = np.random.Generator(np.random.PCG64(21))
    equal = np.argsort(generator.random((7, 12)), axis=1) < 4
    unequal = generator.random((7, 12)) < 0.4
    ranks = generator.random((5, 12))
    alike = generator.random((12, 12))
    alike = (alike + alike.T) / 2
    np.fill_diagonal(alike, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in stability_metrics:
            for what, matrix in (("equal", equal), ("unequal", unequal), ("ranks", ranks)):
                yield f"{name} | {what}", _value(stability_metrics[name], matrix, alike)
        for name in measures:
            for what, predictions in _predictions(generator):
                yield f"{name} | {what}", _measured(measures[name], what, predictions)


def _value(metric: Any, matrix: Any, alike: Any) -> str:
    try:
        found = metric()(matrix, alike) if metric.needs_similarity else metric()(matrix)
    except fsframe.FsframeError as error:
        return masked(f"{type(error).__name__}: {error}")
    return json.dumps([found.value, found.variance, found.interval, found.undefined])


def _measured(measure: Any, what: str, predictions: fsframe.Predictions) -> str:
    if measure.task != what.split()[0]:
        return "other task"
    try:
        return repr(measure()(predictions))
    except fsframe.FsframeError as error:
        return masked(f"{type(error).__name__}: {error}")


def _predictions(
    generator: np.random.Generator,
) -> Iterator[tuple[str, fsframe.Predictions]]:
    for n_classes in (2, 3):
        truth = generator.integers(0, n_classes, 60)
        scores = generator.random((60, n_classes)) + 0.5 * np.eye(n_classes)[truth]
        scores /= scores.sum(axis=1, keepdims=True)
        yield (
            f"classification into {n_classes}",
            fsframe.Predictions(
                truth=truth,
                predicted=scores.argmax(axis=1),
                scores=scores,
                classes=tuple("abc"[:n_classes]),
            ),
        )
    truth = generator.random(60)
    guess = truth + 0.2 * generator.standard_normal(60)
    yield "regression", fsframe.Predictions(truth=truth, predicted=guess)
    times = truth * np.where(generator.random(60) < 0.3, -1, 1)
    yield "survival", fsframe.Predictions(truth=times, predicted=-guess)
