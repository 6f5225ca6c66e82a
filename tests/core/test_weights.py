"""Weights of rows: whole numbers, honoured as counts; what draws rows refuses by name."""

import numpy as np
import pytest

import fsframe
from fsframe.errors import DataError
from fsframe.table.dataset import Dataset
from fsframe.testing import tables
from tests.same_process import fsframe as run

TIMES = np.arange(96) % 3


@pytest.fixture(scope="module")
def data():
    plain = tables.classes()
    return Dataset.from_arrays(plain.X, plain.y, weights=TIMES, weight_name="times")


@pytest.mark.parametrize("chain", ["mim:top=3", "jmi:top=3", "anova-f", "chi2", "variance",
                                   "lasso:penalties=5,folds=2"])  # fmt: skip
def test_a_heavy_row_is_several_rows(data, chain):
    rows = np.repeat(np.arange(96), TIMES)
    copied = Dataset.from_arrays(data.X[rows], data.y[rows])
    method = fsframe.Chain.parse(chain).stages[0].method
    found, expected = method.select(data), method.select(copied)
    if chain.startswith("lasso"):
        # Copies stay in one fold, which cannot be told of a table that holds them.
        assert found.selected[0] == expected.selected[0]
        return
    assert found.scores == pytest.approx(expected.scores, rel=1e-9, nan_ok=True)
    assert found.selected.tolist() == expected.selected.tolist()


def test_class_sizes_digest_and_record_know_them(data):
    sizes = [int(TIMES[data.y == code].sum()) for code in (0, 1)]
    assert data.class_sizes().tolist() == sizes
    plain = tables.classes()
    assert data.sha256 != Dataset.from_arrays(plain.X, plain.y).sha256
    record = fsframe.Chain.parse("mim:top=2").run(data)
    assert record.environment["weights"] == {"name": "times", "sum": 96}
    assert "weights times: 96 rows in all" in repr(data)


@pytest.mark.parametrize(
    "chain",
    ["mim:top=3 npfs", "relieff ensemble", "relieff turf", "relieff:permutations=99",
     "mrmr:stop=significant,test=permutation"],
)  # fmt: skip
def test_what_draws_or_deals_out_rows_refuses_before_any_work(data, chain):
    with pytest.raises(DataError, match=r"rows have weights \('times'\)"):
        fsframe.Chain.parse(chain).run(data)


def test_evaluation_and_stability_refuse(data):
    with pytest.raises(DataError, match=r"rows have weights \('times'\)"):
        fsframe.evaluate("mim:top=2 knn", data, folds=3, repeats=1)
    with pytest.raises(DataError, match=r"rows have weights \('times'\)"):
        fsframe.stability("mim:top=2", data, n=5)


def test_weights_are_read_with_the_table_and_fractions_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,times,b,class\n1,2,5,x\n3,1,2,y\n2,0,1,x\n4,3,2,y\n2,1,1,x\n")
    data = fsframe.read(path, weight="times")
    assert data.counts.tolist() == [2, 1, 0, 3, 1] and data.feature_names == ("a", "b")
    import polars

    frame = polars.read_csv(path)
    assert Dataset.from_frame(frame, "class", weight="times").sha256 == data.sha256
    done = run("chain", "mim:top=1", "on", str(path), "--weight", "times", "--no-out", "--json")
    assert done.code == 0, done.err
    path.write_text("a,times,class\n1,0.5,x\n3,1,y\n2,1,x\n4,1,y\n")
    done = run("chain", "mim:top=1", "on", str(path), "--weight", "times", "--no-out")
    assert done.code == 4 and "row 1 has 0.5" in done.err
    both = ["--label", "class", "--weight", "class"]
    done = run("chain", "mim:top=1", "on", str(path), *both, "--no-out")
    assert done.code == 4 and "cannot be weights" in done.err
