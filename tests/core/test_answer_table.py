"""The answer as a table: which columns, in which order, and whose numbers they are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fsframe.chains.chain import Chain
from fsframe.errors import DataError, RequestError
from fsframe.method.answer import PairWeights, feature_table, pair_table
from fsframe.method.pair_tests import PairTests
from fsframe.method.selection import Selection
from fsframe.table.dataset import Dataset

NAMES = ("a", "b", "c", "d")


def answer(*stages, **options):
    return feature_table(NAMES, [(f"s{k}", stage) for k, stage in enumerate(stages)], **options)


def rows(table, *columns):
    """What the columns say, by feature."""
    cells = zip(*map(table.cells, columns), strict=True)
    return dict(zip(table.columns["feature"], cells, strict=True))


def toy(y=("ill", "ill", "well", "well"), categorical=None) -> Dataset:
    X = [[1, 5, 0, 1], [3, 5, 0, np.nan], [0, 5, 2, 7], [2, 5, 4, 9]]
    return Dataset.from_arrays(X, y, NAMES, categorical=categorical)


def test_kept_features_come_first_and_dropped_ones_in_the_order_they_fell_out():
    first = Selection(selected=[0, 1, 2], scores=[4, 3, 2, 1])
    last = Selection(selected=[2], scores=[0.1, 0.7, 0.9, np.nan], features_in=[0, 1, 2])
    table = answer(first, last)
    assert table.columns["feature"].tolist() == ["c", "b", "a", "d"]
    assert table.cells("rank") == [1, 2, 3, None]
    assert table.cells("kept") == [True, False, False, False]
    assert table.cells("s0_rank") == [3, 2, 1, 4]
    assert table.cells("score") == [0.9, 0.7, 0.1, None]


def test_a_stage_that_saw_some_columns_numbers_those():
    tables = {
        "columns": np.array([0, 1]),
        "p-values": np.array([0.04, 0.01]),
        "z": np.array([1, 8]),
        "kept": np.full(10, 1),
        "lower": np.array([0.0, 0.5]),
        "upper": np.array([0.4, 1.0]),
    }
    found = Selection(selected=[3], scores=[np.nan] * 4, features_in=[1, 3], tables=tables)
    assert rows(answer(found), "p", "q", "frequency", "frequency_low") == {
        "b": (0.04, 0.04, 0.1, 0.0),
        "d": (0.01, 0.02, 0.8, 0.5),
        "a": (None,) * 4,
        "c": (None,) * 4,
    }


def test_q_is_the_stages_own_or_benjamini_and_hochbergs():
    p = np.array([0.001, 0.2, np.nan, 0.03])
    own = Selection(selected=[], scores=p, tables={"p_values": p, "p_adjusted": p * 2})
    found = Selection(selected=[], scores=p, tables={"p_values": p, "adjusted-p-values": p})
    by_name = rows(answer(found), "q")
    expected = stats.false_discovery_control(p[[0, 1, 3]])
    assert [by_name[name][0] for name in "abd"] == pytest.approx(expected.tolist())
    assert by_name["c"] == (None,)
    assert sorted(filter(None, answer(own).cells("q"))) == [0.002, 0.06, 0.4]


def test_the_interval_of_a_share_is_wilsons():
    share = np.array([0.0, 0.5, 1.0, 0.3])
    tables = {"frequency": share, "kept": np.ones(40, int)}
    table = answer(Selection(selected=[], scores=share, tables=tables))
    for name, found in rows(table, "frequency_low", "frequency_high").items():
        k = round(40 * share[NAMES.index(name)])
        assert found == pytest.approx(stats.binomtest(k, 40).proportion_ci(method="wilson"))


def test_folds_give_a_share_without_an_interval():
    kept = np.array([[True, False, False, True], [True, True, False, False]])
    tables = {"kept": kept, "fold": np.zeros((1, 4))}
    table = answer(Selection(selected=[0], scores=kept.mean(0), tables=tables))
    assert table.cells("frequency") == [1.0, 0.5, 0.5, 0.0]
    assert "frequency_low" not in table.columns


def test_tables_that_do_not_fit_are_left_out():
    def columns(**tables):
        named = {name.replace("_", "-"): np.array(values) for name, values in tables.items()}
        return list(answer(Selection(selected=[0], scores=np.ones(4), tables=named)).columns)

    plain = ["rank", "feature", "kept", "score"]
    assert columns(p_values=[0.1, 7.0, 0.2, 0.3], z=[1, 2], frequency=np.ones(9)) == plain
    assert "p" not in columns(columns=[0, 0], p_values=[0.1, 0.2])


def test_means_leave_missing_values_and_categories_out():
    table = answer(Selection(selected=[0], scores=np.ones(4)), data=toy(categorical=[2]))
    assert rows(table, "direction", "mean_ill", "mean_well") == {
        "a": ("higher in ill", 2.0, 1.0),
        "b": (None, 5.0, 5.0),
        "c": (None, None, None),
        "d": ("higher in well", 1.0, 8.0),
    }


def test_a_numeric_target_has_a_correlation():
    table = answer(Selection(selected=[0], scores=np.ones(4)), data=toy([0.5, 1.0, 2.0, 3.5]))
    r = {name: found for name, (found,) in rows(table, "correlation").items()}
    assert r["c"] == pytest.approx(np.corrcoef([0, 0, 2, 4], [0.5, 1, 2, 3.5])[0, 1])
    assert r["d"] == pytest.approx(np.corrcoef([1, 7, 9], [0.5, 2, 3.5])[0, 1]) and r["b"] is None
    assert table.cells("direction")[2] == "rises with class"


def test_names_that_meet_are_distinguished():
    data, found = toy(["x_rank", "x_rank", "y", "y"]), Selection(selected=[0], scores=np.ones(4))

    def names(*stages):
        return set(feature_table(NAMES, [(stage, found) for stage in stages], data).columns)

    assert {"mean_x_1_rank", "mean_x_2_rank"} <= names("mean_x", "mean_x", "l")
    assert {"mean_x_rank", "mean_x_rank_2"} <= names("mean_x", "l")


def test_pairs_that_were_tested_stand_by_p_with_the_weight_they_have():
    tables = {
        "pairs": np.array([[0, 1], [0, 2], [1, 2]]),
        "g2": np.array([1.0, 9.0, 4.0]),
        "freedom": np.array([2, 2, 2]),
        "p_values": np.array([0.6, 0.01, 0.14]),
        "q_values": np.array([0.6, 0.03, 0.21]),
    }
    weights = PairWeights.from_triplets([0, 1, 3], [0, 0], [1, 2], [0.2, 2.0])
    found = Selection(
        selected=[0, 3],
        scores=np.ones(4),
        features_in=[0, 1, 3],
        tables=tables,
        pair_weights=weights,
    )
    table = pair_table(NAMES, [("tested", found)])
    columns = ("feature", "with", "weight", "G2", "df", "q", "kept")
    assert [*zip(*map(table.cells, columns), strict=True)] == [
        ("a", "d", 2.0, 9.0, 2, 0.03, True),
        ("b", "d", None, 4.0, 2, 0.21, False),
        ("a", "b", 0.2, 1.0, 2, 0.6, False),
    ]
    # p of a pair is not p of a feature, also where there are as many of both.
    assert "p" not in feature_table(NAMES, [("tested", found)]).columns


def test_pair_weights_that_travelled_are_those_of_their_maker():
    weights = PairWeights([0, 1], [[1.0, -3.0], [-3.0, 1.0]])
    maker = Selection(selected=[0, 1], scores=np.ones(4), pair_weights=weights)
    passed = Selection(
        selected=[0], scores=np.ones(4), pair_weights=weights, carried={"pair_weights"}
    )
    table = pair_table(NAMES, [("m", maker), ("n", passed)])
    assert table.cells("weight") == [-3.0] and table.cells("kept") == [False]
    assert not len(pair_table(NAMES, [("n", passed)]))


def test_frames_of_both_libraries_hold_the_same():
    pytest.importorskip("pandas", reason="compares with a frame of pandas")
    found = Selection(selected=[1], scores=[0.5, np.nan, 2.0, 1.0])
    by_polars, by_pandas = found.to_frame(NAMES), found.to_frame(NAMES, library="pandas")
    assert by_polars.columns == list(by_pandas.columns)
    assert by_polars["rank"].to_list() == by_pandas["rank"].tolist() == [1, 2, 3, 4]
    assert by_polars["score"].to_list()[0] is None and np.isnan(by_pandas["score"][0])
    with pytest.raises(RequestError, match="neither polars nor pandas"):
        found.to_frame(NAMES, library="arrow")


def test_a_record_refuses_another_table():
    data = toy()
    record = Chain.parse("anova-f:top=2,missing=pairwise").run(data)
    assert record.to_frame(data=data)["mean_ill"].len() == 4
    with pytest.raises(DataError, match="is not the table the run was made on"):
        record.feature_table(data.with_labels(data.y[::-1].copy()))
    with pytest.raises(DataError, match="are not those of this result"):
        feature_table("xyzv", [("s", record.stages[0].selection)], data)


def test_tests_made_after_the_last_stage_stand_beside_the_weights():
    weights = PairWeights([0, 1, 2], [[1.0, 3.0, 0.5], [3.0, 1.0, 0.0], [0.5, 0.0, 1.0]])
    found = Selection(selected=[0, 1], scores=np.ones(4), pair_weights=weights)
    tests = PairTests(
        columns=[0, 1],
        pairs=[[0, 2], [1, 3]],
        p_values=[0.01, 0.5],
        q_values=[0.02, 0.5],
        n_tested=2,
        n_chosen_from=2,
        tables={"freedom": np.array([4, 2])},
    )
    table = pair_table(NAMES, [("m", found)], tests)
    rows = zip(*map(table.cells, ("feature", "with", "weight", "p", "q", "df")), strict=True)
    assert list(rows) == [
        ("a", "c", 0.5, 0.01, 0.02, 4),
        ("b", "d", None, 0.5, 0.5, 2),
        ("a", "b", 3.0, None, None, None),
    ]
    own = {"pairs": np.array([[0, 2]]), "p_values": np.array([0.3])}
    both = pair_table(NAMES, [("m", Selection(selected=[0], scores=np.ones(4), tables=own))], tests)
    assert both.cells("p") == [0.3, None] and both.cells("interaction_p") == [0.01, 0.5]
