"""Chains: what a row of stages means, its text, its order, its streams."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fsframe
from fsframe.chains.chain import Chain, Stage
from fsframe.errors import DataError, PluginError, RequestError
from fsframe.method.run import Progress, Run
from fsframe.method.selection import Selection
from fsframe.resampling.resamples import select_resamples
from fsframe.table.dataset import Dataset

from .methods_for_tests import Mean, Nearest, Random, Vote, Weighing, table


def chain(*methods: Any) -> Chain:
    return Chain([Stage(method.method_name(), method) for method in methods])


def noisy(n: int = 40, p: int = 8) -> Dataset:
    X = np.random.default_rng(1).standard_normal((n, p))
    y = np.arange(n) % 2
    X[:, 5] += 3 * y
    return Dataset.from_arrays(X, y)


def test_defaults_are_left_out_of_the_text_and_order_is_the_declared_one() -> None:
    assert str(Chain.parse("immigrate:top=3,sigma=1.0,max-iter=7")) == (
        "immigrate:max_iter=7,top=3"
    )


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
    assert Chain.parse(str(parsed)) == parsed
    assert [stage.method.top for stage in parsed.stages] == [top for _, top in stages]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "the chain is empty"),
        ("imigrate", "Did you mean `immigrate`"),
        ("immigrate:sigm=1", "no parameter 'sigm'. Did you mean `sigma`"),
        ("immigrate:sigma=-1", "sigma must be a number > 0"),
        ("npfs", r"npfs resamples another selector: put one on its left \(`immigrate npfs`\)"),
        ("npfs mim", "npfs resamples another selector"),
        ("margin mim", "margin is a classifier: it can only be the last stage"),
        ("npfs:base=5x", "base must be a selector or a chain"),
        ("on", "selector or classifier 'on'"),
    ],
)
def test_a_chain_that_makes_no_sense_says_why(text: str, complaint: str) -> None:
    with pytest.raises(RequestError, match=complaint):
        Chain.parse(text)


def test_everything_wrong_with_a_chain_is_reported_at_once() -> None:
    with pytest.raises(RequestError) as caught:
        Chain.parse("imigrate mim:tp=4,bins=0 npfs:n=0")
    message = str(caught.value)
    for part in ("imigrate", "no parameter 'tp'", "bins must be", "n must be a whole number ≥ 1"):
        assert part in message


def test_a_name_of_another_provider_is_a_plugin_error_or_no_such_name() -> None:
    with pytest.raises((RequestError, PluginError)):
        Chain.parse("stranger/immigrate")


def test_each_stage_sees_what_the_one_on_its_left_kept() -> None:
    steps = list(chain(Mean(top=3), Mean(top=2), Mean(top=1)).steps(table(), Run()))
    seen = [step.features_in.tolist() for step in steps]  # type: ignore[union-attr]
    kept = [step.selected.tolist() for step in steps]  # type: ignore[union-attr]
    assert seen == [[0, 1, 2, 3], [1, 2, 3], [2, 3]]
    assert kept == [[3, 2, 1], [3, 2], [3]]


def test_weights_travel_through_stages_that_have_none() -> None:
    found = chain(Weighing(), Mean(top=3), Mean(top=2)).select(table())
    assert found.weights is not None and found.weights.tolist() == [0, 0, 3, 4]


def test_a_wrapping_stage_wraps_everything_on_its_left_and_sees_the_whole_table() -> None:
    seen: list[tuple[int, ...]] = []

    class Looking(Vote):
        def _select_wrapped(self, base: Any, data: Any, upstream: Any, run: Run) -> Selection:
            seen.append((data.n_features, len(base.stages), upstream.selected.size))
            return super()._select_wrapped(base, data, upstream, run)

    found = chain(Mean(top=3), Random(top=2), Looking(top=4)).select(noisy())
    assert seen == [(8, 2, 2)]
    assert found.features_in is not None and found.features_in.size == 8
    assert found.scores.sum() == 4 * 2


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


def test_a_wrapping_stage_with_a_base_is_an_ordinary_stage() -> None:
    found = chain(Mean(top=3), Vote(base="mim:top=1", top=1)).select(table())
    assert found.features_in is not None and found.features_in.tolist() == [1, 2, 3]
    assert found.scores[[1, 2, 3]].sum() == 4


def test_wrapping_stages_nest() -> None:
    found = chain(Random(top=2), Vote(n=2, top=3), Vote(n=3, top=2)).select(noisy())
    assert found.scores.sum() == 3 * 3
    again = chain(Random(top=2), Vote(n=2, top=3), Vote(n=3, top=2)).select(noisy())
    assert again.scores.tolist() == found.scores.tolist()


def test_streams_depend_on_stage_and_resample_only() -> None:
    data = noisy()
    both = chain(Random(top=5), Random(top=2))
    counts = np.ones((4, data.n_samples), dtype=int)
    run = Run(entropy=3, key=(1,))
    whole = both.select_many(data, counts, run=run)
    parts = [
        found
        for start in (0, 1, 3)
        for found in both.select_many(
            data, counts[start : {0: 1, 1: 3, 3: 4}[start]], run=run.batch(start)
        )
    ]
    assert [s.scores.tobytes() for s in whole] == [s.scores.tobytes() for s in parts]
    assert len({s.scores.tobytes() for s in whole}) == 4
    # Stage i of resample b draws from (…, i, b).
    expected = Run(entropy=3, key=(1, 0, 2)).generator().random(8)
    first = chain(Random(top=5)).select_many(data, counts, run=run)[2]
    assert first.scores.tolist() == expected.tolist()


def test_resamples_come_in_order_whatever_the_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    data = noisy()
    counts = np.ones((7, data.n_samples), dtype=int)
    heard: list[Progress] = []
    run = Run(entropy=3, listener=heard.append)
    found = [s.scores.tolist() for s in select_resamples(Random(), data, counts, run)]
    assert found == [run.generator(b).random(8).tolist() for b in range(7)]
    assert [heard[0].done, heard[-1].done, heard[-1].total] == [0, 7, 7]


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


def test_prediction_checks_its_table_and_the_authors_answer() -> None:
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
    filling = attrs.evolve(fitted, fill=np.zeros(8))
    # Objects, as of a data frame of mixed columns.
    found = filling.predict(holes.astype(object))
    assert found.tolist() == fitted.predict(np.nan_to_num(holes)).tolist()

    class Wrong:
        def predict(self, X: np.ndarray) -> np.ndarray:
            return np.full(len(X), 7)

        def predict_scores(self, X: np.ndarray) -> np.ndarray:
            return np.zeros(len(X))

    wrong = attrs.evolve(fitted, inner=Wrong())
    with pytest.raises(PluginError, match=r"`nearest` .*the code 7; .* 40 codes in 0 … 1"):
        wrong.predict(data.X)
    with pytest.raises(PluginError, match=r"`nearest` .*not \(40, 2\)"):
        wrong.predict_scores(data.X)

    class Lacking(Wrong):
        def predict_scores(self, X: np.ndarray) -> np.ndarray:
            scores = np.zeros((len(X), 2))
            scores[:3, 1] = np.nan
            return scores

    said = r"stage `nearest` \(.*Nearest\) returned scores that are NaN, in 3 of 40 rows"
    with pytest.raises(PluginError, match=said):
        attrs.evolve(fitted, inner=Lacking()).predict_scores(data.X)


def test_a_classifier_needs_classes_and_columns() -> None:
    target = Dataset.from_arrays(np.eye(4), [0.1, 0.2, 0.3, 0.4])
    with pytest.raises(DataError, match="needs classes"):
        Nearest().fit(target)
    with pytest.raises(RequestError, match="kept no column"):
        Nearest().fit(table(), Selection(selected=[], scores=np.full(4, np.nan)))


def test_registry_objects_are_mappings_of_light_names() -> None:
    assert "immigrate" in fsframe.selectors
    assert list(fsframe.selectors) == sorted(fsframe.selectors)
    assert len(fsframe.selectors) == len(list(fsframe.selectors))
    offer = fsframe.selectors.offer("immigrate")
    assert (offer.provider, offer.version) == ("margin", fsframe.__version__)
    assert fsframe.selectors["immigrate"].method_name() == "immigrate"
    assert fsframe.selectors.get("no-such-thing") is None
    assert fsframe.selectors.get("immigrate") is fsframe.selectors["margin/immigrate"]


@pytest.mark.parametrize(
    "text", ["lasso", "mim", "knn", "npfs:base=mim", "stability-study:base=lasso"]
)
def test_check_request_refuses_missing_values_of_the_first_stage(text: str) -> None:
    data = noisy()
    X = data.X.copy()
    X[3, 2] = np.nan
    holed = Dataset.from_arrays(X, data.y)
    with pytest.raises(DataError, match="missing values"):
        Chain.parse(text).check_request(holed)
    filled = text.replace("base=", "base=(impute ") + ")" if "base=" in text else f"impute {text}"
    Chain.parse(filled).check_request(holed)


def test_check_request_lists_missing_values_with_other_problems() -> None:
    X = np.where(np.eye(40, 8) > 0, np.nan, noisy().X)
    with pytest.raises(DataError) as caught:
        chain = Chain.parse("lasso relieff:discrete_features=[99]")
        chain.check_request(Dataset.from_arrays(X, noisy().y))
    assert "lasso does not take missing values" in str(caught.value)
    assert "relieff: discrete_features names column 99" in str(caught.value)
