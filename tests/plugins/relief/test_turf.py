"""TuRF: rounds end at the target, dropped columns rank by round, and what it wraps."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import numpy as np
import pytest

from fsframe.chains.chain import Chain
from fsframe.errors import RequestError
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe_relief.methods.repeated import Turf, ranked_scores
from fsframe_relief.methods.variants import Relieff


def make_data(p=30, n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, p)).astype(float)
    y = (X[:, 2].astype(int) ^ X[:, 5].astype(int)).astype(int)
    return Dataset.from_arrays(X, y, categorical=np.ones(p, bool))


@pytest.mark.parametrize(
    ("drop", "top", "sizes"),
    [
        (0.5, 4, [30, 15, 8, 4]),
        (7, 4, [30, 23, 16, 9, 4]),
        (1.0, 3, [30, 3]),
        (0.01, 28, [30, 29, 28]),
        (100, 1, [30, 1]),
    ],
)
def test_rounds_shrink_to_the_target_and_never_below(drop, top, sizes):
    found = Turf(base="relieff:k=5", drop=drop, top=top).select(make_data())
    rounds = found.tables["round"]
    assert [int((rounds >= t).sum()) for t in range(rounds.max() + 1)] == sizes
    assert len(found.selected) == top


def test_columns_rank_by_the_round_they_survived_then_by_score():
    found = Turf(base="multisurf", drop=0.2, top=5).select(make_data())
    rounds, last = found.tables["round"], found.tables["last_score"]
    order = np.argsort(-found.scores, kind="stable")
    expected = np.lexsort((-last, -rounds))
    np.testing.assert_array_equal(order, expected)
    assert set(found.selected) == set(np.flatnonzero(rounds == rounds.max()))
    assert set(found.selected[:2]) == {2, 5}
    survivors = rounds == rounds.max()
    np.testing.assert_array_equal(found.scores[survivors], last[survivors])


def test_without_base_the_stages_on_the_left_are_wrapped():
    data = make_data()
    wrapped = Chain.parse("relieff:k=5 turf:drop=0.5,top=4").run(data, seed=1)
    named = Turf(base="relieff:k=5", drop=0.5, top=4).select(data, seed=1)
    np.testing.assert_array_equal(wrapped.selected, named.selected)
    with pytest.raises(RequestError, match="resamples another selector"):
        Turf().select(data)


def test_columns_that_the_base_did_not_look_at_go_first():
    data = make_data()
    found = Turf(base="mim:top=12 multisurf", drop=4, top=3).select(data)
    assert len(found.selected) == 3
    assert np.isnan(found.tables["last_score"]).sum() > 0


def test_scores_of_equal_or_rising_rounds_stay_in_order():
    scores = ranked_scores(np.array([0.0, 5.0, 0.0, np.nan, 7.0]), np.array([2, 1, 2, 0, 0]))
    assert np.argsort(-scores[[0, 2, 1, 4]], kind="stable").tolist() == [0, 1, 2, 3]
    assert scores[1] < 0.0
    assert scores[4] < scores[1]
    assert np.isnan(scores[3])


class Stop(Exception):
    """Ends a run as any failure would."""


@pytest.mark.parametrize("base", ["relieff:k=5,m=60", "mim:top=20 relieff:k=5"])
def test_an_interrupted_run_continues_after_its_last_finished_round(base, tmp_path, monkeypatch):
    chain, data = Chain.parse(f"{base} turf:drop=6,top=4"), make_data()
    whole = chain.run(data, seed=3)
    out = tmp_path / "run.h5"

    def stop_late(progress):
        if progress.label == "columns dropped" and progress.done >= 18:
            raise Stop

    with pytest.raises(Stop):
        chain.run(data, seed=3, out=out, listener=stop_late)
    looks = mock.Mock(side_effect=Relieff._select)
    monkeypatch.setattr(Relieff, "_select", lambda *given: looks(*given))
    record = chain.run(data, seed=3, out=out)
    # rounds of 30, 24 and 18 columns were finished, and the stages on the left
    assert [call.args[1].n_features for call in looks.call_args_list] == [12, 6, 4]
    assert record.digests() == whole.digests()


def test_a_base_that_resamples_keeps_its_own_units_and_gets_the_executor(monkeypatch):
    resampled = mock.Mock(side_effect=Relieff.select_many)
    monkeypatch.setattr(Relieff, "select_many", lambda *given, **more: resampled(*given, **more))
    with ThreadPoolExecutor(1) as pool:
        run = Run(executor=pool)
        Turf(base="relieff:k=3,top=5 ensemble:n=2", drop=0.5, top=8).select(make_data(), run=run)
        # two rounds of two resamples, in one batch or two; a round by itself is no resample
        assert resampled.call_count >= 2
        resampled.reset_mock()
        Turf(base="relieff:k=3", drop=0.5, top=8).select(make_data(), run=run)
    assert not resampled.called
