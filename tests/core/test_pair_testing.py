"""After a chain its pairs are tested: which, by whom, with what allowance for their choice."""

from __future__ import annotations

import re

import attrs
import numpy as np
import pytest

from fsframe.chains import recording
from fsframe.chains.chain import Chain
from fsframe.method.pair_tests import PairTests
from fsframe.method.run import Run
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
        found = attrs.evolve(sound, **change).problems(3)
        assert any(words in text for text in found), (change, found)


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
        ((recording, "tester_offer"), lambda: selectors.offer("mim"), ["has no test_pairs"]),
        ((recording, "tester_offer"), lambda: None, []),
    ],
    ids=["unsound tests", "an error", "a method that only says so", "nobody"],
)
def test_without_sound_tests_the_answer_stands_and_says_why(monkeypatch, part, by, words):
    monkeypatch.setattr(*part, by)
    record = Chain.parse("immigrate:top=3").run(xor())
    assert record.pair_tests is None and record.selected.size == 3
    assert len(record.warnings) == bool(words)
    assert all(word in text for text in record.warnings for word in words)
