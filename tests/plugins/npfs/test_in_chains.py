"""Wrapping stages in chains, degenerate requests and tables; which pairs recur."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest

import fsframe
from fsframe.chains.chain import Chain
from fsframe.errors import RequestError
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.method.selector import Selector
from fsframe.registry import nulls
from fsframe.table.dataset import Dataset
from fsframe.testing.tables import assert_equal
from fsframe_npfs.methods.npfs import Npfs

from .conftest import TinyMim, outcome, slides, watching


@pytest.mark.parametrize(
    "stage", ["npfs:n=20,permuted_n=2", "ensemble:n=10", "npfs:n=20,null=published"]
)
def test_a_stage_without_base_wraps_everything_on_its_left(stage):
    data = slides(0, 300, 20, 3)
    selection = Chain.parse(f"mim:top=10 mim:top=4 {stage}").select(data, seed=0)
    # Columns that the first screening kept in no bootstrap still belong to the answer's universe.
    assert np.isfinite(selection.scores).sum() == 20
    assert set(selection.selected[:2]) <= {0, 1, 2}


def test_a_named_base_sees_only_what_was_left_and_is_warned_of():
    data = slides(0, 300, 20, 3)
    selection = Chain.parse("mim:top=6 npfs:base=mim:top=3,n=20").select(data, seed=0)
    assert np.isfinite(selection.scores).sum() == 6
    assert any("used all labels" in w for w in selection.warnings)


def test_an_outer_resample_is_drawn_from_not_ignored():
    data = slides(0, 200, 20, 3)
    counts = np.zeros(200, np.int64)
    counts[:100] = 2
    seen: list[np.ndarray] = []

    base = watching(lambda _, counts: seen.append(counts), 4)
    outcome(base, data.with_counts(counts), n=10, null="published")
    drawn = np.concatenate(seen)
    # The hundred rows left out are gone, and the rest stand for two hundred draws.
    assert drawn.shape == (10, 100)
    np.testing.assert_array_equal(drawn.sum(axis=1), 200)


def test_stratified_draws_keep_class_sizes_under_permuted_labels_too():
    data = slides(0, 150, 12, 3)
    sizes = np.bincount(data.y)

    def look(data: Dataset, counts: Any) -> None:
        for row in counts:
            np.testing.assert_array_equal(np.bincount(data.y, weights=row), sizes)

    outcome(watching(look, 4), data, n=10)


def test_progress_counts_all_resamples_of_the_test():
    seen = []
    run = Run(listener=seen.append)
    Npfs(n=10, permutations=9).select_wrapped(TinyMim(k=4), slides(0, 150, 12, 3), None, run)
    assert {p.total for p in seen} == {100}
    done = [p.done for p in seen]
    assert done == sorted(done) and done[-1] == 100


def test_every_null_has_its_promise_and_the_help_says_which_hold_their_level():
    (parameter,) = (p for p in Npfs.parameters() if p.name == "null")
    assert set(parameter.kind.choices()) == set(nulls)
    assert set(nulls) == {"matlab", "permutation", "published", "shards"}
    assert all(nulls[name].promise for name in nulls)
    for null in ("published", "matlab"):
        assert "does not keep its level" in nulls[null].promise
    assert "does not keep its level" in parameter.help


def test_immigrate_under_the_default_test_on_a_small_table_with_two_relevant_columns():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 5))
    data = Dataset.from_arrays(X, (X[:, 0] + X[:, 3] > 0).astype(int))
    selection = Chain.parse("immigrate:top=2 npfs:n=8,permutations=20,alpha=0.05").select(
        data, seed=0
    )
    assert set(selection.selected) == {0, 3}
    assert selection.pair_weights is not None and "pair_weights" in selection.carried


@pytest.mark.parametrize("null", ["permutation,permutations=9,alpha=0.2", "published"])
def test_the_report_says_what_the_null_promises(tmp_path, null):
    from fsframe.show.page import report_page

    out = tmp_path / "run.h5"
    Chain.parse(f"mim:top=3 npfs:n=4,null={null}").run(slides(0, 150, 12, 3), out=out)
    page = report_page(fsframe.load_run(out))
    assert nulls[null.partition(",")[0]].promise[:60] in page


@pytest.mark.parametrize(
    "stage",
    ["npfs:n=4,permutations=9,permuted_n=2,alpha=0.2",
     "npfs:n=6,permutations=24,permuted_n=2,alpha=0.05,settle=0.1",
     "npfs:n=10,null=published", "cpss:bound=permutation,pairs=4",
     "ipss:bound=permutation,pairs=4"],
)  # fmt: skip
def test_an_executor_and_little_memory_change_no_bit(stage):
    from concurrent.futures import ThreadPoolExecutor

    data = slides(0, 150, 12, 3)
    chain = Chain.parse(f"mim:top=3 {stage}")
    plain = chain.select(data, run=Run(entropy=5))
    with ThreadPoolExecutor(2) as executor:
        shared = chain.select(data, run=Run(entropy=5, executor=executor))
    # So little that each labelling is a piece of work of its own.
    narrow = chain.select(data, run=Run(entropy=5, memory=100_000))
    assert_equal(shared, plain, "with an executor")
    assert_equal(narrow, plain, "with little memory")


# Degenerate requests and tables


def with_columns(data: Dataset, *extra: np.ndarray) -> Dataset:
    return Dataset.from_arrays(np.column_stack((data.X, *extra)), data.y)


REFUSED = [
    # K=25, k=24: (24/25)^n first falls to 0.01 at n = 113.
    (24, (0, 300, 25, 5), {"null": "published", "n": 100}, "n=113 or more"),
    (5, (0,), {"null": "published", "n": 1}, "n=2 or more"),
    (5, (0,), {"null": "published", "n": 3, "correction": "bonferroni"}, "n=4 or more"),
    *((20, (0, 300, 20, 5), {"n": 10, **options}, "keeps all 20 usable features")
      for options in ({"null": "published"}, {"null": "shards"})),
    (10, (0, 200, 20, 5), {"null": "published", "bias": 0.6}, r"lower bias=0\.6"),
    (5, (0, 90), {"null": "shards", "n": 100}, r"at most n=\d+ shards"),
    (5, (0, 200, 22), {"permutations": 3}, "permutations=4 or more"),
    (5, (0, 200, 22), {"permutations": 50, "correction": "bonferroni"}, "permutations=100 or more"),
    (5, (0, 200, 22), {"permutations": 98, "compare": "own"}, "permutations=99 or more"),
]  # fmt: skip


@pytest.mark.parametrize(("k", "table", "options", "told"), REFUSED)
def test_what_cannot_be_tested_is_refused_with_what_would_do(k, table, options, told):
    with pytest.raises(RequestError, match=told):
        outcome(TinyMim(k=k), slides(*table), **options)


def test_as_many_bootstraps_as_were_said_do():
    result = outcome(TinyMim(k=24), slides(0, 300, 25, 5), null="published", n=113)
    assert result.tables["z"].max() == 113


def test_at_least_rule_with_one_bootstrap_does_not_name_what_was_never_picked():
    # k/K = 0.004 < alpha: zeta is 0, and z >= 0 holds for every feature.
    data = slides(0, 300, 250, 5)
    result = outcome(TinyMim(k=2), data, null="matlab", n=1)
    assert result.tables["critical-value"][0] == 0 and result.selected.size == 2


def test_scores_of_a_base_that_keeps_everything_can_be_compared():
    result = outcome(TinyMim(k=20), slides(0, 1000, 20, 2), n=10, permutations=30)
    assert set(result.selected) == {0, 1}


def test_constant_columns_are_never_relevant_and_are_named():
    # 10 relevant, 30 noise, 60 empty columns *before* them that win every tie at MI 0.
    live = slides(0, 500, 40, 10)
    data = Dataset.from_arrays(np.column_stack((np.zeros((500, 60)), live.X)), live.y)
    result = outcome(TinyMim(k=30), data, null="published")
    assert (result.selected >= 60).all() and np.isnan(result.scores[:60]).all()
    assert any("constant columns" in w and "f1, f2" in w for w in result.warnings)
    np.testing.assert_allclose(result.tables["p0"], result.tables["kept"] / 40)


def test_a_base_that_fills_up_with_constant_columns_is_refused():
    data = with_columns(slides(0, 300, 40, 10), np.zeros((300, 160)))
    with pytest.raises(RequestError, match="keeps all 40 usable features"):
        outcome(TinyMim(k=60), data, null="published")


def test_columns_that_go_constant_in_a_bootstrap_are_not_marked_there():
    rare = np.zeros((200, 3))
    rare[7, :] = 1.0  # one row only: absent from a bootstrap 37 % of the time
    live = slides(0, 200, 6, 2)
    data = Dataset.from_arrays(np.column_stack((rare, live.X)), live.y)
    result = outcome(TinyMim(k=8), data, null="published", n=400, alpha=0.4)
    share = result.tables["bootstrap-matrix"][:, 0].mean()
    assert 0.4 < share <= 0.66  # without the guard it is in every list
    assert result.tables["kept"].min() < 8


@attrs.frozen(kw_only=True)
class Biased(Selector):
    """Three columns by correlation: one of them in any case, another in none."""

    always: int = -1
    never: int = -1

    def _select(self, data: Any, upstream: Any, run: Any) -> Selection:
        scores = np.abs(np.corrcoef(data.X.T, data.y)[-1, :-1])
        rank = np.argsort(-scores, kind="stable")
        order = sorted((c for c in rank if c != self.never), key=lambda c: c != self.always)
        return Selection(selected=order[:3], scores=scores)


def test_exact_copies_that_a_redundancy_shy_base_leaves_out_are_pointed_at():
    base = slides(0, 400, 5, 3)
    data = with_columns(base, base.X[:, 0])
    result = outcome(Biased(never=5), data, null="published", n=60, alpha=0.05)
    assert 0 in result.selected and 5 not in result.selected
    assert any(w.startswith("f6: not relevant") and "identical to f1" in w for w in result.warnings)


def test_a_table_without_two_usable_columns_is_refused():
    X = np.column_stack((np.arange(20) % 11, np.zeros(20)))
    with pytest.raises(RequestError, match="at least two are needed"):
        outcome(TinyMim(k=1), Dataset.from_arrays(X, np.arange(20) % 2))
    # Before any work starts, too.
    alone = Dataset.from_arrays(X[:, :1], np.arange(20) % 2)
    chain = Chain.parse("npfs:base=immigrate,n=4,permutations=9,alpha=0.3")
    assert any("at least two are needed" in problem for problem in chain.request_problems(alone))


def test_top_keeps_the_most_frequent_and_says_what_is_not_relevant():
    data = slides(0, 500, 20, 3)
    result = outcome(TinyMim(k=4), data, n=30, top=6)
    assert result.selected.size == 6
    assert any("top=6 keeps 6 features, of which only" in w for w in result.warnings)
    assert outcome(TinyMim(k=4), data, n=30, top=2).selected.size == 2
