"""Rows that belong together: read, carried along, drawn, dealt out and permuted whole."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import attrs
import numpy as np
import pytest

import fsframe
from fsframe.errors import DataError, RequestError
from fsframe.resampling.groups import Grouping, permuted_labels
from fsframe.table.dataset import Dataset


def people(n: int = 16, rows: int = 4, seed: int = 0) -> Dataset:
    """A column that tells people apart, one that tells classes apart, noise; mixed row order."""
    generator = np.random.default_rng(seed)
    who = generator.permutation(np.repeat(np.arange(n), rows + np.arange(n) % 2))[: n * rows]
    X = generator.normal(size=(who.size, 5))
    X[:, 0] = who * 3.0 % 17 + 0.01 * X[:, 0]
    y = who % 2
    X[:, 1] += 2.0 * y
    return Dataset.from_arrays(X, y, groups=[f"p{w}" for w in who], group_name="person")


def test_groups_travel_with_rows_columns_counts_and_labels_and_enter_the_digest():
    data = people()
    taken = (
        data.take_rows(np.array([3, 1])).take_columns(np.array([2])).with_labels(np.array([1, 0]))
    )
    assert taken.groups.tolist() == data.groups[[3, 1]].tolist()
    assert data.with_counts(np.ones(data.n_samples, int)).groups is data.groups
    assert data.n_groups == 16 and data.group_name == "person"
    plain = attrs.evolve(data, groups=None, group_name="")
    assert plain.sha256 == Dataset.from_arrays(data.X, data.y).sha256 != data.sha256


@pytest.mark.parametrize(
    ("groups", "said"),
    [([1, 1, 1, 1], "one value only"), ([1, np.nan, 2, 2], "row 2"), ([1, 2], "shape"),
     (["a", None, "b", "b"], "row 2")],
)  # fmt: skip
def test_groups_that_cannot_be_are_refused(groups, said):
    with pytest.raises(DataError, match=said):
        Dataset.from_arrays(np.zeros((4, 2)), [0, 1, 0, 1], groups=groups)


def test_a_column_of_text_names_groups_and_is_no_feature(tmp_path):
    path = tmp_path / "t.csv"
    text = "a,who,b,class\n1,Ann,2,x\n2,Ann,3,x\n5,Bob,1,y\n3,Bob,2,y\n"
    path.write_text(text)
    for key in ("who", 1):
        data = fsframe.read(path, groups=key)
        assert data.feature_names == ("a", "b") and data.groups.tolist() == [0, 0, 1, 1]
        assert data.group_name == "who" and data.reading["groups"] == key
    # The names may be those of people: they are kept nowhere.
    assert "Ann" not in repr(data)
    with pytest.raises(DataError, match="is the label and cannot name groups"):
        fsframe.read(path, label="who", groups="who")
    path.write_text(text.replace("2,Ann", "2,"))
    with pytest.raises(DataError, match="the group is missing"):
        fsframe.read(path, groups="who")
    np.savez(tmp_path / "t.npz", X=np.array([[7.0, 1], [7, 2], [8, 3], [8, 4]]), y=[0, 0, 1, 1])
    data = fsframe.read(tmp_path / "t.npz", groups=0)
    assert data.n_features == 1 and data.groups.tolist() == [0, 0, 1, 1]


def test_labels_are_permuted_whole_between_groups_and_within_where_they_vary():
    who = np.repeat(np.arange(6), [2, 3, 2, 4, 2, 3])
    y = np.array([0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 1, 1, 0, 0])  # groups 4 and 5 vary
    seen = set()
    for seed in range(60):
        found = permuted_labels(y, who, np.random.default_rng(seed))
        whole = [set(found[who == g].tolist()) for g in range(4)]
        assert all(len(labels) == 1 for labels in whole)
        assert sum(labels == {1} for labels in whole) == 2
        assert found[who == 4].sum() == 1 and found[who == 5].sum() == 1
        seen.add(tuple(found.tolist()))
    # 6 ways between groups, 2 and 3 within.
    assert 25 <= len(seen) <= 36


def test_groups_drawn_twice_count_twice_and_outer_counts_are_kept():
    who, y = np.array([5, 5, 9, 9, 7]), np.array([0, 0, 1, 1, 1])
    together = Grouping.of(who, y, np.array([2, 2, 1, 1, 0]))
    assert together.times.tolist() == [2, 0, 1] and together.stratum.tolist() == [0, 1, 1]
    assert together.rows(np.array([4, 0, 1])).tolist() == [4, 4, 1, 1, 0]
    # Drawn by somebody who knew nothing of groups.
    assert Grouping.of(who, y, np.array([2, 1, 1, 1, 1])).rows(np.array([1, 2, 3])).tolist() == [
        2, 1, 3, 3, 2,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("chain", "stage"),
    [
        ("mim:top=2 npfs:n=5,permutations=3,alpha=0.2", "npfs"),
        ("mim:top=2 cpss:pairs=2", "cpss"),
        ("ensemble:base=mim", "ensemble"),
        ("rfecv:folds=2", "rfecv"),
    ],
)
def test_a_class_within_one_group_is_refused(chain, stage):
    data = people()
    said = f"^{stage}: classes that lie within a single group: '1' [^\n]*$"
    with pytest.raises(DataError, match=said):
        fsframe.Chain.parse(chain).run(attrs.evolve(data, y=(data.groups == 3).astype(int)))


def test_shards_are_counted_in_groups():
    shards = "mim:top=2 npfs:null=shards,alpha=0.2,n="
    with pytest.raises(RequestError, match="smallest class has 8 groups"):
        fsframe.Chain.parse(f"{shards}5").run(people())
    assert fsframe.Chain.parse(f"{shards}4").run(people()).selected.size


@pytest.mark.parametrize("method", ["immigrate", "im4e"])
def test_inner_folds_of_sigma_keep_groups_together(method, monkeypatch):
    from fsframe_margin.engine import prediction

    seen = []
    real = prediction.tune
    monkeypatch.setattr(prediction, "tune", lambda *given: (seen.append(given[4]), real(*given))[1])
    data = people()
    fsframe.Chain.parse(f"{method}:sigma=cv").run(data)
    (folds,) = seen
    assert all(np.unique(folds[data.groups == g]).size == 1 for g in range(16))
    assert np.unique(folds).size == 5


def test_workers_and_units_know_the_groups(tmp_path):
    chain = fsframe.Chain.parse("mim:top=2 npfs:n=6,permutations=4,alpha=0.2")
    data = people()
    here = chain.run(data, seed=3, out=tmp_path / "here.h5")
    with ThreadPoolExecutor(2) as pool:
        there = chain.run(data, seed=3, executor=pool)
    assert here.digests() == there.digests()
    assert here.digests() != chain.run(attrs.evolve(data, groups=None), seed=3).digests()
    kept = fsframe.load_run(tmp_path / "here.h5").environment["groups"]
    assert (kept["name"], kept["number"]) == ("person", 16)
