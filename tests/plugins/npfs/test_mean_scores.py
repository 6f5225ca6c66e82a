"""Scores under true and permuted labels: the law behind the promise; decisions that are open."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest

from fsframe.chains.chain import Chain
from fsframe.errors import RequestError
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.table.dataset import Dataset
from fsframe_infotheory.methods.criteria import Mim
from fsframe_npfs.engine.decisions import (
    centred,
    decide_by_scores,
    likely_exceedances,
    remedy,
    reversal_probability,
    shrink_permuted,
    studentised,
)
from fsframe_npfs.engine.labellings import (
    FragileColumns,
    MeanScores,
    filled_scores,
    variance_within,
)
from fsframe_npfs.engine.nulls import binomial_tail, critical_value, looks, settled
from fsframe_npfs.methods import procedure
from fsframe_npfs.methods.npfs import Npfs
from tests.grids import slow

from .conftest import TinyMim, outcome, slides

P, K = 39, 12


def labelled_means(seed: int, copies: int, levels: int | None = None) -> np.ndarray:
    """Means of P + 1 labellings of K features, the first `copies` of them near-copies."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_t(3, size=(P + 1, K)) + rng.normal(size=K)
    rows[:, :copies] = rows[:, :1] + 1e-3 * rng.normal(size=(P + 1, copies))
    return rows if levels is None else np.round(rows * levels) / levels


def each_as_the_true_one(rows: np.ndarray) -> list[np.ndarray]:
    order = [np.roll(np.arange(len(rows)), -j) for j in range(len(rows))]
    return [rows[places] for places in order]


def relevant_each(scores: np.ndarray, ranks: np.ndarray, **settings: str) -> np.ndarray:
    """Which features are named with each labelling as the true one."""
    pairs = zip(each_as_the_true_one(scores), each_as_the_true_one(ranks), strict=True)
    verdicts = [decide_by_scores(s, r, np.zeros((2, K)), alpha=0.1, **settings) for s, r in pairs]
    return np.array([verdict.relevant for verdict, _ in verdicts])


@pytest.mark.parametrize("compare", ["centred", "pooled", "own"])
@pytest.mark.parametrize("copies", [1, 6, K])
def test_labellings_together_name_no_more_than_their_share(compare, copies):
    # Exchangeable labellings: the mean over which of them is the true one is what is promised.
    for seed in range(2):
        scores = labelled_means(seed, copies, 2 if seed % 2 else None)
        named = relevant_each(scores, np.tanh(scores), correction="none", compare=compare).sum()
        assert named <= 0.1 * (P + 1) * K + 1e-9
        if copies == 1 and seed % 2 == 0:
            assert named >= 0.1 * (P + 1) * K * 0.6  # nor much less
        if compare == "centred":
            scores = labelled_means(seed, copies)
            naming = relevant_each(scores, scores, correction="bonferroni").any(axis=1).sum()
            assert 1 <= naming <= 0.1 * (P + 1)


def test_p_values_are_those_of_the_definition():
    scores = labelled_means(1, 3, 4)
    ranks = np.tanh(scores[:, ::-1])
    verdict, doubt = decide_by_scores(scores, ranks, np.zeros((2, K)), alpha=0.1, correction="none")

    def share(values: np.ndarray) -> np.ndarray:
        return (values[None, None] >= values[:, :, None, None] - 1e-9).mean(axis=(2, 3))

    others = [np.delete(ranks, j, axis=0) for j in range(P + 1)]
    z = np.array(
        [(r - o.mean(axis=0)) / o.std(axis=0, ddof=1) for r, o in zip(ranks, others, strict=True)]
    )
    np.testing.assert_allclose(studentised(ranks), z, atol=1e-8)
    smaller = np.minimum(share(centred(scores)), share(z))
    expected = np.array([(smaller <= s + 1e-12).mean() for s in smaller[0]])
    np.testing.assert_allclose(verdict.p, expected)
    np.testing.assert_array_equal(verdict.relevant, expected <= 0.1)
    assert ((doubt >= 0) & (doubt <= 0.5)).all()


@pytest.mark.parametrize("k", [3, slow(10), 25])
def test_relevant_features_do_not_crowd_each_other_out_of_short_lists(k):
    # Counts name 2 to 6 of these 15.
    selected = outcome(TinyMim(k=k), slides(1)).selected
    assert (selected < 15).sum() >= 14 and (selected >= 15).sum() <= 2


def test_above_two_hundred_columns_the_corrected_test_answers_and_says_so():
    data = slides(0, 100, 210, 3)
    result = outcome(TinyMim(k=5), data, n=4, permuted_n=1)
    assert any("correction=bh" in w for w in result.warnings)
    np.testing.assert_array_equal(
        result.tables["relevant"], result.tables["adjusted-p-values"] <= 0.01
    )
    asked = outcome(TinyMim(k=5), data, n=4, permuted_n=1, correction="bh")
    np.testing.assert_array_equal(result.selected, asked.selected)
    none = outcome(TinyMim(k=5), data, n=4, permuted_n=1, correction="none")
    np.testing.assert_array_equal(none.tables["relevant"], none.tables["p-values"] <= 0.01)
    plain = outcome(TinyMim(k=5), data, n=5, null="published")
    np.testing.assert_array_equal(plain.tables["p-values"], plain.tables["adjusted-p-values"])


def test_a_base_without_scores_is_tested_by_what_it_keeps_and_that_is_said():
    class Silent(TinyMim):
        def _select_many(self, data: Any, counts: Any, upstream: Any, run: Any) -> Any:
            result = TinyMim._select_many(self, data, counts, upstream, run)
            return [attrs.evolve(s, scores=np.full(data.n_features, np.nan)) for s in result]

    result = outcome(Silent(k=3), slides(0, 1000, 20, 2), n=10, permutations=40)
    assert set(result.selected) == {0, 1}
    assert any("the base returned no scores in 410 of 410" in w for w in result.warnings)


@pytest.mark.parametrize(
    ("natural_zero", "third", "least"), [(False, -1.0, -1.0), (True, 0.5, 0.0)]
)
def test_columns_without_a_score_have_the_lowest_of_the_resample_or_the_natural_zero(
    natural_zero, third, least
):
    selection = Selection(selected=[1], scores=np.array([np.nan, 2.0, third, np.inf, 7.0]))
    live = np.array([True, True, True, True, False])
    scores, scored = filled_scores(selection, live, natural_zero=natural_zero)
    assert scored and scores.tolist() == [least, 2.0, third, 2.0, least]


@pytest.mark.parametrize(("last", "carries_nothing"), [("immigrate", True), ("relieff", False)])
def test_the_last_stage_of_the_base_says_whether_dropped_columns_carry_nothing(
    last, carries_nothing
):
    chain = Chain.parse(f"mim:top=3 {last} npfs:n=4,permutations=5,permuted_n=2,alpha=0.2")
    means = chain.select(slides(0, 60, 12, 2)).tables["mean-scores"]
    assert (means.min() == 0) == carries_nothing


def test_standings_are_means_over_resamples():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 4))
    columns = FragileColumns.find(Dataset.from_arrays(X, np.arange(20) % 2))
    standings, rows = MeanScores(columns), rng.normal(size=(6, 4))
    for row in rows:
        standings.add(Selection(selected=[0], scores=row), np.ones(20, np.int64))
    np.testing.assert_allclose(standings.means[0], rows.mean(axis=0))
    np.testing.assert_allclose(
        standings.mean_errors[0], rows.std(axis=0, ddof=1) / np.sqrt(6), rtol=1e-10
    )
    assert abs(standings.means[1].sum()) < 1e-9  # normal scores are symmetric


def test_variance_within_labellings_is_the_mean_of_their_variances():
    rng = np.random.default_rng(0)
    columns = FragileColumns.find(Dataset.from_arrays(rng.normal(size=(20, 4)), np.arange(20) % 2))
    squares, rows = np.zeros((1, 4)), rng.normal(size=(3, 2, 4))
    standings = [MeanScores(columns, ranked=False, squares=squares) for _ in rows]
    for each, two in zip(standings, rows, strict=True):
        for row in two:
            each.add(Selection(selected=[0], scores=row), np.ones(20, np.int64))
    np.testing.assert_allclose(
        variance_within(standings)[0], rows.var(axis=1, ddof=1).mean(axis=0), rtol=1e-10
    )
    np.testing.assert_allclose([each.means[0] for each in standings], rows.mean(axis=1))


def means_of_bootstraps(
    rng: np.random.Generator, features: int, permutations: int, spread: float
) -> tuple[np.ndarray, np.ndarray]:
    """Mean scores of 200 bootstraps of one label and 2 of each permuted one, and `within`."""
    by_label = rng.gamma(2.0, size=(permutations + 1, features))
    two = spread * rng.normal(size=(permutations, 2, features))
    true = by_label[:1] + spread * rng.normal(size=(1, features)) / np.sqrt(200)
    rows = np.vstack((true, by_label[1:] + two.mean(axis=1)))
    return rows, two.var(axis=1, ddof=1).mean(axis=0)


def test_few_bootstraps_of_permuted_labels_are_as_spread_out_as_many():
    rng = np.random.default_rng(0)
    rows, within = means_of_bootstraps(rng, 40, 4000, 1.5)
    even = shrink_permuted(rows, within, 200, 2)
    np.testing.assert_array_equal(even[0], rows[0])
    np.testing.assert_allclose(even[1:].mean(axis=0), rows[1:].mean(axis=0))
    # B = 2 of the gamma law, and 1.5² over 200.
    np.testing.assert_allclose(even[1:].var(axis=0).mean(), 2 + 1.5**2 / 200, rtol=0.02)
    np.testing.assert_allclose(shrink_permuted(rows, 0 * within, 200, 2), rows, atol=1e-12)


def test_a_corrected_test_of_few_bootstraps_holds_its_level_and_uses_it():
    rng = np.random.default_rng(1)
    naming = np.zeros(2)
    for _ in range(300):
        rows, within = means_of_bootstraps(rng, 30, 60, 1.0)
        for place, known in enumerate((within, None)):
            verdict, _ = decide_by_scores(
                rows, rows[:1], np.zeros((2, 30)),
                alpha=0.1, correction="bh", within=known, numbers=(200, 2),
            )  # fmt: skip
            naming[place] += verdict.relevant.any()
    even, uneven = naming / 300
    assert uneven < even < 0.1 + 2 * np.sqrt(0.1 * 0.9 / 300)
    assert even > 0.1 - 3 * np.sqrt(0.1 * 0.9 / 300)


def test_settling_ends_in_the_answer_of_the_numbers_that_it_reached(capsys, monkeypatch):
    monkeypatch.setattr("fsframe_npfs.engine.decisions.BRIEF", 0.0)
    data = slides(1, 120, 20, 3)
    for correction, first, permutations in (("none", 102, 30), ("bh", 132, 40)):
        options: dict[str, Any] = {
            "n": 12, "permutations": permutations, "permuted_n": 3, "alpha": 0.05,
            "correction": correction,
        }  # fmt: skip
        result = outcome(TinyMim(k=4), data, settle=0.2, fits=800, **options)
        n, reached, permuted_n = result.tables["numbers"].tolist()
        assert (n, permuted_n) != (12, 12) and n > 12, "nothing was borderline on this table"
        assert n + reached * permuted_n <= 800
        said = capsys.readouterr().err
        assert f"are open after {first} fits; continuing to {2 * first} fits, about" in said
        assert "(at most 800 fits," in said
        plain = Npfs(**options | {"n": n, "permutations": reached})
        same = plain.select_wrapped(TinyMim(k=4), data, None, Run())
        for name in ("p-values", "mean-scores", "doubt", "relevant"):
            np.testing.assert_array_equal(result.tables[name], same.tables[name])


def test_settling_stops_where_all_is_clear_or_more_would_not_do():
    clear = Npfs(settle=0.1, n=20, permutations=60, permuted_n=2, alpha=0.1)
    result = clear.select_wrapped(TinyMim(k=4), slides(0, 3000, 12, 4), None, Run())
    assert (result.tables["doubt"] <= 0.1).all()
    assert not any("decisions are not settled" in w for w in result.warnings)
    short = Npfs(settle=0.001, fits=400, n=20, permutations=60, permuted_n=3)
    result = short.select_wrapped(TinyMim(k=4), slides(1, 120, 20, 3), None, Run())
    [said] = [w for w in result.warnings if "decisions are not settled" in w]
    assert int(said.split()[-2]) == result.tables["numbers"] @ [1, 0, 0] + 3 * int(
        result.tables["numbers"][1]
    )


def test_too_few_fits_are_refused_before_work_starts():
    data = slides(1, 120, 20, 3)
    with pytest.raises(RequestError, match="fits=500 is less than the 1090"):
        Chain.parse("mim:top=4 npfs:settle=0.1,fits=500").select(data)
    wide = slides(1, 60, 250, 3)
    with pytest.raises(RequestError, match="fits=1099 is less than the 1100"):
        Chain.parse("mim:top=4 npfs:settle=0.1,fits=1099").select(wide)


def test_a_corrected_test_of_shares_of_one_whole_says_so_before_the_permuted_labels(capsys):
    rng = np.random.default_rng(2)
    data = Dataset.from_arrays(rng.normal(size=(30, 6)), np.arange(30) % 2)
    few = "npfs:n=3,permutations=4,permuted_n=1,alpha=0.5"
    forest = 'importance:options={"n_estimators": 5}'
    for chain, said in (
        (f"{forest} {few},correction=bh", True),
        (f"{forest} {few}", False),  # ranks are compared as well
        (f"im4e {few},correction=bh", False),  # margins have a size of their own
        (f"immigrate {few},correction=bh", False),
        (f"mim:top=2 {few},correction=bh", False),  # bits have a size of their own
    ):
        selection = Chain.parse(chain).select(data, seed=1)
        assert (
            any("have the same sum in every resample" in text for text in selection.warnings)
            is said
        ), chain
        assert ("have the same sum in every resample" in capsys.readouterr().err) is said, chain


# Decisions that hang on the seed: how likely another says otherwise, and the sequential form


def test_stopping_early_uses_the_critical_value_for_the_number_drawn():
    # Every feature is clear: 4 relevant ones always win, k = 4.
    data = slides(0, 3000, 12, 4)
    test = Npfs(null="published", n=500, settle=0.01)
    tables = test.select_wrapped(TinyMim(k=4), data, None, Run()).tables
    drawn = tables["kept"].size
    assert drawn in looks(500) and drawn < 100
    assert tables["critical-value"][0] == critical_value(binomial_tail(drawn, 4 / 12), 0.01)
    assert set(np.flatnonzero(tables["relevant"])) == {0, 1, 2, 3}


def test_decisions_are_those_of_all_bootstraps():
    saved = 0
    for seed in range(2):
        data = slides(seed, 1000, 20, 4)
        full, short = (
            outcome(TinyMim(k=4), data, seed=seed, null="published", n=200, settle=settle)
            for settle in (None, 0.02)
        )
        drawn = short.tables["kept"].size
        saved += 200 - drawn
        unsettled = any("not every decision" in w for w in short.warnings)
        assert unsettled == (drawn == 200)
        np.testing.assert_array_equal(full.tables["relevant"], short.tables["relevant"])
    assert saved > 0


def test_size_stays_within_alpha_plus_the_error_of_settling():
    # Independent Bernoulli counts at p0 itself, looked at again and again.
    rng = np.random.default_rng(0)
    plan, p0, alpha, error, runs = looks(300), 0.2, 0.05, 0.02, 4000
    draws = np.cumsum(rng.random((runs, 300)) < p0, axis=1)
    relevant = np.zeros(runs, dtype=bool)
    open_runs = np.ones(runs, dtype=bool)
    for n in plan:
        critical = np.full(runs, critical_value(binomial_tail(n, p0), alpha))
        z = draws[:, n - 1]
        stop = open_runs & (settled(z, n, critical, error, len(plan)) | (n == plan[-1]))
        relevant[stop] = z[stop] > critical[stop]
        open_runs &= ~stop
    assert relevant.mean() <= alpha + error
    # Looking without the interval, as published code does, would name far more.
    naive = np.zeros(runs, dtype=bool)
    for n in plan:
        naive |= draws[:, n - 1] > critical_value(binomial_tail(n, p0), alpha)
    assert naive.mean() > alpha + error


def test_looks_end_at_n_and_grow():
    assert looks(20) == [20] and looks(21) == [20, 21]
    assert looks(1000)[-1] == 1000 and len(looks(1000)) < 13


def test_a_run_stopped_while_it_settles_continues_to_the_same_bits(tmp_path, monkeypatch):
    data = slides(7, 120, 20, 3)
    chain = Chain.parse(
        "mim:top=4 npfs:n=12,permutations=60,permuted_n=3,alpha=0.05,settle=0.2,fits=800"
    )
    looks, fits, made = [], [], []
    run_base, add, fitted = procedure.Procedure._run_base, MeanScores.add, Mim.select_many

    def look(trial: Any, *arguments: Any) -> Any:
        looks.append(trial.fits)
        return run_base(trial, *arguments)

    def stop_in_the_second(standings: Any, *arguments: Any) -> Any:
        fits.append(len(looks))
        if fits.count(2) == 150:
            raise KeyboardInterrupt
        return add(standings, *arguments)

    def counted(self: Any, data: Any, counts: Any, *rest: Any) -> Any:
        made.append(len(counts))
        return fitted(self, data, counts, *rest)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(procedure.Procedure, "_run_base", look)
        patch.setattr(MeanScores, "add", stop_in_the_second)
        chain.run(data, seed=4, out=tmp_path / "run.h5")
    whole = chain.run(data, seed=4)
    numbers = whole.stages[-1].selection.tables["numbers"]
    assert numbers.tolist() == [48, 240, 3], "two more looks"
    monkeypatch.setattr(Mim, "select_many", counted)
    assert chain.run(data, seed=4, out=tmp_path / "run.h5").digests() == whole.digests()
    # What the first look had made is not made again.
    assert 0 < sum(made) <= numbers[0] + numbers[1] * numbers[2] - 192 + 2


# How likely another seed says otherwise, and what would help


@pytest.mark.parametrize(
    ("null", "shape", "drawn", "seeds"),
    [
        # A table on which many decisions are open.
        ("permutation", (300, 20), (0,), 6),
        # Without permuted labels fewer are, and fits are few.
        ("published", (400, 40), range(3), 8),
        slow("permutation", (400, 40), range(2), 6),
    ],
)
def test_features_that_seeds_disagree_on_are_those_that_were_called_doubtful(
    null, shape, drawn, seeds
):
    options = {"permutations": 60} if null == "permutation" else {}
    predicted, observed = [], []
    for table in drawn:
        data = slides(table, *shape, 8)
        tables = [
            outcome(TinyMim(k=8), data, seed=s, null=null, n=50, **options).tables
            for s in range(seeds)
        ]
        relevant = np.array([t["relevant"] for t in tables])
        share = relevant.mean(axis=0)
        observed.append(np.where(relevant, 1 - share, share) * seeds / (seeds - 1))
        predicted.append(np.array([t["doubt"] for t in tables]))
    chance, other = np.concatenate(predicted), np.concatenate(observed)
    assert other.sum() > 3, "the tables are too easy to tell"
    assert 0.5 < other.sum() / chance.sum() < 2
    # The line that scores are held to is a far quantile, with a longer tail than the normal law.
    assert other[chance < 0.01].mean() < (0.02 if null == "permutation" else 0.01)
    assert other[chance > 0.2].mean() > 0.1


def test_the_warning_names_them_and_says_what_would_settle_them():
    data = slides(0, 400, 40, 8)
    result = outcome(TinyMim(k=8), data, null="published", n=50)
    near = np.flatnonzero(result.tables["doubt"] > 0.05)
    [text] = [w for w in result.warnings if w.startswith("borderline")]
    first = near[np.argmax(result.tables["doubt"][near])]
    assert data.feature_names[first] in text
    assert "About n=" in text and "would settle" in text
    clear = outcome(TinyMim(k=4), slides(0, 3000, 12, 4), null="published", n=400)
    assert not any("borderline" in w for w in clear.warnings)


def test_what_the_remedy_says_does_settle_it():
    z, line = np.array([24, 16, 21]), np.array([20, 20, 20])
    needed, unresolvable = remedy(z, 50, line)
    # The count of 21 is half a count off the line: 20 of 50 and 21 of 50 are one number to it.
    assert unresolvable.tolist() == [False, False, True]
    times = needed / 50
    chance = reversal_probability(
        np.round((z[:2] + 0.0) * times).astype(int),
        needed,
        np.round((line[:2] + 0.5) * times - 0.5).astype(int),
    )
    assert chance.max() <= 0.06


def test_likely_exceedances_are_the_quantiles_of_a_binomial_law():
    rng = np.random.default_rng(1)
    for cells, level in ((220, 0.01), (1000, 0.01), (10, 0.1), (5, 0.01), (100_000, 0.05)):
        low, high = likely_exceedances(cells, level)
        draws = rng.binomial(cells, level, size=20_000)
        assert abs(low - np.quantile(draws, 0.1587)) <= 1
        assert abs(high - np.quantile(draws, 0.8413)) <= max(1, 0.002 * high)


def test_a_message_about_shards_says_that_a_larger_table_helps():
    found = [outcome(TinyMim(k=5), slides(s, 800, 40, 8), null="shards", n=20) for s in range(6)]
    texts = [w for f in found for w in f.warnings if w.startswith("borderline")]
    assert texts
    assert all(text.endswith("Only a larger table helps") for text in texts)
