"""Formats of other programs: the same table as text, whatever it comes in; recorded readers."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import attrs
import numpy as np
import polars
import pytest

from fsframe.errors import DataError, RequestError
from fsframe.registry import readers
from fsframe.storage import load_run, write_run
from fsframe.table.read import read, read_table
from fsframe.table.table_columns import write_reduced
from tests.command_line import python
from tests.same_process import fsframe

FRAME = polars.DataFrame(
    {"a": [1.5, None, 3.0, 4.0], "n": [1, 2, 3, 5], "kind": ["x", "y", "x", "y"]}
)
TEXT = "a,n,kind\n1.5,1,x\n,2,y\n3,3,x\n4,5,y\n"
ARFF = """% a comment
@relation toy
@attribute a numeric
@attribute n real
@attribute kind {x, y}
@data
1.5,1,x
?,2,y
3,3,x
4,5,y
"""


def write(path, form):
    if form == "parquet":
        FRAME.write_parquet(path)
    elif form == "arrow":
        FRAME.write_ipc(path, compression="lz4")
    elif form == "excel":
        # To a file of that name polars would add an ending.
        book = io.BytesIO()
        FRAME.write_excel(book)
        path.write_bytes(book.getvalue())
    else:
        path.write_text(ARFF)


@pytest.mark.parametrize("form", ["parquet", "arrow", "excel", "arff"])
def test_every_format_gives_the_table_that_text_gives(tmp_path, form):
    path = tmp_path / ("data.arff" if form == "arff" else "data")
    write(path, form)
    (tmp_path / "t.csv").write_text(TEXT)
    data, plain = read(path), read(tmp_path / "t.csv")
    assert data.sha256 == plain.sha256
    assert (data.name, data.label_name) == ("data", "kind")
    table = read_table(path)
    np.testing.assert_array_equal(table.numbers(["n", "a"]), plain.X[:, ::-1])
    out = write_reduced(tmp_path / "out.csv", table, ["a"], label="kind")
    assert read(out).X.tobytes() == plain.X[:, :1].tobytes()


def test_nominal_attributes_are_categorical(tmp_path):
    path = tmp_path / "t.arff"
    path.write_text(ARFF)
    data = read(path, label="n", task="regression")
    assert data.categorical.tolist() == [False, True]
    assert data.X[:, 1].tolist() == [0, 1, 0, 1]
    path.write_text(ARFF.replace("1.5,1,x", "{0 1.5, 1 1}"))
    with pytest.raises(DataError, match="rows in braces, as of sparse ARFF, are not read"):
        read(path)
    path.write_text(ARFF.replace("attribute a", 'attribute "an a"').replace("{x", '{"x"'))
    assert (data := read(path)).feature_names == ("an a", "n") and data.classes == ("x", "y")
    path.write_text(ARFF.replace("numeric", "string"))
    with pytest.raises(DataError, match=r"attributes of text \(string\).* are not read; save"):
        read(path)
    path.write_text(ARFF.replace("1.5,1,x", "1.5,1,x,{2}"))
    with pytest.raises(DataError, match=r"row \d has 4 cells, and there are 3 attributes; weights"):
        read(path)


def test_a_damaged_file_is_reported_with_its_reader_and_its_place_named(tmp_path):
    path = tmp_path / "data"
    write(path, "parquet")
    whole = path.read_bytes()
    for cut in (5, 40, len(whole) - 3):
        path.write_bytes(whole[:cut])
        told = f"{path} cannot be read by reader `parquet` of plugin `tables`"
        with pytest.raises(DataError, match=told):
            read(path)
    path.write_bytes(whole)
    with pytest.raises(DataError, match=r"label: there is no column 'knd'. Did you mean"):
        read(path, label="knd")


def test_a_formula_in_a_workbook_is_read_as_its_stored_value(tmp_path):
    import xlsxwriter

    book = xlsxwriter.Workbook(tmp_path / "t.xlsx")
    sheet = book.add_worksheet()
    for column, name in enumerate(("a", "kind")):
        sheet.write(0, column, name)
    for row in range(1, 7):
        # What would be computed is not what is stored.
        sheet.write_formula(row, 0, '=WEBSERVICE("http://127.0.0.1:9/")', None, 0.5 * row)
        sheet.write(row, 1, "xy"[row % 2])
    book.close()
    assert np.array_equal(read(tmp_path / "t.xlsx").X[:, 0], 0.5 * np.arange(1, 7))


def test_options_that_mean_nothing_for_a_format_are_refused(tmp_path):
    path = tmp_path / "data"
    write(path, "parquet")
    with pytest.raises(RequestError, match="read as parquet, where delimiter, na do not apply"):
        read(path, delimiter=";", na="-9")


def test_mutated_files_are_read_or_refused(tmp_path):
    rng = np.random.default_rng(1)
    for form in ("parquet", "arrow", "arff"):
        path = tmp_path / ("t.arff" if form == "arff" else "t")
        write(path, form)
        whole = np.frombuffer(path.read_bytes(), np.uint8)
        for _ in range(80):
            content = whole.copy()
            places = rng.integers(4, len(content), rng.integers(1, 6))
            content[places] = rng.integers(0, 256, len(places))
            path.write_bytes(content.tobytes()[: rng.integers(4, len(content) + 40)])
            with contextlib.suppress(DataError):
                assert read(path).n_samples > 0


def test_bundled_readers_are_offered_by_the_plugin_of_tables():
    names = ("arff", "arrow", "excel", "parquet")
    assert {readers.offer(name).provider for name in names} == {"tables"}


# The reader that read a table is recorded, and asked for where the table is read again


CHAIN = ("chain", "mim:top=2", "npfs:n=6,permutations=9,alpha=0.2", "on", "t.tenths", "-q")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table in tenths and its run, made with the plugin."""
    path = tmp_path_factory.mktemp("reader")
    label = np.arange(60) % 2
    X = np.random.default_rng(0).normal(size=(60, 4)).round(3)
    X[:, 0] += 3 * label
    table = np.column_stack([X, label])
    np.savetxt(path / "t.tenths", table, "%.4g", delimiter=",", header="a,b,c,d,class", comments="")
    fsframe(*CHAIN, "-o", "run.h5", cwd=path, fakes=["fake_tenths"], code=0)
    return path


def test_the_reader_is_recorded(folder):
    reading = load_run(folder / "run.h5").environment["reading"]
    assert reading["reader"] == "fake-tenths/tenths"


@pytest.mark.parametrize(
    "command",
    [
        ("apply", "run.h5", "on", "t.tenths", "-o", "-"),
        ("audit", "run.h5", "on", "t.tenths"),
        ("predict", "run.h5", "on", "t.tenths", "--classifier", "knn"),
    ],
)
def test_a_reader_that_is_missing_is_named(folder, command):
    fsframe(*command, cwd=folder, fakes=["fake_tenths"], code=0)
    without = fsframe(*command, cwd=folder, code=3)
    assert "t.tenths was read by the reader 'tenths' of the plugin 'fake-tenths'" in without.err
    assert not without.out


def test_another_format_is_read_without_the_plugin(folder):
    frame = (folder / "t.tenths").read_text()
    (folder / "same.csv").write_text(frame)
    done = fsframe("apply", "run.h5", "on", "same.csv", "-o", "-", cwd=folder, code=0)
    assert done.out.splitlines()[0].split(",")[-1] == "class"


_FULL = """
import sys
import fsframe.chains.request as requests
from fsframe.cli import main
from fsframe.errors import StoreError

def full(*_, **__):
    raise StoreError("the disk is full")

requests.write_run = full
sys.argv = ["fsframe", *sys.argv[1:]]
sys.exit(main())
"""


def test_resume_asks_for_the_reader(folder):
    words = ["-c", _FULL, *CHAIN, "-o", "stopped.h5"]
    assert "the disk is full" in python(*words, cwd=folder, fakes=["fake_tenths"], code=5).err
    assert "the reader 'tenths'" in fsframe("resume", "stopped.h5", cwd=folder, code=3).err
    fsframe("resume", "stopped.h5", "-q", cwd=folder, fakes=["fake_tenths"], code=0)
    found, whole = load_run(folder / "stopped.h5"), load_run(folder / "run.h5")
    assert found.digests() == whole.digests()
    assert found.environment["reading"] == whole.environment["reading"]


def test_a_run_file_without_the_record_is_read_as_before(folder):
    record = load_run(folder / "run.h5")
    reading = {k: v for k, v in record.environment["reading"].items() if k != "reader"}
    old = attrs.evolve(record, environment={**record.environment, "reading": reading})
    write_run(folder / "old.h5", old)
    fsframe("apply", "old.h5", "on", "t.tenths", "-o", "-", cwd=folder, code=0)
