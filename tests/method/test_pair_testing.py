"""Pairs tested after a chain, and the answer as a table: whose numbers, with what allowance."""

from __future__ import annotations

import re

import attrs
import numpy as np
import pytest
from scipy import stats

from fsframe.chains import request
from fsframe.chains.chain import Chain
from fsframe.errors import DataError, RequestError
from fsframe.method.answer import feature_table
from fsframe.method.pair_tests import PairTests
from fsframe.method.pairs import PairWeights, pair_table
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.registry import selectors
from fsframe.show.display import result_lines, result_object
from fsframe.show.page import report_page
from fsframe.storage import load_run
from fsframe.table.dataset import Dataset
from fsframe_interactions.interactions import Interactions


def xor(seed: int = 0, n: int = 300, p: int = 8, **more: object) -> Dataset:
    X = np.random.default_rng(seed).normal(size=(n, p))
    return Dataset.from_arrays(X, (X[:, 2] * X[:, 5] > 0).astype(int), **more)


@pytest.fixture(scope="module")
def record():
    return Chain.parse("immigrate:top=4").run(xor(), seed=3)


def test_a_pair_that_interacts_is_found_whatever_the_weights_say(record):
    tests = record.pair_tests.tests
    assert (record.pair_tests.name, record.pair_tests.provider) == ("interactions", "interactions")
    assert tests.pairs[0].tolist() == [2, 5] and tests.q_values[0] < 1e-20
    assert tests.of(5, 2) == tests.of(2, 5) == (tests.p_values[0], tests.q_values[0])
    assert (np.diff(tests.p_values) >= 0).all()


def test_p_is_that_of_the_method_itself_and_q_allows_for_every_pair_that_was_weighed(record):
    tests = record.pair_tests.tests
    own = Interactions(draws=20).select(xor())
    exact = {
        tuple(pair): g2
        for pair, g2 in zip(own.tables["pairs"].tolist(), own.tables["g2"], strict=True)
    }
    for pair, g2 in zip(tests.pairs.tolist(), tests.tables["g2"], strict=True):
        assert g2 == pytest.approx(exact[tuple(pair)], rel=1e-9)
    # Immigrate weighed all 28 pairs of the 8 columns, whatever it kept.
    assert tests.n_chosen_from == 28
    padded = np.concatenate([tests.p_values, np.ones(28 - len(tests.p_values))])
    order = np.sort(padded)
    expected = np.minimum.accumulate((order * 28 / np.arange(1, 29))[::-1])[::-1]
    assert tests.q_values == pytest.approx(np.minimum(expected[: len(tests.q_values)], 1.0))


def test_all_pairs_of_kept_columns_are_tested_and_those_of_the_largest_weights():
    record = Chain.parse("mim:top=2,pairs=synergy").run(xor())
    tests = record.pair_tests.tests
    assert tests.columns.tolist() == sorted(record.selected.tolist())
    told = {tuple(pair) for pair in tests.pairs.tolist()}
    assert {(min(a, b), max(a, b)) for a, b, _ in record.strongest_pairs(10)} <= told
    assert tests.n_tested == 28


@pytest.mark.parametrize(
    ("chain", "pairs"), [("mim:top=5 immigrate:top=3", 10), ("relieff:top=5 immigrate:top=3", 28)]
)
def test_a_filter_that_looks_at_each_feature_alone_costs_no_allowance(chain, pairs):
    assert Chain.parse(chain).run(xor()).pair_tests.tests.n_chosen_from == pairs
    assert Chain.parse("mim:top=3").run(xor()).pair_tests is None


def test_a_chain_of_the_test_itself_reports_its_own_tests():
    record = Chain.parse("interactions").run(xor())
    tests, tables = record.pair_tests.tests, record.stages[0].tables
    assert np.array_equal(tests.p_values, tables["p_values"])
    assert np.array_equal(tests.q_values, tables["q_values"])
    assert tests.n_chosen_from == tests.n_tested == 28


def test_groups_are_tested_by_their_means_and_else_the_record_says_why():
    single = Chain.parse("immigrate:top=3").run(xor())
    data = xor()
    twice = np.repeat(np.arange(data.n_samples), 2)
    doubled = attrs.evolve(data.take_rows(twice), groups=twice.astype(np.int64), group_name="who")
    tests = Chain.parse("immigrate:top=3").run(doubled).pair_tests.tests
    for a, b in single.pair_tests.tests.pairs.tolist():
        if tests.of(a, b) is not None:
            assert tests.of(a, b)[0] == single.pair_tests.tests.of(a, b)[0]
    assert tests.pairs[0].tolist() == single.pair_tests.tests.pairs[0].tolist()
    record = Chain.parse("immigrate:top=3").run(xor(groups=np.arange(300) // 3))
    assert record.pair_tests is None
    assert any("the label varies within" in text for text in record.warnings)


def test_tests_are_stored_shown_and_read_back(record, tmp_path):
    again = Chain.parse("immigrate:top=4").run(xor(), seed=3, out=tmp_path / "run.h5")
    read = load_run(tmp_path / "run.h5")
    assert read.digests() == again.digests() == record.digests()
    assert read.digests()["/pair_tests"] == record.pair_tests.digest
    lines = list(result_lines(read, None))
    header = next(line for line in lines if line.startswith("feature") and " q" in line)
    assert header.split()[-5:] == ["p", "q", "effect", "±", "se"]
    assert any(
        re.match(r"\d+ of \d+ pairs tested interacts? \(q ≤ 0.05\): ", line) for line in lines
    )
    shown = result_object(read, None)["pair_tests"]
    assert shown["pairs"][0][:2] == [read.feature_names[2], read.feature_names[5]]
    assert shown["n_chosen_from"] == 28
    effect, error = shown["effects"][0]
    assert abs(effect) > 3 * error > 0
    assert "pairs tested interact" in report_page(read)


def test_pairs_beyond_those_kept_are_tested_all_the_same():
    data, wanted = xor(), np.array([[0, 7], [1, 6]])
    columns = np.array([2, 3, 5])
    few = Interactions(keep=1).test_pairs(data, columns, wanted, 0, Run())
    every = Interactions().test_pairs(data, np.arange(8), wanted[:0], 0, Run())
    assert {tuple(pair) for pair in few.pairs.tolist()} == {(2, 5), (0, 7), (1, 6)}
    assert few.n_tested == 5 and not few.problems(8)
    for pair in few.pairs.tolist():
        assert few.of(*pair)[0] == every.of(*pair)[0]


def test_a_numeric_target_is_tested_too():
    X = np.random.default_rng(1).normal(size=(200, 5))
    data = Dataset.from_arrays(X, X[:, 0] * X[:, 3] + 0.5 * X[:, 1])
    none = np.empty((0, 2), np.intp)
    tests = Interactions().test_pairs(data, np.array([0, 1, 3]), none, 10, Run())
    assert tests.pairs[0].tolist() == [0, 3] and "f" in tests.tables and not tests.problems(5)


def test_problems_of_tests_are_named():
    sound = PairTests(
        columns=[1, 2], pairs=[[1, 2]], p_values=[0.1], q_values=[0.1], n_tested=1, n_chosen_from=1
    )
    assert not sound.problems(3)
    for change, words in (
        ({"columns": [2, 1]}, "ascending"),
        ({"pairs": [[1, 9]]}, "outside"),
        (
            {"pairs": [[1, 2], [1, 2]], "p_values": [0, 0], "q_values": [0, 0], "n_tested": 2},
            "twice",
        ),
        ({"p_values": [np.nan]}, "from 0 to 1"),
        ({"q_values": [0.1, 0.2]}, "shape"),
        ({"n_tested": 0}, "less than"),
        ({"n_chosen_from": 0}, "less than n_tested"),
        ({"tables": {"g2": [1.0, 2.0]}}, "tables/g2"),
    ):
        result = attrs.evolve(sound, **change).problems(3)
        assert any(words in text for text in result), (change, result)


def unsound(self, data, columns, pairs, chosen_from, run):
    return PairTests(
        columns=columns, pairs=[[3, 1]], p_values=[2.0], q_values=[0.5], n_tested=1,
        n_chosen_from=1,
    )  # fmt: skip


def fails(self, data, columns, pairs, chosen_from, run):
    raise RuntimeError("no luck")


@pytest.mark.parametrize(
    ("part", "by", "words"),
    [
        ((Interactions, "test_pairs"), unsound, ["columns a < b", "from 0 to 1"]),
        ((Interactions, "test_pairs"), fails, ["no luck"]),
        ((request, "offer_of_tester"), lambda: selectors.offer("mim"), ["has no test_pairs"]),
        ((request, "offer_of_tester"), lambda: None, []),
    ],
    ids=["unsound tests", "an error", "a method that only says so", "nobody"],
)
def test_without_sound_tests_the_answer_stands_and_says_why(monkeypatch, part, by, words):
    monkeypatch.setattr(*part, by)
    record = Chain.parse("immigrate:top=3").run(xor())
    assert record.pair_tests is None and record.selected.size == 3
    assert len(record.warnings) == bool(words)
    assert all(word in text for text in record.warnings for word in words)


# The answer as a table: which columns, in which order, and whose numbers they are


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
    selection = Selection(selected=[3], scores=[np.nan] * 4, features_in=[1, 3], tables=tables)
    assert rows(answer(selection), "p", "q", "frequency", "frequency_low") == {
        "b": (0.04, 0.04, 0.1, 0.0),
        "d": (0.01, 0.02, 0.8, 0.5),
        "a": (None,) * 4,
        "c": (None,) * 4,
    }


def test_q_is_the_stages_own_or_benjamini_and_hochbergs():
    p = np.array([0.001, 0.2, np.nan, 0.03])
    own = Selection(selected=[], scores=p, tables={"p_values": p, "p_adjusted": p * 2})
    selection = Selection(selected=[], scores=p, tables={"p_values": p, "adjusted-p-values": p})
    by_name = rows(answer(selection), "q")
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
    selection = Selection(
        selected=[0, 3],
        scores=np.ones(4),
        features_in=[0, 1, 3],
        tables=tables,
        pair_weights=weights,
    )
    table = pair_table(NAMES, [("tested", selection)])
    columns = ("feature", "with", "weight", "G2", "df", "q", "kept")
    assert [*zip(*map(table.cells, columns), strict=True)] == [
        ("a", "d", 2.0, 9.0, 2, 0.03, True),
        ("b", "d", None, 4.0, 2, 0.21, False),
        ("a", "b", 0.2, 1.0, 2, 0.6, False),
    ]
    # p of a pair is not p of a feature, also where there are as many of both.
    assert "p" not in feature_table(NAMES, [("tested", selection)]).columns


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
    selection = Selection(selected=[1], scores=[0.5, np.nan, 2.0, 1.0])
    by_polars, by_pandas = selection.to_frame(NAMES), selection.to_frame(NAMES, library="pandas")
    assert by_polars.columns == list(by_pandas.columns)
    assert by_polars["rank"].to_list() == by_pandas["rank"].tolist() == [1, 2, 3, 4]
    assert by_polars["score"].to_list()[0] is None and np.isnan(by_pandas["score"][0])
    with pytest.raises(RequestError, match="neither polars nor pandas"):
        selection.to_frame(NAMES, library="arrow")


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
    selection = Selection(selected=[0, 1], scores=np.ones(4), pair_weights=weights)
    tests = PairTests(
        columns=[0, 1],
        pairs=[[0, 2], [1, 3]],
        p_values=[0.01, 0.5],
        q_values=[0.02, 0.5],
        n_tested=2,
        n_chosen_from=2,
        tables={"freedom": np.array([4, 2])},
    )
    table = pair_table(NAMES, [("m", selection)], tests)
    rows = zip(*map(table.cells, ("feature", "with", "weight", "p", "q", "df")), strict=True)
    assert list(rows) == [
        ("a", "c", 0.5, 0.01, 0.02, 4),
        ("b", "d", None, 0.5, 0.5, 2),
        ("a", "b", 3.0, None, None, None),
    ]
    own = {"pairs": np.array([[0, 2]]), "p_values": np.array([0.3])}
    both = pair_table(NAMES, [("m", Selection(selected=[0], scores=np.ones(4), tables=own))], tests)
    assert both.cells("p") == [0.3, None] and both.cells("interaction_p") == [0.01, 0.5]
