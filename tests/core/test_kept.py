"""Columns that every stage keeps, and weights of rows: honoured, recorded, or refused by name."""

import attrs
import numpy as np
import polars
import pytest

import fsframe
from fsframe.errors import DataError, RequestError
from fsframe.table.dataset import Dataset
from fsframe.testing import tables
from tests.same_process import fsframe as run


@pytest.fixture(scope="module")
def data():
    return tables.classes(60, 8)


def _keeping(data, *columns):
    mask = np.zeros(data.n_features, dtype=bool)
    mask[list(columns)] = True
    return attrs.evolve(data, keep=mask)


@pytest.mark.parametrize("chain", ["mrmr:top=3", "jmi:top=3", "cmim:top=3", "jmi3:top=2", "fcbf",
                                   "mrmr:top=2,estimator=knn", "mim:top=2"])  # fmt: skip
def test_filters_start_from_them_as_from_given_ones(data, chain):
    method = fsframe.Chain.parse(chain).stages[0].method
    given = attrs.evolve(method, given=("f7", "f1"))
    expected = given.select(data)
    found = method.select(_keeping(data, 0, 6))
    assert sorted(found.selected[:2]) == [0, 6] == sorted(expected.selected[:2])
    assert found.selected[2:].tolist() == expected.selected[2:].tolist()


def test_other_methods_add_them_and_later_stages_see_them(data):
    kept = _keeping(data, 0, 6)
    record = fsframe.Chain.parse("relieff:top=2 immigrate:top=1").run(kept)
    assert {0, 6} <= set(record.selected.tolist()) and len(record.selected) == 3
    assert set(record.stages[1].features_in.tolist()) == {0, 1, 3, 6}
    assert record.environment["keep"] == ["f1", "f7"]
    alone = fsframe.selectors["relieff"](top=2).select(data)
    assert record.stages[0].selection.scores.tobytes() == alone.scores.tobytes()


@pytest.mark.parametrize("chain", ["mim:top=2 npfs:n=20", "relieff ensemble:n=6,top=2",
                                   "relieff turf:top=2", "npfs:base=(mim:top=2),n=20"])  # fmt: skip
def test_stages_that_resample_have_them_in_every_resample_and_in_the_answer(data, chain):
    kept, plain = (fsframe.Chain.parse(chain).run(d) for d in (_keeping(data, 0, 6), data))
    assert {0, 6} <= set(kept.selected.tolist())
    if "npfs" in chain:
        # Scores are compared, and those are what they were: nothing else is named.
        assert set(kept.selected.tolist()) - {0, 6} == set(plain.selected.tolist()) - {0, 6}
        told = " ".join(kept.stages[-1].selection.warnings)
        assert "kept by request (--keep), whatever the test decides: f1, f7" in told
    if "turf" in chain:
        assert set(kept.selected.tolist()) - {0, 6} == set(plain.selected.tolist())


def test_where_they_would_pass_for_findings_they_are_refused_and_folds_keep_them(data):
    kept = _keeping(data, 5)
    assert kept.sha256 != data.sha256 != _keeping(data, 1).sha256 != kept.sha256
    with pytest.raises(DataError, match=r"null=published compares.*--keep"):
        fsframe.Chain.parse("mim:top=2 npfs:null=published").run(kept)
    with pytest.raises(DataError, match="stability"):
        fsframe.stability("mim:top=2", kept, n=5)
    folds = fsframe.Chain.parse("cross-validation:base=(mim:top=1 knn),folds=3,repeats=1")
    assert folds.run(data).scores[5] < folds.run(kept).scores[5] == 1.0


def test_the_command_line_names_them(tmp_path):
    lines = [f"{k % 2 * 3 + k % 3},{k % 5},{k % 7},{k % 11},{k % 2}" for k in range(40)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a,b,c,d,class", *lines]))
    done = run(f"chain mim:top=1 on {path} --keep c --no-out --json")
    assert done.code == 0 and sorted(done.json["selected"]) == ["a", "c"]
    done = run(f"chain mim:top=1 on {path} --keep class --no-out")
    assert done.code == 4 and "is the label and cannot be kept (--keep)" in done.err


def test_kept_columns_leave_something_to_select_and_are_not_excluded():
    X, y = np.random.default_rng(0).integers(0, 4, (40, 4)), np.arange(40) % 2
    with pytest.raises(DataError, match="nothing left to select"):
        Dataset.from_arrays(X, y, keep=[0, 1, 2, 3])
    with pytest.raises(RequestError, match="cannot be both excluded and always kept"):
        fsframe.selectors["mrmr"](exclude=("f1",)).select(Dataset.from_arrays(X, y, keep=[0]))
    levels = Dataset.from_arrays(X, y, categorical=[3], keep=[3]).encoded("onehot")
    assert levels.keep.tolist() == [False] * 3 + [True] * 4


@pytest.fixture(scope="module")
def weighted(data):
    return Dataset.from_arrays(data.X, data.y, weights=np.arange(60) % 3, weight_name="times")


def test_class_sizes_digest_and_record_know_weights(data, weighted):
    sizes = np.bincount(data.y, weights=np.arange(60) % 3)
    assert weighted.class_sizes().tolist() == sizes.tolist()
    assert weighted.sha256 != data.sha256
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


@pytest.mark.parametrize(
    ("roles", "said"),
    [
        ("--weight times", ""),
        ("--weight a", "row 1 has 0.5"),
        ("--weight class", "cannot be weights"),
    ],
    ids=["whole numbers", "fractions", "the label"],
)
def test_only_whole_numbers_that_are_no_label_can_be_weights(times, roles, said):
    times.write_text(times.read_text().replace("\n1,", "\n0.5,"))
    done = run(f"chain mim:top=1 on {times} --label class {roles} --no-out --json")
    assert done.code == (4 if said else 0) and said in done.err
