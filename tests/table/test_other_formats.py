"""Formats of other programs that hold arrays: what their own libraries wrote, and damage."""

from __future__ import annotations

import contextlib
import gzip
import shutil
import subprocess
from functools import partial
from pathlib import Path

import attrs
import h5py
import numpy as np
import polars
import pytest
import xlsxwriter
from scipy import io, sparse

from fsframe.chains.chain import Chain
from fsframe.errors import DataError, RequestError
from fsframe.method.run import Run
from fsframe.show.inspection import inspect_table
from fsframe.table.dataset import Dataset
from fsframe.table.frames import columns_of
from fsframe.table.guesses.column_facts import Contents
from fsframe.table.guesses.column_guesses import Guesses
from fsframe.table.read import contents, read, read_table
from fsframe.table.reader import ArrayTable
from fsframe.table.table_columns import Table, write_reduced
from fsframe_tables.matrices import MatrixMarketReader

N, P = 24, 5
Y = np.arange(N) % 2
X = np.random.default_rng(0).poisson(0.7, (N, P)) * 1.0
X[:, 1] += 3 * Y
NAMES = tuple(f"g{k}" for k in range(P))
DONOR = np.array([f"d{k // 4}" for k in range(N)])
GENOTYPES = np.random.default_rng(1).integers(0, 3, (N, P))


def write_npy(folder):
    np.save(folder / "t.npy", np.column_stack([X, Y]))
    return folder / "t.npy"


def write_sparse(folder, make=sparse.csr_matrix):
    sparse.save_npz(folder / "t.npz", make(np.column_stack([X, Y])))
    return folder / "t.npz"


def write_mtx(folder):
    io.mmwrite(folder / "t.mtx", sparse.coo_matrix(np.column_stack([X, Y])))
    return folder / "t.mtx"


def write_mat(folder):
    names = np.array(NAMES, dtype=object)
    io.savemat(folder / "t.mat", {"X": X, "y": Y[:, None], "names": names}, do_compression=True)
    return folder / "t.mat"


def write_mat_sparse(folder):
    io.savemat(folder / "t.mat", {"fea": sparse.csc_matrix(X), "gnd": Y * 1.0})
    return folder / "t.mat"


def write_mat_73(folder):
    """As MATLAB does: arrays by columns, behind a block of its own."""
    path = folder / "t.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        file["X"] = X.T
        file["y"] = Y[None, :] * 1.0
    head = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM"
    with path.open("r+b") as file:
        file.write(head)
    return path


def write_svmlight(folder):
    rows = [
        " ".join([str(y), *(f"{k + 1}:{v:g}" for k, v in enumerate(row) if v)])
        for row, y in zip(X, Y, strict=True)
    ]
    (folder / "t.svmlight").write_text("\n".join(rows) + "\n")
    return folder / "t.svmlight"


def write_h5ad(folder, values=sparse.csr_matrix):
    """The published form of the file, by hand."""
    path = folder / "t.h5ad"
    matrix = values(X)
    # Texts of fixed length: on damaged ones of variable length HDF5 itself may not come to an end.
    text = lambda values: np.array(values, dtype="S")  # noqa: E731
    with h5py.File(path, "w") as file:
        group = file.create_group("X")
        kind = "csr_matrix" if values is sparse.csr_matrix else "csc_matrix"
        group.attrs.update({"encoding-type": np.bytes_(kind), "shape": np.array(X.shape)})
        for part in ("data", "indices", "indptr"):
            group[part] = getattr(matrix, part)
        file["layers/log"] = np.log1p(X)
        file["var/_index"] = text(NAMES)
        file["obs/_index"] = text([f"c{k}" for k in range(N)])
        file["obs/type/codes"], file["obs/type/categories"] = Y.astype("i1"), text(["B", "T"])
        file["obs/donor"] = text(DONOR)
        file["obs/depth/values"], file["obs/depth/mask"] = np.arange(N) * 1.5, np.arange(N) == 3
    return path


def write_gct(folder):
    lines = ["#1.2", f"{P}\t{N}", "\t".join(["Name", "Description", *map(str, range(N))])]
    lines += ["\t".join([name, "na", *map(str, X[:, k].tolist())]) for k, name in enumerate(NAMES)]
    (folder / "t.gct").write_text("\n".join(lines) + "\n")
    (folder / "t.cls").write_text(f"{N} 2 1\n# ill well\n{' '.join(map(str, Y))}\n")
    return folder / "t.gct"


def write_geo(folder, name="t.txt"):
    """Samples tell their characteristics in any order, and some lack one."""
    kinds = ["ill", "well"]
    ages = [f"age: {30 + k}" if k % 3 else "" for k in range(N)]
    about = {
        "Series_title": ["A study"],
        "Sample_title": [f"sample {k}" for k in range(N)],
        "Sample_characteristics_ch1": [f"group: {kinds[y]}" for y in Y],
        "Sample_characteristics_ch1 ": [age or "sex: F" for age in ages],
        "Sample_characteristics_ch1  ": ["sex: M" if age else "" for age in ages],
        "Sample_channel_count": ["1"] * N,
    }
    lines = ["\t".join([f"!{key.strip()}", *(f'"{c}"' for c in about[key])]) for key in about]
    lines += ["", "!series_matrix_table_begin"]
    lines += ["\t".join(['"ID_REF"', *(f'"GSM{k}"' for k in range(N))])]
    lines += ["\t".join([f'"{name}"', *map(str, X[:, k].tolist())]) for k, name in enumerate(NAMES)]
    lines += ["!series_matrix_table_end", ""]
    opener = gzip.open if name.endswith(".gz") else open
    with opener(folder / name, "wt") as file:
        file.write("\n".join(lines))
    return folder / name


def write_plink(folder, copies=GENOTYPES):
    codes = np.array([3, 2, 0, 1])[copies]  # 0, 1, 2 copies of A1; missing
    padded = np.vstack([codes, np.zeros((-N % 4, P), dtype=int)])
    packed = (padded.T.reshape(P, -1, 4) << np.array([0, 2, 4, 6])).sum(axis=2).astype(np.uint8)
    (folder / "t.bed").write_bytes(b"\x6c\x1b\x01" + packed.tobytes())
    (folder / "t.bim").write_text("".join(f"1 g{k} 0 {k + 1} A G\n" for k in range(P)))
    fam = [f"F{k // 4} I{k} 0 0 1 {y + 1}\n" for k, y in enumerate(Y)]
    (folder / "t.fam").write_text("".join(fam))
    return folder / "t.bed"


WRITERS = {
    "npy": write_npy,
    "csr": write_sparse,
    "csc": partial(write_sparse, make=sparse.csc_matrix),
    "mtx": write_mtx,
    "mat": write_mat,
    "mat-sparse": write_mat_sparse,
    "mat-7.3": write_mat_73,
    "svmlight": write_svmlight,
    "h5ad": write_h5ad,
    "gct": write_gct,
    "geo": write_geo,
    "plink": write_plink,
}
LABEL = {"npy": -1, "csr": -1, "csc": -1, "mtx": -1, "h5ad": "type", "geo": "group"}


@pytest.mark.parametrize("form", WRITERS)
def test_the_values_the_names_and_the_label_come_back(tmp_path, form):
    path = WRITERS[form](tmp_path)
    data = read(path, label=LABEL.get(form))
    expected = GENOTYPES if form == "plink" else X
    np.testing.assert_array_equal(data.X, expected)
    np.testing.assert_array_equal(data.y, Y)
    if form in ("h5ad", "gct", "geo", "plink", "mat"):
        assert data.feature_names == NAMES
    assert data.name == "t"
    table = read_table(path)
    names = data.feature_names[1::-1]
    np.testing.assert_array_equal(table.numbers(names), expected[:, 1::-1])
    kept = write_reduced(tmp_path / "out.csv", table, names[:1], label=data.label_name)
    again = read(kept)
    np.testing.assert_array_equal(again.X[:, 0], expected[:, 1])
    assert [str(c) for c in again.classes] == [str(c) for c in data.classes]
    facts = contents(path)
    assert facts.n_rows == N and facts.columns[1].different == np.unique(expected[:, 1]).size


def test_characteristics_of_a_series_have_roles_and_its_damage_is_named(tmp_path):
    path = write_geo(tmp_path, "GSE1_series_matrix.txt.gz")
    facts = contents(path)
    assert [column.name for column in facts.columns[P:]] == ["group", "sex", "age"]
    assert facts.columns[-1].missing == len(range(0, N, 3))
    assert inspect_table(path).label == P
    assert read(path, label="group", groups="sex").n_groups == 2
    with pytest.raises(DataError, match="has the annotations group, sex, age: name one"):
        read(path)
    text = gzip.decompress(path.read_bytes()).decode()
    begin, rows, end = text.partition('"ID_REF"')[0], text.partition("begin\n")[2], "!series_matrix"
    empty = begin + rows.split("\n")[0] + f"\n{end}_table_end\n"
    for damaged, said in (
        (begin, "cut off: it has no line !series_matrix_table_end"),
        (empty, "empty table: .*supplementary files.*--transpose.*--samples"),
        (text.replace('"age: 31"\t', ""), "!Sample_characteristics_ch1 has"),
        (
            text.replace("\n!series_matrix_table_end", "\t1\n!series_matrix_table_end"),
            "fields, the line of names has",
        ),
    ):
        (tmp_path / "damaged.txt").write_text(damaged)
        with pytest.raises(DataError, match=said):
            read(tmp_path / "damaged.txt", label="group")


def test_what_is_known_of_cells_may_be_the_label_or_the_groups(tmp_path):
    path = write_h5ad(tmp_path, sparse.csc_matrix)
    data = read(path, label="type", groups="donor")
    assert data.classes == ("B", "T") and data.n_groups == N // 4 and data.group_name == "donor"
    log = read(path, x="layers/log", y="obs/type")
    np.testing.assert_array_equal(log.X, np.log1p(X))
    assert log.label_name == "type"
    with pytest.raises(DataError, match="depth, donor, type"):
        read(path)
    with pytest.raises(DataError, match="label is missing"):
        read(path, label="depth")
    with pytest.raises(DataError, match="layers/log"):
        read(path, x="layers/lag", label="type")
    assert [c.name for c in contents(path).columns[P:]] == ["depth", "donor", "type"]


def test_annotations_that_no_role_names_are_not_read(tmp_path, monkeypatch):
    lines = write_gct(tmp_path).read_text().splitlines()
    about = [f"{name}\t\t" + "\t".join(DONOR) for name in ("origin", "place")]
    lines[:3] = ["#1.3", f"{P}\t{N}\t1\t2", lines[2], *about]
    (tmp_path / "t.gct").write_text("\n".join(lines) + "\n")
    asked = []

    def values(table, column):
        asked.append(table.names[column])
        return Table.values(table, column)

    monkeypatch.setattr(ArrayTable, "values", values)
    read(tmp_path / "t.gct")
    assert not asked
    assert read(tmp_path / "t.gct", adjust="place").covariates.names == ("place",)
    assert asked == ["place"]


def test_words_for_missing_values_in_annotations(tmp_path):
    lines = write_gct(tmp_path).read_text().splitlines()
    origin = ["NA", *DONOR[1:]]
    lines[:3] = ["#1.3", f"{P}\t{N}\t1\t1", lines[2], "\t".join(["origin", "", *origin])]
    (tmp_path / "t.gct").write_text("\n".join(lines) + "\n")
    (about,) = (
        column for column in contents(tmp_path / "t.gct").columns if column.name == "origin"
    )
    assert (about.missing, about.different) == (1, len({*DONOR[1:]}))
    with pytest.raises(DataError, match="'origin': missing or infinite in 1 row"):
        read(tmp_path / "t.gct", adjust="origin")


def test_annotations_are_told_from_a_label_with_the_name_of_a_feature(tmp_path):
    y, donor = np.arange(20) % 2, np.array([f"d{k % 5}" for k in range(20)])
    table = ArrayTable(
        path=tmp_path, X=np.ones((20, 2)), names=("a", "b"), y=y, label_name="b",
        beside={"donor": donor},
    )  # fmt: skip
    assert table.names == ("a", "b", "donor", "b") and table.own_label == 3
    assert Guesses(Contents.of(table), 3, set()).beside == [2]


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("npy", "give the file that holds it \\(--labels"),
        ("csr", "give the file that holds it \\(--labels"),
        ("mtx", "or name the feature that is the label"),
        ("mat", r"it holds A, B: name one \(y=…, --y\)"),
        ("h5ad", "it has the annotations depth, donor, type: name one, or name the feature"),
        ("gct", "write the classes to t.cls"),
    ],
)
def test_a_missing_label_is_asked_for_in_the_words_of_the_format(tmp_path, form, said):
    path = WRITERS[form](tmp_path)
    if form == "mat":
        io.savemat(path, {"A": X, "B": [1, 2]})
    path.with_suffix(".cls").unlink(missing_ok=True)
    with pytest.raises(DataError, match=said):
        read(path)


def test_plink_genotypes_are_bytes_and_their_three_files_belong_together(tmp_path):
    data = read(write_plink(tmp_path), groups="family")
    assert data.matrix.dtype == np.uint8 and data.n_groups == N // 4
    (tmp_path / "t.bed").write_bytes((tmp_path / "t.bed").read_bytes()[:-1])
    with pytest.raises(DataError, match="belong to different data sets, or it is cut short"):
        read(tmp_path / "t.bed")
    (tmp_path / "t.fam").unlink()
    with pytest.raises(DataError, match=r"belongs to the \.bed file"):
        read(tmp_path / "t.bed")


@pytest.mark.parametrize("lacking", [(), ((2, 3), (N - 1, 0))])
def test_plink_tables_stay_in_two_bits_with_the_results_of_numbers(tmp_path, lacking):
    genotypes = GENOTYPES.copy()
    for place in lacking:
        genotypes[place] = 3
    path = write_plink(tmp_path, genotypes)
    packed = read(path)
    assert packed.nbytes == P * -(-N // 4) and not packed.in_memory
    numbers = np.where(genotypes == 3, np.nan, genotypes)
    expected = attrs.evolve(packed, matrix=numbers)
    np.testing.assert_array_equal(packed.X, numbers)
    assert packed.X is packed.X, "widened once"
    assert packed.sha256 == expected.sha256
    first = "impute " if lacking else ""
    for chain in (
        "mim:top=2,missing=level", f"{first}relieff:top=2", f"{first}anova-f:top=2",
        f"{first}mim:top=2 jmi", f"{first}mim:top=3 npfs:n=6,null=published,alpha=0.4",
        f"{first}mim:top=3 interactions", f"cross-validation:base=({first}mim:top=2 knn),folds=3",
    ):  # fmt: skip
        one, other = (Chain.parse(chain).run(data, seed=0).digests() for data in (packed, expected))
        assert one == other, chain
    if not lacking:
        packed = read(path, adjust="sex")
        expected = attrs.evolve(packed, matrix=numbers)
        adjusted = Chain.parse("jmi:top=2")
        one, other = (adjusted.run(data, seed=0).digests() for data in (packed, expected))
        assert one == other
        with pytest.raises(RequestError, match="two copies of the packed table"):
            adjusted.stages[0].method.select(packed, run=Run(memory=8))
    few = read(path, drop=["g0", "g2"])
    np.testing.assert_array_equal(few.X, np.delete(numbers, [0, 2], 1))
    for rows in (np.array([4, 1, 1, 0]), np.arange(N)[::-1], np.arange(7)):
        some = packed.take_rows(rows)
        assert some.nbytes == P * -(-len(rows) // 4)
        np.testing.assert_array_equal(some.X, numbers[rows])


@pytest.mark.skipif(shutil.which("plink1.9") is None, reason="plink1.9 is not installed")
def test_plink_counts_the_same_alleles(tmp_path):
    gaps = GENOTYPES.copy()
    gaps[5, 0] = 3
    data = read(write_plink(tmp_path, gaps))
    command = ["plink1.9", "--bfile", "t", "--recode", "A", "--out", "raw"]
    command += ["--allow-no-sex", "--keep-allele-order"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    theirs = read(tmp_path / "raw.raw", label="PHENOTYPE", drop=["FID", "IID", "PAT", "MAT", "SEX"])
    assert theirs.feature_names == tuple(f"{name}_A" for name in NAMES)
    np.testing.assert_array_equal(data.X, theirs.X)
    np.testing.assert_array_equal(data.y, theirs.y)


@pytest.mark.slow
@pytest.mark.parametrize("values", [np.array, sparse.csr_matrix, sparse.csc_matrix])
def test_what_anndata_writes_is_read(tmp_path, values):
    anndata, pandas = pytest.importorskip("anndata"), pytest.importorskip("pandas")
    obs = pandas.DataFrame(
        {"type": pandas.Categorical(np.array(["B", "T"])[Y]), "donor": DONOR},
        index=[f"c{k}" for k in range(N)],
    )
    made = anndata.AnnData(X=values(X), obs=obs, var=pandas.DataFrame(index=list(NAMES)))
    made.layers["counts"] = values(X + 1)
    made.write_h5ad(tmp_path / "t.h5ad")
    data = read(tmp_path / "t.h5ad", label="type", groups="donor")
    np.testing.assert_array_equal(data.X, X)
    assert data.feature_names == NAMES and data.classes == ("B", "T") and data.n_groups == N // 4
    counts = read(tmp_path / "t.h5ad", label="type", x="layers/counts")
    np.testing.assert_array_equal(counts.X, X + 1)


def test_a_mat_file_with_several_matrices_asks_which(tmp_path):
    io.savemat(tmp_path / "turned.mat", {"X": np.ones((2, 5)), "y": np.arange(5)})
    with pytest.raises(DataError, match="'y' has 5 values, 'X' 2 rows and 5 columns; the features"):
        read(tmp_path / "turned.mat")
    io.savemat(tmp_path / "t.mat", {"a": X, "b": X + 1, "s": Y, "t": 1 - Y})
    with pytest.raises(DataError, match=r"name one \(--x\): a, b"):
        read(tmp_path / "t.mat")
    with pytest.raises(DataError, match=r"name one \(--y\): s, t"):
        read(tmp_path / "t.mat", x="b")
    data = read(tmp_path / "t.mat", x="b", y="t")
    np.testing.assert_array_equal(data.X, X + 1)
    assert data.y.tolist() == (1 - Y).tolist()
    assert data.reading == {"x": "b", "y": "t", "reader": "tables/mat"}
    with pytest.raises(RequestError, match="read as npy, where x does not apply"):
        read(write_npy(tmp_path), x="b")


def test_samples_of_gct_1_3_bring_what_is_known_of_them(tmp_path):
    about = ["type", "-", *np.array(["B", "T"])[Y]]
    head = ["id", "description", *(f"s{k}" for k in range(N))]
    genes = [[name, "-", *map(str, X[:, k])] for k, name in enumerate(NAMES)]
    lines = ["#1.3", f"{P}\t{N}\t1\t1", *("\t".join(row) for row in [head, about, *genes])]
    (tmp_path / "u.gct").write_text("\n".join(lines))
    data = read(tmp_path / "u.gct", label="type")
    assert data.classes == ("B", "T") and data.feature_names == NAMES
    np.testing.assert_array_equal(data.X, X)


def test_sizes_that_a_sparse_file_declares_are_bounded(tmp_path, monkeypatch):
    sparse.save_npz(tmp_path / "wide.npz", sparse.csr_matrix((4000, 400_000)))
    monkeypatch.setenv("FSFRAME_TABLE_MEMORY", "1MB")
    with pytest.raises(DataError, match=r"4000 rows × 400000 columns.*40\.4 MB"):
        read(tmp_path / "wide.npz", label=0)
    (tmp_path / "t.mtx").write_text(
        "%%MatrixMarket matrix coordinate real general\n4 4 99999999999\n1 1 2\n"
    )
    with pytest.raises(DataError, match="declares 99999999999 entries"):
        read(tmp_path / "t.mtx", label=0)


def test_links_to_other_files_are_not_followed(tmp_path):
    path = write_h5ad(tmp_path)
    with h5py.File(path, "r+") as file:
        del file["layers/log"]
        file["layers/log"] = h5py.ExternalLink("/etc/passwd", "/X")
    with pytest.raises(DataError, match="link"):
        read(path, label="type", x="layers/log")


@pytest.mark.parametrize("form", WRITERS)
def test_mutated_files_are_read_or_refused(tmp_path, form, monkeypatch):
    monkeypatch.setenv("FSFRAME_TABLE_MEMORY", "20MB")
    path = WRITERS[form](tmp_path)
    files = [path, *(f for f in tmp_path.iterdir() if f != path)]
    whole = {file: file.read_bytes() for file in files}
    draw = np.random.default_rng(len(form))
    for trial in range(60):
        target = files[trial % len(files)]
        content = np.frombuffer(whole[target], np.uint8).copy()
        places = draw.integers(0, len(content), draw.integers(1, 6))
        content[places] = draw.integers(0, 256, len(places))
        cut = len(content) if trial % 3 else draw.integers(1, len(content))
        target.write_bytes(content.tobytes()[:cut])
        for call in (lambda: read(path, label=LABEL.get(form)), lambda: contents(path)):
            with contextlib.suppress(DataError, RequestError):
                call()
        target.write_bytes(whole[target])


def test_sparse_places_that_go_back_are_refused(tmp_path):
    # An index pointer that ends at 0 is that of an empty matrix, and SciPy looks no further.
    path = tmp_path / "t.npz"
    np.savez(path, format=b"csr", shape=(3, 2), data=np.ones(2), indices=np.array([0, 1]),
             indptr=np.array([0, 2, 50_000_000, 0]))  # fmt: skip
    with pytest.raises(DataError, match="index pointer decreases"):
        read(path, label=0)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("matrix coordinate real general\n3 2 2\n1 1 5\n3 2\n", "2 entries of 3 numbers"),
        ("matrix coordinate real general\n3 2 2\n1 1 5 3\n2 6\n", "2 entries of 3 numbers"),
        ("matrix coordinate real general\n3 2 2\n1 1 5\n4 2 6\n", "a row or column that is not"),
        ("matrix coordinate real general\n3 2 1\n1 1.5 5\n", "a row or column that is not"),
        ("matrix coordinate real general\n3 2 1\n1 1 x\n", "cannot be read|other"),
        ("matrix coordinate real general\n3 2 1\n1 1 2\n1 2 2\n", "1 entries of 3 numbers"),
        ("matrix coordinate complex general\n3 2 1\n1 1 2 3\n", "coordinate matrices of real"),
        ("matrix array real symmetric\n2 2\n1\n2\n3\n", "and general arrays"),
    ],
)
def test_damaged_matrix_market_files_are_refused(tmp_path, content, said):
    path = tmp_path / "t.mtx"
    path.write_text("%%MatrixMarket " + content)
    with pytest.raises(DataError, match=said):
        read(path, label=0)


@pytest.mark.parametrize(
    ("form", "field", "symmetry"),
    [
        ("array", "real", "general"),
        ("coordinate", "real", "general"),
        ("coordinate", "integer", "symmetric"),
        ("coordinate", "pattern", "general"),
        ("coordinate", "real", "skew-symmetric"),
    ],
)
def test_matrix_market_files_mean_what_scipy_reads_in_them(
    tmp_path, monkeypatch, form, field, symmetry
):
    X = np.random.default_rng(0).integers(0, 2, (6, 6)).astype(float)
    monkeypatch.setattr("fsframe_tables.matrices._BLOCK", 10)
    X = {"symmetric": X + X.T, "skew-symmetric": X - X.T}.get(symmetry, X)
    path = tmp_path / "t.mtx"
    given = X if form == "array" else sparse.coo_matrix(X)
    io.mmwrite(path, given, field=field, symmetry=symmetry, comment="two\n lines")
    known = io.mmread(path)
    expected = known if form == "array" else known.toarray()
    label = np.array([0, 1, 0, 1, 0, 1])
    result = MatrixMarketReader().read(path).X
    data = Dataset.from_arrays(result, label)
    assert data.X.tolist() == expected.tolist()


def test_numbers_of_workbooks_keep_their_digits(tmp_path: Path) -> None:
    # As text, the library that reads them gives nine decimals.
    numbers = [1e-12, 1 / 3, -1e-300, 123456789.125, 2e22]
    rows = [["p", "class"], *map(list, zip(numbers, "abaab", strict=True))]
    path = written(tmp_path / "small.xlsx", {"Sheet": rows})
    assert read(path).X[:, 0].tolist() == numbers


SHEETS = {
    "Notes": [["A trial of two arms"], ["exported in March"]],
    "Trial": [["id", "x", "class"], *([k // 2, k * 1.5, "ab"[k % 2]] for k in range(6))],
    "Key & codes": [["code", "class"], [5, "a"], [2, "b"], [9, "a"], [4, "b"]],
}


def written(path: Path, sheets: dict[str, list[list[object]]]) -> Path:
    with xlsxwriter.Workbook(path) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for row, cells in enumerate(rows):
                sheet.write_row(row, 0, cells)
            if name == "Trial":
                for row in (1, 3, 5):
                    sheet.merge_range(row, 0, row + 1, 0, row)
    return path


def test_the_sheet_of_a_workbook_that_holds_a_table_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "trial.xlsx", SHEETS)
    data = read(path)
    assert data.feature_names == ("id", "x") and data.n_samples == 6
    # The cells merged in the second sheet, not those of the first.
    assert data.X[:, 0].tolist() == [1, 1, 3, 3, 5, 5]
    said = "sheet 'Trial' was read; Key & codes may be meant as well (--x SHEET, x='SHEET')"
    assert said in data.warnings
    assert contents(path).table.description == "sheet 'Trial' of a workbook, names in the first row"
    other = read(path, x="Key & codes")
    assert other.feature_names == ("code",) and not other.warnings
    with pytest.raises(
        DataError, match=r"no sheet 'Trail'. Did you mean `Trial`\?; its sheets are"
    ):
        read(path, x="Trail")


def test_a_workbook_without_a_table_says_so_of_its_first_sheet(tmp_path: Path) -> None:
    notes = {"Notes": SHEETS["Notes"], "More": [["nothing"]]}
    with pytest.raises(DataError, match=r"notes\.xlsx"):
        read(written(tmp_path / "notes.xlsx", notes))
    alone = written(tmp_path / "one.xlsx", {"Trial": SHEETS["Trial"]})
    assert read(alone).warnings == ()
    assert contents(alone).table.description.startswith("sheet of a workbook")


def test_columns_of_a_frame_are_listed_once_however_many_are_asked_for(tmp_path, monkeypatch):
    asked = []

    def counted(frame):
        asked.append(frame)
        return columns_of(frame)

    monkeypatch.setattr("fsframe.table.frames.columns_of", counted)
    frame = polars.DataFrame({name: X[:, k] for k, name in enumerate(NAMES)})
    frame.with_columns(y=polars.Series(Y)).write_parquet(tmp_path / "t.parquet")
    assert len(contents(tmp_path / "t.parquet").columns) == P + 1
    assert len(asked) == 1
    table = read_table(tmp_path / "t.parquet")
    np.testing.assert_array_equal(table.numbers(NAMES[::-1]), X[:, ::-1])
    assert len(asked) == 2
