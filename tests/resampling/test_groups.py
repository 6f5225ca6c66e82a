"""Rows that belong together, columns that every stage keeps, weights of rows; a new role."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attrs
import numpy as np
import polars
import pytest

import fsframe
from fsframe.errors import DataError, RequestError
from fsframe.resampling.groups import Grouping, permuted_labels
from fsframe.table.dataset import Dataset
from fsframe.table.roles import ROLES
from fsframe.testing import tables
from tests.command_line import python
from tests.same_process import fsframe as run

from .trial_role import DOSE


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
        result = permuted_labels(y, who, np.random.default_rng(seed))
        whole = [set(result[who == g].tolist()) for g in range(4)]
        assert all(len(labels) == 1 for labels in whole)
        assert sum(labels == {1} for labels in whole) == 2
        assert result[who == 4].sum() == 1 and result[who == 5].sum() == 1
        seen.add(tuple(result.tolist()))
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


# Columns that every stage keeps


@pytest.fixture(scope="module")
def sixty():
    return tables.classes(60, 8)


def _keeping(data, *columns):
    mask = np.zeros(data.n_features, dtype=bool)
    mask[list(columns)] = True
    return attrs.evolve(data, keep=mask)


@pytest.mark.parametrize("chain", ["mrmr:top=3", "jmi:top=3", "cmim:top=3", "jmi3:top=2", "fcbf",
                                   "mrmr:top=2,estimator=knn", "mim:top=2"])  # fmt: skip
def test_filters_start_from_them_as_from_given_ones(sixty, chain):
    method = fsframe.Chain.parse(chain).stages[0].method
    given = attrs.evolve(method, given=("f7", "f1"))
    expected = given.select(sixty)
    selection = method.select(_keeping(sixty, 0, 6))
    assert sorted(selection.selected[:2]) == [0, 6] == sorted(expected.selected[:2])
    assert selection.selected[2:].tolist() == expected.selected[2:].tolist()


def test_other_methods_add_them_and_later_stages_see_them(sixty):
    kept = _keeping(sixty, 0, 6)
    record = fsframe.Chain.parse("relieff:top=2 immigrate:top=1").run(kept)
    assert {0, 6} <= set(record.selected.tolist()) and len(record.selected) == 3
    assert set(record.stages[1].features_in.tolist()) == {0, 1, 3, 6}
    assert record.environment["keep"] == ["f1", "f7"]
    alone = fsframe.selectors["relieff"](top=2).select(sixty)
    assert record.stages[0].selection.scores.tobytes() == alone.scores.tobytes()


@pytest.mark.parametrize("chain", ["mim:top=2 npfs:n=20,permutations=49",
                                   "relieff ensemble:n=6,top=2", "relieff turf:top=2",
                                   "npfs:base=(mim:top=2),n=20,permutations=49"])  # fmt: skip
def test_stages_that_resample_have_them_in_every_resample_and_in_the_answer(sixty, chain):
    kept, plain = (fsframe.Chain.parse(chain).run(d) for d in (_keeping(sixty, 0, 6), sixty))
    assert {0, 6} <= set(kept.selected.tolist())
    if "npfs" in chain:
        # Scores are compared, and those are what they were: nothing else is named.
        assert set(kept.selected.tolist()) - {0, 6} == set(plain.selected.tolist()) - {0, 6}
        told = " ".join(kept.stages[-1].selection.warnings)
        assert "kept by request (--keep), whatever the test decides: f1, f7" in told
    if "turf" in chain:
        assert set(kept.selected.tolist()) - {0, 6} == set(plain.selected.tolist())
        rounds = kept.stages[-1].selection.tables["round"]
        assert (rounds[[0, 6]] == rounds.max()).all() and rounds.min() == 0


def test_where_they_would_pass_for_findings_they_are_refused_and_folds_keep_them(sixty):
    kept = _keeping(sixty, 5)
    assert kept.sha256 != sixty.sha256 != _keeping(sixty, 1).sha256 != kept.sha256
    with pytest.raises(DataError, match=r"null=published compares.*--keep"):
        fsframe.Chain.parse("mim:top=2 npfs:null=published").run(kept)
    with pytest.raises(DataError, match="stability"):
        fsframe.stability("mim:top=2", kept, n=5)
    folds = fsframe.Chain.parse("cross-validation:base=(mim:top=1 knn),folds=3,repeats=1")
    assert folds.run(sixty).scores[5] < folds.run(kept).scores[5] == 1.0


def test_kept_columns_leave_something_to_select_and_are_not_excluded():
    X, y = np.random.default_rng(0).integers(0, 4, (40, 4)), np.arange(40) % 2
    with pytest.raises(DataError, match="nothing left to select"):
        Dataset.from_arrays(X, y, keep=[0, 1, 2, 3])
    with pytest.raises(RequestError, match="cannot be both excluded and always kept"):
        fsframe.selectors["mrmr"](exclude=("f1",)).select(Dataset.from_arrays(X, y, keep=[0]))
    levels = Dataset.from_arrays(X, y, categorical=[3], keep=[3]).encoded("onehot")
    assert levels.keep.tolist() == [False] * 3 + [True] * 4


# Weights of rows


@pytest.fixture(scope="module")
def weighted(sixty):
    return Dataset.from_arrays(sixty.X, sixty.y, weights=np.arange(60) % 3, weight_name="times")


def test_class_sizes_digest_and_record_know_weights(sixty, weighted):
    sizes = np.bincount(sixty.y, weights=np.arange(60) % 3)
    assert weighted.class_sizes().tolist() == sizes.tolist()
    assert weighted.sha256 != sixty.sha256
    record = fsframe.Chain.parse("mim:top=2").run(weighted)
    assert record.environment["weights"] == {"name": "times", "sum": 60}
    assert "weights times: 60 rows in all" in repr(weighted)
    with pytest.raises(DataError, match=r"rows have weights \('times'\)"):
        fsframe.evaluate("mim:top=2 knn", weighted, folds=3, repeats=1)


@pytest.fixture
def times(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,times,b,class\n1,2,5,x\n3,1,2,y\n2,0,1,x\n4,3,2,y\n2,1,1,x\n")
    return path


def test_weights_are_read_with_the_table(times):
    data = fsframe.read(times, weight="times")
    assert data.counts.tolist() == [2, 1, 0, 3, 1] and data.feature_names == ("a", "b")
    frame = polars.read_csv(times)
    assert Dataset.from_frame(frame, "class", weight="times").sha256 == data.sha256
    run(f"chain mim:top=1 on {times} --weight times --no-out", code=0)


@pytest.mark.parametrize(
    ("roles", "said"),
    [
        ({"weight": "a"}, "row 1 has 0.5"),
        ({"weight": "class"}, "cannot be weights"),
        ({"keep": "class"}, r"is the label and cannot be kept \(--keep\)"),
    ],
    ids=["fractions", "the label as weights", "the label kept"],
)
def test_a_column_is_refused_a_role_that_it_cannot_have(times, roles, said):
    times.write_text(times.read_text().replace("\n1,", "\n0.5,"))
    with pytest.raises(DataError, match=said):
        fsframe.read(times, label="class", **roles)


# A new role of a column is a declaration, and the methods that honour it


TRIAL = Path(__file__).with_name("trial_role.py")


def commands(folder: Path, *lines: str) -> list[tuple[int, str]]:
    """Exit code and output of each command, in one process in which the role is declared."""
    given = json.dumps([line.split() for line in lines])
    done = python(TRIAL, given, cwd=folder, fakes=[TRIAL.parents[2]])
    return [tuple(json.loads(line)) for line in done.out.splitlines()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    frame = polars.DataFrame({name: rng.normal(size=60) for name in "abc"}).with_columns(
        mg=2 * polars.col("b") + rng.normal(size=60) / 9, y=(polars.col("a") > 0).cast(int)
    )
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    return tmp_path


STUDY = """
chains = ["dosed"]
classifiers = ["knn"]
folds = 2
[[tables]]
path = "t.csv"
label = "y"
dose = 7
"""


def test_a_declared_role_is_read_stored_honoured_and_repeated(folder: Path) -> None:
    (folder / "study.toml").write_text(STUDY)
    expected = {
        "chain --help": (0, "Column of the dose given"),
        "chain dosed on t.csv --dose mg --out t.csv.h5": (0, "by the dose mg"),
        "audit t.csv.h5": (0, "same bits"),
        "chain dosed on t.parquet --dose mg --out t.parquet.h5": (0, "by the dose mg"),
        "audit t.parquet.h5": (0, "same bits"),
        "chain mim on t.csv --label y --no-out": (0, "mim"),
        "study study.toml --dry-run": (2, "tables[0].dose: must be a text"),
        # Other methods, and columns with two roles, are refused by name.
        "chain mim on t.csv --dose mg": (4, "mim does not use mg (--dose): leave the option out"),
        "chain dosed on t.csv --dose mg --time mg": (4, "(--time) and cannot be the dose (--dose)"),
        "chain dosed on t.csv --dose gm": (4, "t.csv, dose: there is no column 'gm'"),
    }
    told = commands(folder, *expected)
    for (line, (code, words)), (ended, said) in zip(expected.items(), told, strict=True):
        assert ended == code and words in said, (line, said)
    assert "--dose NAME" in told[0][1]
    for table in ("t.csv", "t.parquet"):
        run = fsframe.load_run(folder / f"{table}.h5")
        assert run.selected_names == ("b",)
        assert run.environment["dose"] == run.environment["reading"]["dose"] == "mg"


def test_digest_and_rows_of_a_table_include_the_role(folder, monkeypatch) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'dose'"):
        fsframe.read(folder / "t.csv", dose="mg")
    monkeypatch.setitem(ROLES, "dose", DOSE)
    data = fsframe.read(folder / "t.csv", dose="mg")
    plain = fsframe.read(folder / "t.csv", drop="mg")
    other = fsframe.read(folder / "t.csv", dose="c", drop="mg")
    assert data.feature_names == plain.feature_names == ("a", "b", "c")
    assert len({data.sha256, plain.sha256, other.sha256}) == 3
    rows = np.array([5, 3, 8])
    doses = data.sides["dose"].values
    assert np.array_equal(data.take_rows(rows).sides["dose"].values, doses[rows])
    with pytest.raises(DataError, match=r"mim does not use mg"):
        fsframe.select("mim", data)
    with pytest.raises(RequestError, match="does not support dose: methods that use it need"):
        fsframe.read([folder / "t.parquet"], dose="mg")
