"""Degenerate requests and tables: a clear error, or an answer that is still true."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest

from fsframe.chains.chain import Chain
from fsframe.errors import RequestError
from fsframe.method.selection import Selection
from fsframe.table.dataset import Dataset

from .conftest import TinyMim, outcome, slides, watching


def with_columns(data: Dataset, *extra: np.ndarray) -> Dataset:
    return Dataset.from_arrays(np.column_stack((data.X, *extra)), data.y)


REFUSED = [
    # K=25, k=24: (24/25)^n first falls to 0.01 at n = 113.
    (24, (0, 300, 25, 5), {"null": "published", "n": 100}, "n=113 or more"),
    (5, (0,), {"null": "published", "n": 1}, "n=2 or more"),
    (5, (0,), {"null": "published", "n": 3, "correction": "bonferroni"}, "n=4 or more"),
    *((20, (0, 300, 20, 5), {"n": 10, **options}, "keeps all 20 usable features")
      for options in ({"null": "published"}, {"statistic": "counts"}, {"null": "shards"})),
    (10, (0, 200, 20, 5), {"null": "published", "bias": 0.6}, r"lower bias=0\.6"),
    (5, (0, 200), {"of": "pairs"}, "returns pair weights"),
    (5, (0, 90), {"null": "shards", "n": 100}, r"at most n=\d+ shards"),
    (5, (0, 200, 22), {"permutations": 3}, "permutations=4 or more"),
    (5, (0, 200, 22), {"permutations": 50, "correction": "bonferroni"}, "permutations=100 or more"),
    (5, (0, 200, 22), {"permutations": 98, "compare": "own"}, "permutations=99 or more"),
]  # fmt: skip


@pytest.mark.parametrize(("k", "table", "options", "told"), REFUSED)
def test_what_cannot_be_tested_is_refused_with_what_would_do(
    k: int, table: tuple[int, ...], options: dict[str, Any], told: str
) -> None:
    with pytest.raises(RequestError, match=told):
        outcome(TinyMim(k=k), slides(*table), **options)


def test_as_many_bootstraps_as_were_said_do() -> None:
    found = outcome(TinyMim(k=24), slides(0, 300, 25, 5), null="published", n=113)
    assert found.tables["z"].max() == 113


def test_at_least_rule_with_one_bootstrap_does_not_name_what_was_never_picked() -> None:
    # k/K = 0.004 < alpha: zeta is 0, and z >= 0 holds for every feature.
    data = slides(0, 300, 250, 5)
    found = outcome(TinyMim(k=2), data, null="matlab", n=1)
    assert found.tables["critical-value"][0] == 0 and found.selected.size == 2


def test_scores_of_a_base_that_keeps_everything_can_be_compared() -> None:
    found = outcome(TinyMim(k=20), slides(0, 1000, 20, 2), n=10, permutations=30)
    assert set(found.selected) == {0, 1}


def test_constant_columns_are_never_relevant_and_are_named() -> None:
    # 10 relevant, 30 noise, 60 empty columns *before* them that win every tie at MI 0.
    live = slides(0, 500, 40, 10)
    data = Dataset.from_arrays(np.column_stack((np.zeros((500, 60)), live.X)), live.y)
    found = outcome(TinyMim(k=30), data, null="published")
    assert (found.selected >= 60).all() and np.isnan(found.scores[:60]).all()
    assert any("constant columns" in w and "f1, f2" in w for w in found.warnings)
    np.testing.assert_allclose(found.tables["p0"], found.tables["kept"] / 40)


def test_a_base_that_fills_up_with_constant_columns_is_refused() -> None:
    data = with_columns(slides(0, 300, 40, 10), np.zeros((300, 160)))
    with pytest.raises(RequestError, match="keeps all 40 usable features"):
        outcome(TinyMim(k=60), data, null="published")


def test_columns_that_go_constant_in_a_bootstrap_are_not_marked_there() -> None:
    rare = np.zeros((200, 3))
    rare[7, :] = 1.0  # one row only: absent from a bootstrap 37 % of the time
    live = slides(0, 200, 6, 2)
    data = Dataset.from_arrays(np.column_stack((rare, live.X)), live.y)
    found = outcome(TinyMim(k=8), data, null="published", n=400, alpha=0.4)
    share = found.tables["bootstrap-matrix"][:, 0].mean()
    assert 0.4 < share <= 0.66  # without the guard it is in every list
    assert found.tables["kept"].min() < 8


def test_exact_copies_that_a_redundancy_shy_base_leaves_out_are_pointed_at() -> None:
    from fsframe.method.selector import Selector

    @attrs.frozen(kw_only=True)
    class FirstOfCopies(Selector):
        def _select(self, data: Any, upstream: Any, run: Any) -> Selection:
            scores = np.abs(np.corrcoef(data.X.T, data.y)[-1, :-1])
            order = [c for c in np.argsort(-scores, kind="stable") if c != 5][:3]
            return Selection(selected=order, scores=scores)

    base = slides(0, 400, 5, 3)
    data = with_columns(base, base.X[:, 0])
    found = outcome(FirstOfCopies(), data, null="published", n=60, alpha=0.05)
    assert 0 in found.selected and 5 not in found.selected
    assert any(w.startswith("f6: not relevant") and "identical to f1" in w for w in found.warnings)


def test_a_class_of_two_rows_stays_in_every_bootstrap() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 11, size=(100, 10))
    y = np.zeros(100, int)
    y[:2] = 1
    seen = []

    def look(data: Dataset, counts: Any) -> None:
        seen.append((counts[:, data.y == 1] > 0).all())

    for stratify in (True, False):
        outcome(
            watching(look, 3), Dataset.from_arrays(X, y), null="published", n=50, stratify=stratify
        )
    assert seen and all(seen)


def test_a_table_without_two_usable_columns_is_refused() -> None:
    X = np.column_stack((np.arange(20) % 11, np.zeros(20)))
    with pytest.raises(RequestError, match="at least two are needed"):
        outcome(TinyMim(k=1), Dataset.from_arrays(X, np.arange(20) % 2))
    # Before any work starts, too.
    alone = Dataset.from_arrays(X[:, :1], np.arange(20) % 2)
    chain = Chain.parse("npfs:base=immigrate,of=pairs,n=4,permutations=9,alpha=0.3")
    assert any("at least two are needed" in problem for problem in chain.request_problems(alone))


@pytest.mark.parametrize(
    ("stage", "told"),
    [
        ("npfs:null=published,permutations=5", "permutations is for"),
        ("npfs:null=published,compare=own", "compare is for"),
        ("npfs:bias=0.1", "bias"),
        ("npfs:null=shards,fraction=0.5", "fraction is for bootstraps"),
        ("npfs:null=shards,stratify=false", "stratify is for bootstraps"),
        ("npfs:null=shards,settle=0.01", "settle is for bootstraps"),
        ("npfs:pairs=3", "of=pairs"),
        ("npfs:statistic=scores,null=published", "statistic=scores is for null=permutation"),
        ("npfs:statistic=scores,of=pairs", "statistic=scores is for of=features"),
        ("npfs:fits=5000", "fits limits what settle adds"),
        ("npfs:fits=5000,settle=0.1,statistic=counts", "fits limits what settle adds"),
        ("npfs:fits=1000000000000,settle=0.1", "at most 1e.08 are allowed"),
        ("npfs:permuted_n=5,statistic=counts", "permuted_n is for statistic=scores"),
        ("npfs:permuted_n=50,n=20", "permuted_n=50 is more than n=20"),
        ("cpss:permutations=9", "permutations is for bound=permutation"),
        ("cpss:threshold=0.4,bound=unimodal", r"needs a threshold above 0\.5"),
        ("ipss:level=0.05,bound=permutation,permutations=18", r"kept at 0\.05; at least 19 are"),
    ],
)
def test_settings_that_do_not_fit_are_refused(stage: str, told: str) -> None:
    with pytest.raises(RequestError, match=told):
        Chain.parse(f"mim {stage}")


def test_columns_preferred_whatever_the_label_are_named() -> None:
    from fsframe.method.selector import Selector

    @attrs.frozen(kw_only=True)
    class AlwaysFirst(Selector):
        def _select(self, data: Any, upstream: Any, run: Any) -> Selection:
            scores = np.abs(np.corrcoef(data.X.T, data.y)[-1, :-1])
            order = [0, *(c for c in np.argsort(-scores) if c != 0)][:3]
            return Selection(selected=order, scores=scores)

    data = slides(0, 300, 12, 3)
    counts: dict[str, Any] = {"n": 15, "statistic": "counts"}
    pooled = outcome(AlwaysFirst(), data, permutations=30, compare="pooled", **counts)
    assert not pooled.selected.size
    assert any("compare=centred corrects for it" in w for w in pooled.warnings)
    for settings in ({"permutations": 30}, {"compare": "own"}):
        found = outcome(AlwaysFirst(), data, **counts, **settings)
        assert 0 not in found.selected and found.selected.size
        assert any(w.startswith("f1: selected in nearly all 15") for w in found.warnings)


def test_top_keeps_the_most_frequent_and_says_what_is_not_relevant() -> None:
    data = slides(0, 500, 20, 3)
    found = outcome(TinyMim(k=4), data, n=30, top=6)
    assert found.selected.size == 6
    assert any("top=6 keeps 6 features, of which only" in w for w in found.warnings)
    assert outcome(TinyMim(k=4), data, n=30, top=2).selected.size == 2
