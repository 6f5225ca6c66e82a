"""Columns that every stage keeps: greedy filters start from them, others add them."""

import attrs
import numpy as np
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


def test_they_are_part_of_what_a_run_is_known_by(data):
    assert _keeping(data, 0).sha256 != data.sha256 != _keeping(data, 1).sha256


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


def test_where_they_would_pass_for_findings_they_are_refused(data):
    with pytest.raises(DataError, match=r"null=published compares.*--keep"):
        fsframe.Chain.parse("mim:top=2 npfs:null=published").run(_keeping(data, 0))
    with pytest.raises(DataError, match="stability"):
        fsframe.stability("mim:top=2", _keeping(data, 0), n=5)


def test_every_fold_keeps_them(data):
    kept = _keeping(data, 5)
    chain = "cross-validation:base=(mim:top=1 knn),folds=3,repeats=1"
    assert fsframe.Chain.parse(chain).run(kept).scores[5] == 1.0
    assert fsframe.Chain.parse(chain).run(data).scores[5] < 1.0


def test_frames_and_the_command_line_name_them(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.standard_normal((40, 4)) + np.outer(y, [3, 0, 0, 0])
    lines = ["a,b,c,d,class", *(",".join(map(str, (*x, k))) for x, k in zip(X, y, strict=True))]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines))
    done = run("chain", "mim:top=1", "on", str(path), "--keep", "c", "--no-out", "--json")
    assert done.code == 0 and sorted(done.json["selected"]) == ["a", "c"]
    assert fsframe.read(path, keep="c").keep.tolist() == [False, False, True, False]
    done = run("chain", "mim:top=1", "on", str(path), "--keep", "class", "--no-out")
    assert done.code == 4 and "is the label and cannot be kept (--keep)" in done.err
    with pytest.raises(DataError, match="nothing left to select"):
        Dataset.from_arrays(X, y, keep=[0, 1, 2, 3])
    with pytest.raises(RequestError, match="cannot be both excluded and always kept"):
        excluding = fsframe.selectors["mrmr"](exclude=("f1",))
        excluding.select(Dataset.from_arrays(X, y, keep=[0]))
    two = Dataset.from_arrays(
        np.c_[X, y * 3 + rng.integers(0, 2, 40)], y, categorical=[4], keep=[4]
    )
    assert two.encoded("onehot").keep.tolist() == [False] * 4 + [True] * 4
