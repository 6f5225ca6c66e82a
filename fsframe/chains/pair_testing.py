"""Interaction tests of the pairs of features that a chain kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fsframe.chains.stage import Stage
from fsframe.errors import DataError, FsframeError, PluginError
from fsframe.method.pair_tests import PAIR_TEST, PairTester, PairTests
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.method.selector import Selector
from fsframe.registry import Offer, in_stage, selectors
from fsframe.storage import PairTestRecord, StageRecord
from fsframe.table.dataset import Dataset

_STRONGEST = 50
"""Number of pairs of the largest weights that are tested even if their features were dropped."""


def tester_offer() -> Offer | None:
    """The method that tests pairs: the bundled one, else the first by name, else None."""
    offers = [o for o in selectors.offers() if PAIR_TEST in getattr(o.entry, "gives", ())]
    bundled = [offer for offer in offers if offer.plugin.source.bundled]
    return next(iter(bundled or offers), None)


Found = tuple[Stage, StageRecord, Selection]


def answer_tests(
    stages: Sequence[Stage], records: Sequence[StageRecord], data: Dataset, run: Run
) -> tuple[PairTestRecord | None, str]:
    """Test the pairs of kept features, and the pairs of the largest weights.

    Parameters
    ----------
    stages : sequence of Stage
        Of the chain.
    records : sequence of StageRecord
        Their results.
    data : Dataset
    run : Run
        Context of the tests, with a key that no stage has.

    Returns
    -------
    tests : PairTestRecord, optional
        None if there are no pair weights, or the pairs cannot be tested. If the weights come from a
        stage that tests pairs, its tests.
    reason : str
        Why weighted pairs could not be tested; else empty.
    """
    selecting = [
        (stage, record, record.selection)
        for stage, record in zip(stages, records, strict=True)
        if record.selection is not None
    ]
    weighed = [each for each in selecting if each[2].pair_weights is not None]
    if not weighed:
        return None, ""
    computed = [each for each in weighed if "pair_weights" not in each[2].carried]
    made, record, selection = (computed or weighed)[-1]
    kept = np.sort(selecting[-1][2].selected)
    if isinstance(made.method, PairTester):
        with in_stage(type(made.method), made.name):
            found = made.method.tests_found(selection)
        return _record(made.name, selectors.offer(made.name), record.seed, found, data), ""
    testing = tester_offer()
    weights = weighed[-1][2].pair_weights
    assert weights is not None
    listed = [(a, b) for a, b, _ in weights.top(_STRONGEST)]
    if testing is None or not (listed or kept.size > 1):
        return None, ""
    pairs = np.array(listed, dtype=np.intp).reshape(-1, 2)
    chosen_from = _chosen_from(selecting, made)
    try:
        tester = selectors[testing.name]()
        _check_can_take(tester, data)
        with in_stage(type(tester), testing.name):
            found = tester.test_pairs(data, kept, pairs, chosen_from, run)
        return _record(testing.name, testing, run.key, found, data), ""
    except FsframeError as error:
        # The result is valid without them.
        return None, f"pairs were not tested for interaction: {error}"


def _chosen_from(selecting: Sequence[Found], weighing: Stage) -> int:
    """Number of pairs of the columns that a multivariate stage, or the weighing one, was given."""
    columns = 0
    for stage, _, found in selecting:
        if stage is weighing or not getattr(stage.method, "univariate", False):
            columns = max(columns, 0 if found.features_in is None else found.features_in.size)
    return columns * (columns - 1) // 2


def _check_can_take(tester: Any, data: Dataset) -> None:
    if not isinstance(tester, PairTester) or not isinstance(tester, Selector):
        name = getattr(tester, "method_name", lambda: type(tester).__name__)()
        raise PluginError(f"{name} is declared to test pairs, but has no test_pairs")
    ignored = "" if data.groups is None else tester.ignores_groups()
    if ignored:
        raise DataError(f"rows of one {data.group_name!r} are alike, and {ignored}")
    for columns, what in ((data.times, "come one after another"), (data.covariates, "depend on")):
        if columns is not None:
            names = ", ".join(columns.names)
            raise DataError(f"rows {what} {names}, which tests of pairs do not support")
    tester.check_data(data)


def _record(
    name: str, offer: Offer, key: tuple[int, ...], found: PairTests, data: Dataset
) -> PairTestRecord:
    problems = (
        found.problems(data.n_features)
        if isinstance(found, PairTests)
        else [f"{type(found).__name__} is not a PairTests"]
    )
    if problems:
        raise PluginError(f"{name} returned invalid tests of pairs: {'; '.join(problems)}")
    return PairTestRecord(
        name=name, provider=offer.provider, provider_version=offer.version, seed=key, found=found
    )
