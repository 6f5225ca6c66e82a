"""The selectors of the margin family as a chain uses them, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import fsframe
from fsframe.errors import DataError, MemoryBoundError, RequestError
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.table.dataset import Dataset
from fsframe_margin.methods.bim import Bim, BimVote
from fsframe_margin.methods.im4e import Im4e
from fsframe_margin.methods.immigrate import Immigrate
from fsframe_margin.methods.local_learning import Irelief, Lfe, Logo
from fsframe_margin.methods.margin_selector import Margin
from fsframe_margin.methods.nearest_margins import Gflip

SELECTORS = [
    "immigrate", "im4e", "bim", "simba", "gflip", "irelief", "lfe", "logo", "mbiw", "simba-mbiw",
]  # fmt: skip


@pytest.fixture(scope="module")
def data() -> Dataset:
    rng = np.random.default_rng(12)
    X = rng.standard_normal((70, 6))
    y = np.where(X[:, 1] + 0.4 * rng.standard_normal(70) > 0, "yes", "no")
    y[:12] = "maybe"
    X[:12, 4] += 2.5
    return Dataset.from_arrays(X, y)


@pytest.mark.parametrize("name", SELECTORS)
def test_a_class_with_one_member_is_a_miss_only_and_is_warned_of(name, data):
    labels = np.array(data.classes)[data.y].astype("<U8")
    labels[40] = "lonely"
    lonely = Dataset.from_arrays(data.X, labels)
    found = fsframe.selectors[name]().select(lonely, seed=0)
    assert np.isfinite(found.scores).all()
    assert any("one member" in note for note in found.warnings)


@pytest.mark.parametrize("sigma", [1e-4, 1e4])
@pytest.mark.parametrize("kind", [Immigrate, Im4e, Irelief, Logo])
def test_tiny_and_huge_sigma_give_finite_answers(kind, sigma, data):
    found = kind(sigma=sigma).select(data)
    assert np.isfinite(found.scores).all()
    assert found.selected.size


def test_scores_of_immigrate_are_shares_of_the_margin(data):
    found = Immigrate().select(data)
    W = found.pair_weights.matrix
    margin = found.tables["margin"][0]
    np.testing.assert_allclose(found.scores.sum(), margin, rtol=1e-12)
    np.testing.assert_allclose(found.scores, (W**2).sum(axis=1) * margin)
    np.testing.assert_allclose(found.weights, np.sqrt((W**2).sum(axis=1)))
    np.testing.assert_allclose(found.tables["main-effect"], np.diag(W) ** 2)
    assert (found.scores[found.selected] > margin / 6).all()


def test_package_mode_equals_the_r_package_through_the_selector(reference):
    # without further settings: the last iterate after max_iter updates, no early stop
    X, y = reference.table("park")
    found = Immigrate(update="psd-clip", line_search=False, max_iter=10, standardize=False).select(
        Dataset.from_arrays(X, y)
    )
    wanted = reference["park/package/1/diag/iter10"]
    assert np.abs(found.pair_weights.matrix - wanted).max() < 1e-10


def test_tuning_reports_every_setting_and_takes_the_best(data):
    found = Immigrate(sigma="cv", folds=3).select(data, seed=2)
    accuracy = found.tables["tuning-accuracy"]
    assert accuracy.shape == (12,)
    best = int(np.argmax(accuracy))
    assert found.tables["sigma"][0] == found.tables["tuning-sigma"][best]
    assert found.tables["pruned"][0] == found.tables["tuning-prune"][best]
    alone = Immigrate(
        sigma=float(found.tables["sigma"][0]), prune=bool(found.tables["pruned"][0])
    ).select(data)
    np.testing.assert_array_equal(alone.scores, found.scores)


def test_instance_weights_from_the_left_are_importance_in_the_outer_sum(data):
    zero = np.ones(70)
    zero[:12] = 0.0  # the class "maybe" has no rows of its own in the sum, but is a miss of others
    upstream = Selection(selected=np.arange(6), scores=np.ones(6), instance_weights=zero)
    found = Immigrate().select(data, upstream)
    plain = Immigrate().select(data)
    assert not np.allclose(found.scores, plain.scores)
    double = Selection(selected=np.arange(6), scores=np.ones(6), instance_weights=2 * np.ones(70))
    np.testing.assert_allclose(Immigrate().select(data, double).scores, plain.scores, rtol=1e-12)


def test_im4e_immigrate_starts_from_the_weights_that_arrive(data):
    screened = Im4e(top=4).select(data)
    started = Immigrate(max_iter=0).select(data, screened)
    kept = np.sort(screened.selected)
    W = np.zeros((6, 6))
    W[kept, kept] = screened.weights[kept]
    columns = started.pair_weights.columns
    found = np.zeros((6, 6))
    found[np.ix_(columns, columns)] = started.pair_weights.matrix
    np.testing.assert_allclose(found, W / np.linalg.norm(W), atol=1e-15)
    assert np.isnan(started.scores[np.setdiff1d(np.arange(6), kept)]).all()


def test_margin_takes_the_newest_weights_that_arrive(data):
    pairs = Immigrate().select(data)
    newer = Im4e(start="upstream", top=6).select(data, pairs)
    assert "pair_weights" in newer.carried
    fitted = Margin().fit(data, newer).inner
    assert fitted.weights.ndim == 1
    assert fitted.sigma == 1.0
    with pytest.raises(RequestError, match="needs pair weights"):
        Margin(measure="quadratic").fit(data, Im4e().select(data))


def test_bim_that_never_errs_falls_back_to_its_best_round():
    X = np.r_[np.zeros((6, 2)), np.full((6, 2), 9.0)] + np.arange(24).reshape(12, 2) / 100
    data = Dataset.from_arrays(X, np.repeat([0, 1], 6))
    found = Bim(rounds=5).select(data)
    assert any("every round was discarded" in note for note in found.warnings)
    assert (BimVote(rounds=5).fit(data).predict(X) == data.y).all()


def test_memory_bounds_are_errors_that_say_what_to_do():
    rng = np.random.default_rng(0)
    data = Dataset.from_arrays(rng.standard_normal((40, 30)), rng.integers(0, 2, 40))
    small = Run(memory=20_000)
    for method in (Gflip(), Lfe(), Bim(rounds=50)):
        with pytest.raises((DataError, MemoryBoundError), match="allow"):
            method.select(data, run=small)


# What cannot be used is refused in one sentence, or met by a stated rule


@pytest.mark.parametrize("name", SELECTORS)
def test_tables_without_a_hit_a_miss_or_a_difference_are_refused(name):
    X = np.random.default_rng(0).standard_normal((6, 3))
    for table, y, told in (
        (X, np.zeros(6, dtype=int), "class"),
        (X, np.arange(6), "member of its class"),
        (np.ones((6, 3)), np.arange(6) % 2, "constant"),
    ):
        with pytest.raises(DataError, match=told):
            fsframe.selectors[name]().select(Dataset.from_arrays(table, y))


DEGENERATE = {
    "all hits at distance zero": ([[0.0, 1.0, 3.0]] * 4 + [[5.0, 1.5, 3.5]] * 4, [0] * 4 + [1] * 4),
    # every row lies on one of the other class and far from its own: (−Σ)⁺ = 0
    "nothing separates": ([[0.0], [10.0], [0.1], [10.1]], [0, 0, 1, 1]),
}


@pytest.mark.parametrize("table", DEGENERATE)
@pytest.mark.parametrize("name", SELECTORS)
def test_degenerate_tables_give_finite_scores(name, table):
    found = fsframe.selectors[name]().select(Dataset.from_arrays(*DEGENERATE[table]), seed=0)
    assert np.isfinite(found.scores).all()
    assert found.selected.size


def test_no_gain_in_any_pair_leaves_w_where_it_started_and_says_so():
    data = Dataset.from_arrays(*DEGENERATE["nothing separates"])
    found = fsframe.selectors["immigrate"]().select(data)
    assert any("(−Σ)⁺ = 0" in note for note in found.warnings)
    np.testing.assert_array_equal(found.weights, [1.0])
    np.testing.assert_array_equal(found.scores, [0.0])  # its margin is negative: it carries none


def test_more_features_than_w_has_room_for_are_refused_with_the_bytes_and_a_way_out():
    X = np.random.default_rng(0).standard_normal((6, 50_001))
    data = Dataset.from_arrays(X, [0, 1] * 3)
    with pytest.raises(DataError, match=r"50001 columns takes 149.0 GiB.*im4e immigrate"):
        fsframe.selectors["immigrate"]().select(data, run=Run(memory=64 << 20))
    found = fsframe.selectors["im4e"](top=5).select(data, run=Run(memory=64 << 20))
    assert found.selected.size == 5
