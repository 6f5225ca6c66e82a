"""Chains: what a row of stages means, its text, its order, its streams."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsframe.chains.chain import Chain, Stage
from fsframe.errors import DataError, PluginError, RequestError
from fsframe.method.run import Progress, Run, make_run
from fsframe.method.selection import Selection
from fsframe.table.dataset import Dataset
from tests.method.methods_for_tests import Mean, Nearest, Random, Vote, table


def chain(*methods: Any) -> Chain:
    return Chain([Stage(method.method_name(), method) for method in methods])


def noisy(n: int = 40, p: int = 8) -> Dataset:
    X = np.random.default_rng(1).standard_normal((n, p))
    y = np.arange(n) % 2
    X[:, 5] += 3 * y
    return Dataset.from_arrays(X, y)


selectors = st.sampled_from(
    ["mim", "relieff", "immigrate", "simba", "mrmr", "jmi", "npfs:base=mim", "lfe"]
)
tops = st.none() | st.integers(1, 99) | st.floats(0.01, 1.0)


@given(st.lists(st.tuples(selectors, tops), min_size=1, max_size=4))
def test_any_chain_of_methods_reads_back(stages: list[tuple[str, Any]]) -> None:
    texts = [
        name if top is None else name + ("," if ":" in name else ":") + f"top={top!r}"
        for name, top in stages
    ]
    parsed = Chain.parse(" ".join(texts))
    # Defaults are left out, and the order is the declared one.
    assert str(Chain.parse("immigrate:top=3,sigma=1.0,max-iter=7")) == "immigrate:max_iter=7,top=3"
    assert Chain.parse(str(parsed)) == parsed
    assert [stage.method.top for stage in parsed.stages] == [top for _, top in stages]


@pytest.mark.parametrize(
    ("text", "complaints"),
    [
        ("", ["the chain is empty"]),
        ("immigrate:sigma=-1", ["sigma must be a number > 0"]),
        ("npfs", ["npfs resamples another selector: put one on its left (`immigrate npfs`)"]),
        ("npfs mim", ["npfs resamples another selector"]),
        ("margin mim", ["margin is a classifier: it can only be the last stage"]),
        ("npfs:base=5x", ["base must be a selector or a chain"]),
        ("on", ["selector or classifier 'on'"]),
        # Everything wrong is reported at once.
        (
            "imigrate immigrate:sigm=1,bins=0 npfs:n=0",
            ["Did you mean `immigrate`", "no parameter 'sigm'. Did you mean `sigma`",
             "no parameter 'bins'", "n must be a whole number ≥ 1"],
        ),
    ],
)  # fmt: skip
def test_a_chain_that_makes_no_sense_says_why(text, complaints) -> None:
    with pytest.raises(RequestError) as caught:
        Chain.parse(text)
    assert all(complaint in str(caught.value) for complaint in complaints), str(caught.value)


def test_each_stage_sees_what_the_one_on_its_left_kept() -> None:
    steps = list(chain(Mean(top=3), Mean(top=2), Mean(top=1)).steps(table(), Run()))
    seen = [step.features_in.tolist() for step in steps]  # type: ignore[union-attr]
    kept = [step.selected.tolist() for step in steps]  # type: ignore[union-attr]
    assert seen == [[0, 1, 2, 3], [1, 2, 3], [2, 3]]
    assert kept == [[3, 2, 1], [3, 2], [3]]


def test_a_wrapping_stage_wraps_everything_on_its_left_and_sees_the_whole_table() -> None:
    seen: list[tuple[int, ...]] = []

    class Looking(Vote):
        def _select_wrapped(self, base: Any, data: Any, upstream: Any, run: Run) -> Selection:
            seen.append((data.n_features, len(base.stages), upstream.selected.size))
            return super()._select_wrapped(base, data, upstream, run)

    selection = chain(Mean(top=3), Random(top=2), Looking(top=4)).select(noisy())
    assert seen == [(8, 2, 2)] and selection.features_in.size == 8
    assert selection.scores.sum() == 4 * 2


def test_screening_is_inside_the_resample() -> None:
    """The mean over a resample, not over the table, decides what the next stage sees."""
    counts: list[np.ndarray] = []

    class Recording(Mean):
        def _select(self, data: Dataset, upstream: Any, run: Run) -> Selection:
            counts.append(np.zeros(1) if data.counts is None else data.counts)
            return super()._select(data, upstream, run)

    chain(Recording(top=2), Vote(n=3)).select(table())
    assert len(counts) == 1 + 3
    assert counts[0].tolist() == [0]
    assert all(c.sum() == 6 for c in counts[1:])


def test_a_wrapping_stage_with_a_base_is_an_ordinary_stage_and_wrapping_stages_nest() -> None:
    selection = chain(Mean(top=3), Vote(base="mim:top=1", top=1)).select(table())
    assert selection.features_in is not None and selection.features_in.tolist() == [1, 2, 3]
    assert selection.scores[[1, 2, 3]].sum() == 4
    selection = chain(Random(top=2), Vote(n=2, top=3), Vote(n=3, top=2)).select(noisy())
    assert selection.scores.sum() == 3 * 3


def test_streams_depend_on_stage_and_resample_only() -> None:
    data = noisy()
    both, run = chain(Random(top=5), Random(top=2)), Run(entropy=3, key=(1,))
    counts = np.ones((4, data.n_samples), dtype=int)

    def found(start: int, stop: int) -> list[bytes]:
        many = both.select_many(data, counts[start:stop], run=run.batch(start))
        return [selection.scores.tobytes() for selection in many]

    whole = found(0, 4)
    assert whole == [*found(0, 1), *found(1, 3), *found(3, 4)] and len(set(whole)) == 4
    # Stage i of resample b draws from (…, i, b).
    expected = Run(entropy=3, key=(1, 0, 2)).generator().random(8)
    first = chain(Random(top=5)).select_many(data, counts, run=run)[2]
    assert first.scores.tolist() == expected.tolist()


def test_a_chain_is_run_into_a_record_with_equal_digests_for_equal_seeds() -> None:
    parsed = Chain.parse("mim:top=4 relieff npfs:n=5,null=published")
    a, b = parsed.run(noisy(), seed=5), parsed.run(noisy(), seed=5)
    assert a.digests() == b.digests()
    assert a.digests() != parsed.run(noisy(), seed=6).digests()
    assert a.chain == str(parsed)
    assert [stage.name for stage in a.stages] == ["mim", "relieff", "npfs"]


def test_a_classifier_ends_the_chain_and_uses_what_was_kept() -> None:
    data = noisy()
    ending = chain(Mean(top=3), Nearest())
    assert ending.classifier == Nearest()
    assert [stage.name for stage in ending.selecting] == ["mean"]
    fitted = ending.fit(data)
    assert fitted.columns.size == 3
    assert ending.select(data).selected.size == 3
    with pytest.raises(RequestError, match="does not end with a classifier"):
        chain(Mean()).fit(data)
    with pytest.raises(RequestError, match="selects nothing"):
        chain(Nearest()).select(data)


def test_prediction_checks_its_table() -> None:
    data = noisy()
    fitted = chain(Mean(top=3), Nearest()).fit(data)
    assert fitted.predict(data.X).shape == (40,)
    assert set(fitted.predict_labels(data.X)) <= {0, 1}
    with pytest.raises(DataError, match="needs the 8 columns"):
        fitted.predict(data.X[:, :3])
    holes = data.X.copy()
    holes[2, fitted.columns[1]] = np.nan
    with pytest.raises(DataError, match=f"row 3, column {fitted.columns[1] + 1}"):
        fitted.predict(holes)
    # Objects, as of a data frame of mixed columns.
    result = attrs.evolve(fitted, fill=np.zeros(8)).predict(holes.astype(object))
    assert result.tolist() == fitted.predict(np.nan_to_num(holes)).tolist()


@pytest.mark.parametrize(
    ("method", "answer", "told"),
    [
        ("predict", np.full(40, 7), r"`nearest` .*the code 7; .* 40 codes in 0 … 1"),
        ("predict_scores", np.zeros(40), r"`nearest` .*not \(40, 2\)"),
        (
            "predict_scores",
            np.where(np.arange(80) < 6, np.nan, 0.0).reshape(40, 2),
            r"stage `nearest` \(.*Nearest\) returned scores that are NaN, in 3 of 40 rows",
        ),
    ],
    ids=["no code of a class", "one column", "NaN"],
)
def test_prediction_checks_the_authors_answer(method, answer, told) -> None:
    data = noisy()
    wrong = SimpleNamespace(**{method: lambda X: answer})
    fitted = attrs.evolve(chain(Mean(top=3), Nearest()).fit(data), inner=wrong)
    with pytest.raises(PluginError, match=told):
        getattr(fitted, method)(data.X)


def test_a_classifier_needs_classes_and_columns() -> None:
    target = Dataset.from_arrays(np.eye(4), [0.1, 0.2, 0.3, 0.4])
    with pytest.raises(DataError, match="needs classes"):
        Nearest().fit(target)
    with pytest.raises(RequestError, match="kept no column"):
        Nearest().fit(table(), Selection(selected=[], scores=np.full(4, np.nan)))


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("lasso", "impute lasso"),
        ("mim", "impute mim"),
        ("knn", "impute knn"),
        ("npfs:base=mim", "npfs:base=(impute mim)"),
        ("stability-study:base=lasso", "stability-study:base=(impute lasso)"),
    ],
)
def test_check_request_refuses_missing_values_of_the_first_stage(text: str, filled: str) -> None:
    with pytest.raises(DataError, match="missing values"):
        Chain.parse(text).check_request(HOLED)
    Chain.parse(filled).check_request(HOLED)


LASTED = Dataset.from_arrays(np.eye(20, 3), np.arange(20.0) + 1, event=np.ones(20))
HOLED = Dataset.from_arrays(np.where(np.eye(40, 8) > 0, np.nan, noisy().X), noisy().y)
EMPTY = Dataset.from_arrays(np.where(np.arange(8) == 2, np.nan, noisy().X), noisy().y)


@pytest.mark.parametrize(
    ("text", "data", "words"),
    [
        ("boruta", LASTED, ["boruta does not take"]),
        ("lasso", EMPTY, ["feature 'f3' (it has no value at all: leave it out)"]),
        ("mim", EMPTY, ["feature 'f3' (it has no value at all: leave it out), the first in"]),
        ("anova-f", EMPTY, ["feature 'f3' (it has no value at all: leave it out)"]),
        (
            "lasso relieff:discrete_features=[99]",
            HOLED,
            ["lasso does not take missing values", "relieff: discrete_features names column 99"],
        ),
    ],
)
def test_check_request_lists_missing_values_with_other_problems(text, data, words) -> None:
    with pytest.raises(DataError) as caught:
        Chain.parse(text).check_request(data)
    assert all(word in str(caught.value) for word in words)


keys = st.lists(st.integers(0, 50), max_size=4).map(tuple)


@given(st.integers(0, 2**70), keys, st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))
def test_how_work_is_cut_into_batches_changes_no_stream(
    entropy: int, key: tuple[int, ...], first: int, more: int, part: int
) -> None:
    run = Run(entropy=entropy, key=key)
    direct = run.child(first + more + part)
    assert run.batch(first + more).child(part) == direct
    assert run.batch(first).batch(more).child(part) == direct
    assert run.batch(first).generator(more + part).random() == direct.generator().random()


@given(keys, keys)
def test_different_keys_give_different_streams(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    draws = [Run(entropy=1, key=key).generator().integers(2**62) for key in (a, b)]
    assert (draws[0] == draws[1]) == (a == b)


def test_streams_are_those_of_numpys_seed_sequence() -> None:
    sequence = np.random.SeedSequence(12, spawn_key=(3, 1))
    expected = np.random.Generator(np.random.PCG64(sequence)).random(4)
    assert Run(entropy=12).child(3).generator(1).random(4).tolist() == expected.tolist()


@pytest.mark.parametrize("seed", [-1, 1.5, "7", True])
def test_a_seed_that_is_no_whole_number_from_zero_is_refused(seed: object) -> None:
    with pytest.raises(RequestError, match="the seed must be a whole number ≥ 0"):
        make_run(None, seed)  # type: ignore[arg-type]


def test_numpy_integers_are_seeds_and_a_given_run_is_kept() -> None:
    assert make_run(None, np.int64(5)).entropy == 5
    run = Run(entropy=3)
    assert make_run(run, 99) is run
    # A stage stands before the part of a batch.
    assert Run(key=(7,)).batch(40).stage(2).child(5).key == (7, 2, 45)


def test_progress_says_where_it_is_and_quiet_work_says_nothing() -> None:
    heard: list[Progress] = []
    run = Run(listener=heard.append).child(2)
    run.progress(1, 4, "npfs")
    run.quiet().progress(2, 4, "npfs")
    assert heard == [Progress(label="npfs", done=1, total=4, key=(2,))]


def test_a_record_holds_the_model_of_a_fitted_classifier() -> None:
    data = noisy()
    last = Chain.parse("mim:top=2 knn:standardize=false").run(data).stages[-1]
    assert np.array_equal(last.model["X"], data.X[:, last.features_in])
    assert np.array_equal(last.model["y"], data.y)
