"""The selector on tables whose truth is known; pairs tested on rows that did not choose them."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import attrs
import numpy as np
import pytest
from scipy import stats

import fsframe
from fsframe.chains.chain import Chain
from fsframe.errors import DataError, RequestError
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.resampling.groups import with_group_means
from fsframe.table.dataset import Dataset
from fsframe_interactions import product_term
from fsframe_interactions.engine.contingency_tables import false_discovery_rates
from fsframe_interactions.interactions import Interactions, InteractionsSplit, choosing_half
from fsframe_interactions.product_term import product_pairs, robust_tests
from tests.plugins.shared import divided, mixed_table, people


def table(seed: int, n: int = 400, p: int = 10) -> tuple[np.random.Generator, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng, rng.normal(size=(n, p))


def xor(seed: int) -> Dataset:
    _, X = table(seed)
    return Dataset.from_arrays(X, (X[:, 0] * X[:, 1] > 0).astype(int))


def listed(found: fsframe.Selection) -> list[tuple[int, int]]:
    return [(int(a), int(b)) for a, b in found.tables["pairs"]]


def test_one_exclusive_or_comes_first_and_is_all_that_is_kept():
    first, kept = 0, 0
    for seed in range(5):
        selection = Interactions().select(xor(seed))
        first += listed(selection)[0] == (0, 1)
        kept += sorted(selection.selected.tolist()) == [0, 1]
    assert first == 5
    assert kept >= 4


def test_what_only_adds_up_is_no_interaction():
    ps = []
    for seed in range(5):
        rng, X = table(seed)
        for log_odds in (1e9 * (X[:, 0] + X[:, 1]), 1.5 * (X[:, 0] + X[:, 1])):
            y = (rng.random(400) < 0.5 * (1 + np.tanh(log_odds / 2))).astype(int)
            selection = Interactions().select(Dataset.from_arrays(X, y))
            ps.append(selection.tables["p_values"][listed(selection).index((0, 1))])
    assert np.median(ps) > 0.2 and min(ps) > 0.005


def test_level_holds_where_chi_squared_does_not():
    plain, reported = [], []
    for seed in range(25):
        rng, X = table(seed, 60, 8)
        y = (rng.random(60) < 1 / (1 + np.exp(-1.5 * X[:, 0]))).astype(int)
        selection = Interactions(draws=100).select(Dataset.from_arrays(X, y), seed=seed)
        plain.append(np.mean(selection.tables["chi2_p_values"] <= 0.05))
        reported.append(np.mean(selection.tables["p_values"] <= 0.05))
    error = np.std(reported, ddof=1) / np.sqrt(25)
    assert np.mean(plain) > 0.05 + 2 * error
    assert abs(np.mean(reported) - 0.05) <= 2 * error


def test_nothing_is_kept_of_noise_and_the_warning_says_how_near_the_best_pair_is():
    rng, X = table(4)
    data = Dataset.from_arrays(X, rng.integers(0, 2, 400))
    selection = Interactions().select(data)
    assert not selection.selected.size
    assert "none of 45 pairs interacts significantly" in selection.warnings[0]
    assert "top=" in selection.warnings[0]
    kept = Interactions(top=2).select(data)
    assert sorted(kept.selected.tolist()) == sorted(listed(selection)[0])
    assert "top=" not in kept.warnings[0]


@pytest.mark.parametrize("method", ["bh", "by"])
def test_q_is_scipys_when_all_tests_are_given_and_counts_those_that_are_not(method):
    p = np.random.default_rng(0).random(40) ** 3
    np.testing.assert_allclose(
        false_discovery_rates(np.log(p), 40, method),
        stats.false_discovery_control(p, method=method),
    )
    padded = stats.false_discovery_control(np.concatenate([p, np.ones(960)]), method=method)
    np.testing.assert_allclose(false_discovery_rates(np.log(p), 1000, method), padded[:40])


def test_cells_tell_the_direction():
    selection = Interactions(bins=2).select(xor(4))
    cells = selection.tables["cells"]
    first = cells[:, 0] == 0
    assert (selection.tables["pairs"][0] == [0, 1]).all() and first.sum() == 8
    for (_, i, j, k), log_odds in zip(
        cells[first], selection.tables["cell_log_odds"][first], strict=True
    ):
        # Equal signs make class 1.
        assert (log_odds > 1) == ((i == j) == (k == 1))
    assert selection.tables["cell_counts"][first].sum() == 400
    assert selection.tables["cell_expected"][first].sum() == pytest.approx(400)


def test_columns_that_say_the_same_are_no_pair():
    data = xor(6)
    X = np.column_stack([data.X, data.X[:, 3], np.full(400, 2.0)])
    selection = Interactions().select(Dataset.from_arrays(X, data.y))
    assert (3, 10) not in listed(selection)
    assert selection.scores[3] == selection.scores[10]
    assert selection.scores[11] == 0.0


def test_numeric_target_without_calibration_is_an_f_test_of_the_product():
    rng, X = table(7, 120, 6)
    X[:, 5] = rng.integers(0, 3, 120)
    X[::11, 2] = np.nan
    y = X[:, 0] + 0.5 * X[:, 0] * X[:, 1] + rng.normal(size=120)
    data = Dataset.from_arrays(X, y, categorical=[5])
    selection = Interactions(calibrate=0).select(data)
    assert listed(selection)[0] == (0, 1) and set(selection.selected[:2].tolist()) == {0, 1}
    for pair, f, p in zip(
        listed(selection), selection.tables["f"], selection.tables["p_values"], strict=True
    ):
        a, b = (X[:, column] for column in pair)
        known = ~np.isnan(a) & ~np.isnan(b)
        a, b, target = a[known], b[known], y[known]
        terms = np.column_stack([b == 1, b == 2]) if pair[1] == 5 else b[:, None]
        main = np.column_stack([np.ones(len(a)), a, terms])
        full = np.column_stack([main, a[:, None] * terms])
        rest = [np.sum((target - D @ np.linalg.lstsq(D, target)[0]) ** 2) for D in (main, full)]
        upper, lower = full.shape[1] - main.shape[1], len(a) - full.shape[1]
        expected = (rest[0] - rest[1]) / upper / (rest[1] / lower)
        assert f == pytest.approx(expected, rel=1e-8)
        assert p == pytest.approx(stats.f.sf(expected, upper, lower), rel=1e-7)


def test_kept_pairs_are_the_best_and_the_tested_are_all():
    data = xor(8)
    few = Interactions(keep=5, calibrate=0).select(data)
    every = Interactions(calibrate=0).select(data)
    assert listed(few) == listed(every)[: len(few.tables["pairs"])]
    assert len(few.tables["pairs"]) <= 5
    assert few.tables["n_tested"] == every.tables["n_tested"] == 45
    assert few.tables["q_values"][0] == pytest.approx(every.tables["q_values"][0])


def test_instance_weights_are_said_to_be_left_out():
    upstream = fsframe.Selection(
        selected=range(10), scores=np.ones(10), instance_weights=np.linspace(0.5, 2, 400)
    )
    selection = Interactions().select(xor(0), upstream)
    assert any("instance weights" in warning for warning in selection.warnings)


def test_threads_that_memory_has_no_room_for_are_not_used(monkeypatch):
    used = mock.Mock(wraps=product_term.in_threads)
    monkeypatch.setattr(product_term, "in_threads", used)
    data = Dataset.from_arrays(*_numeric("product", 0))
    held, of_thread = 9 * 300 * 4, 96 * 300 * 4
    found = []
    for memory in (held + 9 * of_thread, held + 2 * of_thread, held + of_thread):
        run = Run(threads=4, memory=memory)
        found.append(Interactions(calibrate=0).select(data, run=run).scores.tobytes())
    assert [call.args[0] for call in used.call_args_list] == [4, 2, 1] and len(set(found)) == 1
    with pytest.raises(RequestError, match="allow more memory"):
        Interactions(calibrate=0).select(data, run=Run(memory=held + of_thread - 1))


def _numeric(kind, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 4))
    noise = rng.normal(size=300)
    if kind == "curved":
        X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
        return X, X[:, 0] ** 2 + X[:, 1] + noise
    if kind == "unequal":
        return X, np.exp(1.5 * X[:, 0]) * noise
    return X, X[:, 0] + X[:, 1] + X[:, 0] * X[:, 1] + noise


@pytest.mark.parametrize("kind", ["curved", "unequal"])
def test_curvature_and_unequal_variance_are_no_interactions_and_are_said(kind):
    found_by_f, found, said = 0, 0, 0
    for seed in range(15):
        data = Dataset.from_arrays(*_numeric(kind, seed))
        plain = Interactions(calibrate=0).select(data).tables["q_values"]
        selection = Interactions().select(data)
        found_by_f += bool((plain <= 0.05).any())
        found += bool((selection.tables["q_values"] <= 0.05).any())
        said += any("curved main effects or unequal" in note for note in selection.warnings)
    assert found_by_f >= 6 and found <= 2 and said >= 0.8 * found_by_f - 1


def test_a_true_product_is_found_with_its_size():
    for seed in range(6):
        selection = Interactions().select(Dataset.from_arrays(*_numeric("product", seed)))
        assert selection.tables["pairs"][0].tolist() == [0, 1]
        assert not any("f1 × f2" in note for note in selection.warnings)
        effect, error = selection.tables["effect"][0], selection.tables["standard_error"][0]
        assert abs(effect - 1.0) <= 3 * error + 0.1 and 0.03 < error < 0.2


def test_robust_test_is_the_larger_p_of_the_sandwich_estimate_and_of_f():
    X, y = _numeric("unequal", 0)
    data = Dataset.from_arrays(X, y)
    screened = product_pairs(data, 100, Run())[0]
    tests = robust_tests(data, screened.taken(screened.places_of([(0, 1), (1, 2)])))

    def terms(v):
        z = stats.norm.ppf((stats.rankdata(v) - 0.5) / len(v))
        z = z / z.std()
        bends = [np.maximum(z - k, 0) ** 3 for k in np.quantile(z, (1 / 3, 2 / 3))]
        return z, np.column_stack([(v - v.mean()) / v.std(), z, z**2, z**3, *bends])

    assert len(tests.pairs) == 2
    for place, (a, b) in enumerate(tests.pairs.tolist()):
        (first, of_a), (second, of_b) = terms(X[:, a]), terms(X[:, b])
        design = np.column_stack([np.ones(len(y)), of_a, of_b, first * second])
        bread = np.linalg.inv(design.T @ design)
        beta = bread @ design.T @ y
        residual = y - design @ beta
        leverage = np.einsum("ij,jk,ik->i", design, bread, design)
        robust = bread @ (design.T * (residual**2 / (1 - leverage))) @ design @ bread
        lower = len(y) - design.shape[1]
        equal = bread * (residual @ residual) / lower
        f = beta[-1] ** 2 / max(robust[-1, -1], equal[-1, -1])
        # Directions of nearly no size are left out, so the two agree closely, not exactly.
        assert tests.statistic[place] == pytest.approx(f, rel=0.1, abs=0.02)
        assert tests.effect[place] == pytest.approx(beta[-1], rel=0.1, abs=0.02)


def test_an_interaction_is_found_beside_a_covariate():
    data = xor(5)
    X = np.column_stack([data.X, np.random.default_rng(0).integers(0, 2, 400)])
    table = Dataset.from_arrays(X, data.y).with_roles(adjust="f11")
    selection = Interactions().select(table)
    assert (
        selection.tables["pairs"][0].tolist() == [0, 1] and selection.tables["q_values"][0] < 0.01
    )


def test_size_of_an_interaction_of_classes_is_the_change_of_log_odds():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(4000, 3)).astype(float)
    effects, errors = [], []
    for strength in (0.0, 2.0):
        score = X[:, 0] + 0.5 * X[:, 1] + strength * X[:, 0] * X[:, 1] - 1
        y = (rng.random(4000) < 1 / (1 + np.exp(-score))).astype(int)
        tables = Interactions().select(Dataset.from_arrays(X, y)).tables
        place = tables["pairs"].tolist().index([0, 1])
        effects.append(tables["effect"][place])
        errors.append(tables["standard_error"][place])
    # One standard deviation of both columns is a quarter of the product's step.
    assert abs(effects[0]) < 3 * errors[0]
    assert effects[1] == pytest.approx(2.0 / 4, rel=0.35)


@pytest.mark.parametrize("numeric", [True, False])
def test_by_works_with_a_constant_and_a_copied_column(numeric):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 2))
    X = np.column_stack([X[:, 0], X[:, 0], np.ones(60)])
    y = rng.normal(size=60)
    data = Dataset.from_arrays(X, y if numeric else (y > 0).astype(int))
    with np.errstate(all="raise"):
        for columns in ([0, 1, 2], [0, 2], [2]):
            selection = Interactions(correction="by").select(data.take_columns(columns))
            assert selection.selected.size == 0


# Pairs tested on rows that did not choose them; rows of one person, and tables in parts


def noise(seed: int, rows: int = 120, columns: int = 20) -> Dataset:
    rng = np.random.default_rng([seed, 15])
    X = rng.normal(size=(rows, columns))
    return Dataset.from_arrays(X, rng.permutation(np.arange(rows) % 2))


def test_halves_share_out_classes_and_keep_groups_whole():
    y = np.repeat([0, 1, 2], [9, 7, 4])
    data = Dataset.from_arrays(np.random.default_rng(0).normal(size=(20, 2)), y)
    half = choosing_half(data, np.random.default_rng(1))
    assert np.bincount(y[half]).tolist() == [4, 4, 2]
    who = np.arange(20) // 2 + 100 * y
    grouped = attrs.evolve(data, groups=who, group_name="who")
    half = choosing_half(grouped, np.random.default_rng(1))
    for each in np.unique(who):
        assert np.unique(half[who == each]).size == 1
    assert 6 <= half.sum() <= 14
    with pytest.raises(DataError, match=r"class 'c' has 3 rows; to be halved"):
        choosing_half(
            Dataset.from_arrays(np.eye(11), ["a"] * 4 + ["b"] * 4 + ["c"] * 3),
            np.random.default_rng(0),
        )


def test_the_base_sees_one_half_and_the_test_the_other():
    seen: list[Any] = []

    class Look:
        def __str__(self) -> str:
            return "look"

        def select_many(self, data: Any, counts: Any, upstream: Any = None, run: Any = None) -> Any:
            seen.append(counts.copy())
            scores = np.arange(data.n_features, dtype=float)
            return [Selection(selected=[3, 7, 11], scores=scores) for _ in counts]

    data = noise(0)
    result = InteractionsSplit().select_wrapped(Look(), data, None, Run())
    choosing = result.tables["choosing_rows"]
    np.testing.assert_array_equal(seen[0][0], choosing.astype(int))
    rest = data.take_rows(np.flatnonzero(~choosing))
    alone = fsframe.selectors["interactions"]().test_pairs(
        rest, np.array([3, 7, 11]), np.empty((0, 2), np.intp), 0, Run().child(2)
    )
    np.testing.assert_array_equal(result.tables["pairs"], alone.pairs)
    np.testing.assert_array_equal(result.tables["p_values"], alone.p_values)


def test_an_interaction_is_found_and_reported_as_the_answers_own_test():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 8))
    data = Dataset.from_arrays(X, X[:, 2] * X[:, 5] > 0)
    record = Chain.parse("relieff:top=4 interactions-split").run(data, seed=1)
    assert sorted(record.selected.tolist()) == [2, 5]
    tests = record.pair_tests
    assert tests.name == "interactions-split" and tests.tests.n_tested == 6
    assert tests.tests.of(2, 5)[1] < 0.05
    y = X[:, 2] * X[:, 5] + rng.normal(size=400)
    numeric = Chain.parse("mim:top=8 interactions-split").run(Dataset.from_arrays(X, y), seed=1)
    assert {2, 5} <= set(numeric.selected)


def test_a_base_behind_stages_that_saw_all_rows_is_warned_of():
    selection = Chain.parse("mim:top=8 interactions-split:base=relieff:top=4").select(
        noise(2), seed=0
    )
    assert any("used all rows" in text for text in selection.warnings)
    for chain in (
        "relieff:top=1 interactions-split",
        "interactions-split:base=interactions:alpha=1e-9",
    ):
        few = Chain.parse(chain).select(noise(2), seed=0)
        assert any("no pair to test" in text for text in few.warnings) and not few.selected.size


# Rows of one person are tested by their means


EXAMPLES = Path(__file__).parents[3] / "examples"


def test_the_result_is_that_of_the_table_of_means():
    data = people(0, 60, 4, 6)
    means = data.X.reshape(60, 4, 6).mean(axis=1)
    plain = Dataset.from_arrays(means, data.y[::4])
    selection = fsframe.selectors["interactions"](top=3).select(data, seed=1)
    same = fsframe.selectors["interactions"](top=3).select(plain, seed=1)
    np.testing.assert_array_equal(selection.selected, same.selected)
    np.testing.assert_allclose(selection.tables["g2"], same.tables["g2"])
    assert any("means of 60 groups (person)" in text for text in selection.warnings)


def test_categories_gaps_and_counts_of_groups():
    X = np.array([[1.0, 2.0], [1.0, 4.0], [2.0, np.nan], [0.0, np.nan], [3.0, 7.0], [3.0, 7.0]])
    data = Dataset.from_arrays(
        X, [0, 0, 1, 1, 1, 1], categorical=[0], groups=[4, 4, 9, 9, 2, 2], group_name="who"
    )
    result = with_group_means(data, "interactions")  # in the order of the groups' names
    np.testing.assert_array_equal(result.X, [[3.0, 7.0], [1.0, 3.0], [0.0, np.nan]])
    assert result.y.tolist() == [1, 0, 1] and result.groups is None
    drawn = with_group_means(data.with_counts(np.array([2, 2, 1, 1, 0, 0])), "interactions")
    assert drawn.counts is not None and drawn.counts.tolist() == [0, 2, 1]
    with pytest.raises(DataError, match="splits rows of one 'who'"):
        with_group_means(data.with_counts(np.array([2, 1, 1, 1, 0, 0])), "interactions")


def test_a_label_that_varies_within_a_group_is_refused_before_work():
    data = people(0, 60, 4, 6)
    y = data.y.copy()
    y[5] = 1 - y[5]
    with pytest.raises(DataError, match=r"varies within 'person' \(rows 5 and 6\)"):
        fsframe.Chain.parse("mim interactions").run(data.with_labels(y))


def test_labels_dealt_again_over_few_people_name_no_pair():
    # 32 people, 8 of them healthy: margins that allow few tables, so that G² takes few values.
    data = with_group_means(
        fsframe.read(EXAMPLES / "parkinsons_subjects.csv", groups="subject"), "interactions"
    )
    rng = np.random.default_rng(0)
    named, least = 0, 1.0
    for _ in range(5):
        table = Dataset.from_arrays(data.X, rng.permutation(data.y))
        selection = fsframe.selectors["interactions"]().select(table)
        named += int(selection.tables["q_values"][0] <= 0.05)
        least = min(least, float(selection.tables["p_values"][0]))
    # With a gamma tail fitted to so few values, five of 15 name a pair, one at p = 4e-11.
    assert named == 0 and least > 1 / 1848


# Tables in parts

WITHOUT = ("person", "near", "wide", "far")


def test_pairs_after_a_chain_are_tested_as_in_memory(tmp_path):
    frame = mixed_table(*WITHOUT, "gap", "kind", "same")
    chain = Chain.parse("jmi:top=4,pairs=synergy")
    whole = chain.run(fsframe.read(frame)).pair_tests
    result = chain.run(divided(frame, tmp_path / "p", (150,))).pair_tests
    assert len(whole.tests.p_values) >= 6
    assert result.tests.p_values.tobytes() == whole.tests.p_values.tobytes()
    assert result.digest == whole.digest
