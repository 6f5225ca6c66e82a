"""The page about a comparison: its verdict holds whatever the chains did, and its numbers too."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from fsframe.chains.chain import Chain
from fsframe.errors import RequestError
from fsframe.evaluation.comparison import Comparison, study_comparisons, study_of_runs
from fsframe.show.verdicts import verdict_of_comparison
from fsframe.storage import RunRecord
from fsframe.table.dataset import Dataset
from tests.evaluation.tables import separated


def run(chain: str, seed: int, measures: str = "accuracy,log-loss") -> RunRecord:
    names = ["signal", "a", "b", "c"]
    data = separated(40, 4, seed, signal=3.0, feature_names=names, name=f"t{seed}")
    text = f"cross-validation:base=({chain}),folds=4,repeats=1,metric=[{measures}]"
    return Chain.parse(text).run(data)


CHAINS = ("anova-f:top=1 knn", "mim:top=2 knn", "knn:k=1")


@pytest.fixture(scope="module")
def runs() -> list[RunRecord]:
    return [run(chain, seed) for seed in range(2) for chain in CHAINS]


@pytest.fixture(scope="module")
def found(runs: list[RunRecord]) -> dict[str, Comparison]:
    return study_comparisons(study_of_runs(runs, measures=["accuracy", "log-loss"]))


def one(found: Comparison) -> Comparison:
    """The first table of a comparison by itself."""
    narrow = {
        name: getattr(found, name)[:1]
        for name in ("data", "values", "standard_error", "intervals", "larger_class", "kept")
    }
    first = {key: test for key, test in found.papers.items() if not key[0]}
    return attrs.evolve(found, **narrow, papers=first, ranks=None, adjusted_p=None, overall=None)


def test_runs_of_a_folder_are_a_study_and_what_is_missing_is_named(runs):
    study = study_of_runs(runs, CHAINS[:2])
    assert study.tables == ("t0", "t1") and study.chains == CHAINS[:2]
    assert study.beside == ("knn:k=1",) and study.measures[0] == "accuracy"
    with pytest.raises(RequestError, match="missing: `mim:top=2 knn` on t1"):
        study_of_runs([*runs[:4], runs[5]], CHAINS)
    with pytest.raises(RequestError, match="missing: auc"):
        study_of_runs(runs, CHAINS, ["auc"])
    with pytest.raises(RequestError, match="twice"):
        study_of_runs([*runs, runs[0]])
    with pytest.raises(RequestError, match="not an evaluation"):
        study_of_runs([Chain.parse("mim:top=1").run(Dataset.from_arrays(np.eye(4), [0, 1, 0, 1]))])


def test_the_verdict_over_tables_names_the_best_rank_and_what_the_test_can_tell(found):
    given = found["accuracy"]
    first, second = verdict_of_comparison(given)
    best = given.chains[int(np.argmin(given.ranks.mean_ranks))]
    assert f"`{best}`" in first and "Over 2 tables" in first and "on all 2" in first
    # Two tables give p = 0.5 at best.
    assert "2 tables are too few" in second
    many = attrs.evolve(
        given,
        data=tuple("abcdefgh"),
        values=np.tile([[0.9, 0.8, 0.7]], (8, 1)),
        larger_class=np.full(8, 0.95),
        adjusted_p=np.where(np.eye(3) > 0, 1, 0.02),
        ranks=attrs.evolve(given.ranks, mean_ranks=np.array([1.0, 2, 3]), friedman_p=0.001),
    )
    first, second = verdict_of_comparison(many)
    assert "`anova-f:top=1 knn` has the best mean rank of 3 chains by accuracy, 1.00" in first
    assert (
        "on 0 of the 8" in first
        and "it differs significantly from 2 of the 2 others at 0.05" in second
    )
    # Where no two differ: seven tables could tell, six could not, however large the difference.
    for n, words in ((7, "significantly from 0 of the 2 others"), (6, "6 tables are too few")):
        few = {name: getattr(many, name)[:n] for name in ("data", "values", "larger_class")}
        alike = attrs.evolve(many, **few, adjusted_p=np.ones((3, 3)))
        assert words in verdict_of_comparison(alike)[1]
    shared = attrs.evolve(many, ranks=attrs.evolve(many.ranks, mean_ranks=np.array([1.5, 1.5, 3])))
    assert "and `mim:top=2 knn` share the best mean rank" in verdict_of_comparison(shared)[0]


def test_the_verdict_of_one_table_turns_losses_and_tells_ties(found):
    loss = one(found["log-loss"])
    first, _ = verdict_of_comparison(loss)
    assert f"`{loss.chains[int(loss.values[0].argmin())]}`" in first and "On t0" in first
    tied = attrs.evolve(one(found["accuracy"]), values=np.array([[0.9, 0.9, 0.5]]))
    assert "share the best accuracy of 3 chains: 0.90" in verdict_of_comparison(tied)[0]
    unknown = attrs.evolve(tied, values=np.array([[np.nan, 0.9, 0.5]]))
    assert "has no value for some" in verdict_of_comparison(unknown)[0]
    untested = attrs.evolve(tied, papers={})
    assert "nothing is tested" in verdict_of_comparison(untested)[1]


def test_the_page_holds_every_chain_and_is_the_same_every_time(runs, found):
    from fsframe.show.page import report_page_of_study

    study = study_of_runs(runs, CHAINS[:2], ["accuracy", "log-loss"], name="toy")
    page = report_page_of_study(study)
    assert page == report_page_of_study(study)
    for words in (
        "toy: 2 chains on 2 tables",
        "Mean ranks over the tables",
        "against stability: t1",
        "Results by log loss",
        "all: knn:k=1",
        "All pairs of chains, by table",
        "all</td>",
        "@article{nadeau2003",
    ):
        assert words in page
    value = found["accuracy"].values[1, 0]
    assert f"<td>t1</td><td>anova-f:top=1 knn</td><td class=n>{value:.4f}</td>" in page
    assert page.count("<script") == 1


def test_pictures_by_a_loss_put_the_smallest_first(runs, found):
    from fsframe.show import plots

    drawn = plots.critical_difference(runs, metric="log-loss")
    texts = " ".join(text.get_text() for text in drawn.axes[0].texts)
    for chain, rank in zip(CHAINS, found["log-loss"].ranks.mean_ranks, strict=True):
        assert f"{chain} ({rank:.2f})" in texts
    panel = plots.accuracy_against_stability(runs[:2], metric="log-loss").axes[0]
    assert panel.yaxis_inverted() and "log-loss" in panel.get_ylabel()
