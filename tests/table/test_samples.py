"""Features in rows, and a table about the samples: read as if everything were one tidy table."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import polars
import pytest

import fsframe
from fsframe.errors import DataError, RequestError
from fsframe.table.read import contents
from tests.same_process import fsframe as command

N, P = 24, 15
NAMES = [f"S{k:02d}" for k in range(N)]
GROUPS = ["tumour", "normal"] * (N // 2)


X = np.random.default_rng(4).normal(8, 1, (P, N)).round(3)
"""Genes × samples; gene 3 goes with the groups."""
X[3] += 3 * np.array([group == "tumour" for group in GROUPS])
GENES: list[list[object]] = [[f"G{j}", *X[j]] for j in range(P)]


def lines(rows: list[list[object]], sign: str = "\t") -> str:
    return "".join(sign.join(map(str, row)) + "\n" for row in rows)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The same data as genes × samples with a table about the samples, and as one tidy table."""
    (tmp_path / "expr.tsv").write_text(lines([["gene", *NAMES], *GENES]))
    about = [[NAMES[k], GROUPS[k], 30 + k, f"P{k // 2}"] for k in range(N)]
    shuffled = [about[k] for k in np.random.default_rng(1).permutation(N)]
    (tmp_path / "about.csv").write_text(lines([["id", "group", "age", "person"], *shuffled], ","))
    tidy = [[*X[:, k], GROUPS[k]] for k in range(N)]
    names = [f"G{j}" for j in range(P)]
    (tmp_path / "tidy.csv").write_text(lines([[*names, "group"], *tidy], ","))
    wide = [[NAMES[k], *X[:, k]] for k in range(N)]
    (tmp_path / "wide.csv").write_text(lines([["id", *names], *wide], ","))
    return tmp_path


def read(folder: Path, name: str = "expr.tsv", **given: object) -> fsframe.Dataset:
    return fsframe.read(folder / name, **{"label": "group", **given})


def turned(folder: Path, **given: object) -> fsframe.Dataset:
    """The table of features in rows, with that about its samples."""
    return read(folder, **{"transpose": True, "samples": folder / "about.csv", **given})


def test_it_is_the_tidy_table(folder: Path) -> None:
    tidy = read(folder, "tidy.csv")
    for data in (
        turned(folder),
        read(folder, "wide.csv", samples=folder / "about.csv"),
    ):
        assert data.X.tobytes() == tidy.X.tobytes() and data.y.tolist() == tidy.y.tolist()
        assert (data.feature_names, data.classes) == (tidy.feature_names, tidy.classes)


def test_what_is_known_of_samples_has_roles_and_is_no_feature(folder: Path) -> None:
    data = turned(folder, groups="person", adjust="age")
    assert data.n_features == P and len(set(data.groups.tolist())) == N // 2
    assert data.covariates.values[:, 0].tolist() == [30 + k for k in range(N)]
    weighted = turned(folder, weight="age")
    assert weighted.counts.tolist() == [30 + k for k in range(N)] and weighted.n_features == P
    assert turned(folder, label="age", task="regression").y.tolist() == [30 + k for k in range(N)]


def test_a_row_of_text_may_be_the_label(folder: Path) -> None:
    rows = [["gene", *NAMES], ["group", *GROUPS], *GENES]
    (folder / "rows.tsv").write_text("Export of 2024\n\n" + lines(rows))
    data = read(folder, "rows.tsv", transpose=True)
    assert data.X.tobytes() == read(folder, "tidy.csv").X.tobytes()
    assert data.classes == ("normal", "tumour")
    assert "the lines above the names were taken as a title: 'Export of 2024'" in data.warnings


def test_words_and_codes_for_missing_values_in_a_row_of_text(folder: Path) -> None:
    told = ["NA", "unknown", *GROUPS[2:]]
    (folder / "rows.tsv").write_text(lines([["gene", *NAMES], ["group", *told], *GENES]))
    said = {"transpose": True, "na": "unknown"}
    data = read(folder, "rows.tsv", **said, missing_label="drop")
    assert data.n_samples == N - 2 and data.classes == ("normal", "tumour")
    (group,) = contents(folder / "rows.tsv", **said).columns[P:]
    assert (group.missing, group.different) == (2, 2)
    with pytest.raises(DataError, match="'group': missing or infinite in 2 rows"):
        read(folder, "rows.tsv", **said, label="G0", adjust="group")


def test_numbers_with_decimal_commas_beside_a_row_of_quoted_text(folder: Path) -> None:
    genes = [[f"G{j}", *(str(x).replace(".", ",") for x in X[j])] for j in range(P)]
    rows = [["gene", *NAMES], ["group", *(f'"{group}"' for group in GROUPS)], *genes]
    (folder / "rows.csv").write_text(lines(rows, ";"))
    data = read(folder, "rows.csv", transpose=True)
    assert data.X.tobytes() == read(folder, "tidy.csv").X.tobytes()
    assert data.classes == ("normal", "tumour")


def test_features_in_rows_are_seen_although_two_have_one_name(folder: Path) -> None:
    counts = [[f"G{j}", *map(int, abs(X[j % P]))] for j in range(40)]
    counts[-1][0] = "G0"
    (folder / "twice.tsv").write_text(lines([["gene_id", *NAMES], *counts]))
    said = " ".join(command("inspect", "twice.tsv", cwd=folder).out.split())
    assert "features are in rows, say so (--transpose)" in said


def test_columns_about_the_features_are_no_samples(folder: Path) -> None:
    """As counters of reads, cBioPortal and BIOM write them, before and behind the samples."""
    names = ["Geneid", "Chr", "Start", "Length", *NAMES, "taxonomy"]
    genes = [[f"G{j}", "chr1;chr1", j * 100, 7, *X[j], "k__A"] for j in range(P)]
    labelled = [["group", "", "", "", *GROUPS, ""], *genes]
    (folder / "counts.txt").write_text("# Program: x\n" + lines([names, *genes]))
    (folder / "rows.tsv").write_text(lines([names, *labelled]))
    tidy = read(folder, "tidy.csv")
    for name, given in (("counts.txt", {"samples": folder / "about.csv"}), ("rows.tsv", {})):
        data = read(folder, name, transpose=True, **given)
        assert data.X.tobytes() == tidy.X.tobytes() and data.classes == tidy.classes
        (told,) = (text for text in data.warnings if text.startswith("left out, as columns about"))
        assert told.endswith("'Chr', 'Start', 'Length', 'taxonomy'")
    alone = command("inspect", "counts.txt", cwd=folder)
    assert "features are in rows, say so (--transpose)" in " ".join(alone.out.split())
    command("chain", "variance", "on", "counts.txt", cwd=folder, code=4)
    without = command("inspect", "counts.txt", "--transpose", cwd=folder)
    assert without.code == 4 and "give a table about the samples (--samples" in without.err


@pytest.mark.parametrize("corner", ["", None])
def test_the_corner_may_be_empty_or_missing(folder: Path, corner: str | None) -> None:
    """As spreadsheets and R write it."""
    text = (folder / "expr.tsv").read_text().split("\t", 1)[1]
    (folder / "expr.tsv").write_text(text if corner is None else f"{corner}\t{text}")
    data = turned(folder)
    assert data.X.tobytes() == read(folder, "tidy.csv").X.tobytes()


def test_samples_named_by_numbers_and_a_workbook_about_them(folder: Path) -> None:
    numbers = [101 + k for k in range(N)]
    (folder / "expr.tsv").write_text(lines([["gene", *numbers], *GENES]))
    polars.DataFrame({"no": numbers, "group": GROUPS}).write_excel(folder / "about.xlsx")
    data = turned(folder, samples=folder / "about.xlsx")
    assert data.y.tolist() == read(folder, "tidy.csv").y.tolist()


def test_names_are_compared_as_spelled(folder: Path) -> None:
    """007 is not 7."""
    names = [f"{k:03d}" for k in range(N)]
    text = (folder / "expr.tsv").read_text()
    (folder / "expr.tsv").write_text("\t".join(["gene", *names]) + text[text.index("\n") :])
    about = lines([["id", "group"], *zip(names, GROUPS, strict=True)], ",")
    (folder / "about.csv").write_text(about)
    data = turned(folder)
    assert data.y.tolist() == read(folder, "tidy.csv").y.tolist()
    (folder / "about.csv").write_text(about.replace("\n0", "\n"))
    with pytest.raises(DataError, match="no row for 24 of the 24 samples"):
        turned(folder)


def test_codes_and_encoding_hold_for_both_tables(folder: Path) -> None:
    text = (folder / "about.csv").read_text().replace("tumour", "größer").replace(",31,", ",-9,")
    (folder / "about.csv").write_bytes(text.encode("windows-1252"))
    assert turned(folder, encoding="windows-1252").classes == ("größer", "normal")
    with pytest.raises(DataError, match="column 'age': missing or infinite in 1 row"):
        turned(folder, adjust="age", na="-9", encoding="windows-1252")


def test_samples_without_a_label_are_left_out_if_asked(folder: Path) -> None:
    text = (folder / "about.csv").read_text().replace("S03,normal", "S03,NA")
    (folder / "about.csv").write_text(text)
    with pytest.raises(DataError, match=r"row 4: the label is missing .*--missing-label drop"):
        turned(folder)
    data = turned(folder, missing_label="drop")
    assert data.n_samples == N - 1
    assert "1 row without a label left out (--missing-label drop)" in data.warnings


def test_what_does_not_fit_is_named(folder: Path) -> None:
    about = folder / "about.csv"
    with pytest.raises(DataError, match="names the columns of that table: say --transpose"):
        read(folder, samples=about)
    (folder / "dots.csv").write_text(about.read_text().replace("S0", "S.0"))
    with pytest.raises(DataError, match="names the columns of that table: say --transpose"):
        read(folder, samples=folder / "dots.csv")
    with pytest.raises(DataError, match="names the rows of that table: leave out --transpose"):
        read(folder, "wide.csv", transpose=True, samples=about)
    rows = about.read_text().splitlines()
    about.write_text("\n".join([rows[0], *sorted(rows[1:])[2:]]) + "\n")
    with pytest.raises(DataError, match=r"row 1: the label is missing .*--missing-label drop"):
        turned(folder)
    fewer = turned(folder, missing_label="drop")
    assert fewer.n_samples == N - 2
    assert "about.csv has no row for 2 of the 24 samples: 'S00', 'S01'" in fewer.warnings
    about.write_text("\n".join([rows[0], *sorted(rows[1:])[14:]]) + "\n")
    with pytest.raises(DataError, match=r"no row for 14 of the 24 samples of .*'S00', 'S01'"):
        turned(folder)
    about.write_text("\n".join([*rows, rows[1]]) + "\n")
    with pytest.raises(DataError, match=r"about.csv names samples more than once: 'S\d\d'"):
        turned(folder)
    with pytest.raises(DataError, match=r"no label 'class'; give a table about the samples"):
        fsframe.read(folder / "expr.tsv", transpose=True)
    twice = (folder / "expr.tsv").read_text().replace("G4\t", "G5\t")
    (folder / "twice.tsv").write_text(twice)
    with pytest.raises(DataError, match=r"twice.tsv names features more than once: 'G5'; give"):
        fsframe.read(folder / "twice.tsv", transpose=True)
    with pytest.raises(DataError, match="there is no file"):
        turned(folder, samples=folder / "nowhere.csv")
    np.savez(folder / "arrays.npz", X=np.ones((3, 2)), y=[0, 1, 1])
    with pytest.raises(RequestError, match="is for text and workbooks, not for"):
        read(folder, "arrays.npz", transpose=True)
    with pytest.raises(RequestError, match="formats that name their samples, not for"):
        read(folder, "arrays.npz", samples=about)


def test_a_format_that_names_its_samples_takes_a_table_about_them(tmp_path: Path) -> None:
    gct, about = tmp_path / "t.gct", tmp_path / "about.csv"
    head = ["#1.2", "2\t4", "Name\tDescription\tA\tB\tC\tD"]
    gct.write_text("\n".join([*head, "G1\tna\t1\t2\t3\t4", "G2\tna\t5\t6\t7\t9"]))
    about.write_text("sample,state,site\nD,ill,u\nC,well,u\nB,ill,v\nA,well,v\n")
    data = fsframe.read(gct, label="state", groups="site", samples=about)
    assert data.X.tolist() == [[1, 5], [2, 6], [3, 7], [4, 9]]
    assert [data.classes[code] for code in data.y] == ["well", "ill", "well", "ill"]
    assert data.groups is not None and data.groups.tolist() == [1, 1, 0, 0]


def test_a_run_is_predicted_audited_and_repeated_like_any_other(folder: Path) -> None:
    run = "chain anova-f:top=2 knn:k=3 on expr.tsv --transpose --samples about.csv --label group"
    done = command(*shlex.split(run), "--out", "run.h5", "--json", cwd=folder)
    assert done.code == 0 and done.json["selected"][0] == "G3", done.err
    new = [line.split("\t")[:6] for line in (folder / "expr.tsv").read_text().splitlines()]
    (folder / "new.tsv").write_text(lines([new[0], *new[:0:-1]]))
    tidy = (folder / "tidy.csv").read_text().splitlines()[:6]
    (folder / "new.csv").write_text("\n".join(tidy) + "\n")
    told = command("predict", "run.h5", "on", "new.tsv", cwd=folder)
    other = "chain anova-f:top=2 knn:k=3 on tidy.csv --out tidy.h5"
    command(*shlex.split(other), cwd=folder, code=0)
    by_number = command("predict", "tidy.h5", "on", "new.csv", cwd=folder).out.splitlines()
    assert by_number[0] == "row,class,score normal,score tumour"
    assert [line.split(",", 1)[1] for line in told.out.splitlines()] == (
        [line.split(",", 1)[1] for line in by_number]
    )
    # Samples have names.
    assert [line.split(",")[0] for line in told.out.splitlines()] == ["sample", *new[0][1:]]
    command("audit", "run.h5", cwd=folder, code=0)
    # Both tables in another folder.
    moved = folder / "moved"
    moved.mkdir()
    for name in ("expr.tsv", "about.csv", "run.h5"):
        (folder / name).rename(moved / name)
    command("audit", "moved/run.h5", "on", "moved/expr.tsv", cwd=folder, code=0)
    for name in ("expr.tsv", "about.csv", "run.h5"):
        (moved / name).rename(folder / name)
    command("resume", "run.h5", cwd=folder, code=0)


def test_inspect_reads_both_and_says_where_features_may_be_in_rows(folder: Path) -> None:
    said = command("inspect", "expr.tsv", "--transpose", "--samples", "about.csv", cwd=folder)
    assert "label: group, a guess (2 classes: normal 12, tumour 12)" in said.out
    words = " ".join(said.out.replace("\\", "").split())
    assert "--label group --groups person --samples about.csv --transpose" in words
    alone = command("inspect", "expr.tsv", cwd=folder)
    assert "features are in rows, say so (--transpose)" in " ".join(alone.out.split())
    taxa = [[*row, f"k__{k % 3}"] for k, row in enumerate(GENES)]
    (folder / "otus.tsv").write_text(lines([["#OTU ID", *NAMES, "taxonomy"], *taxa]))
    taxonomic = command("inspect", "otus.tsv", cwd=folder)
    assert "'taxonomy' tells of features; if features are in rows" in taxonomic.out
    assert "anova-f" not in taxonomic.out


def test_classes_in_the_second_line_say_that_samples_are_in_columns(folder: Path) -> None:
    groups = ["case" if k % 3 else "control" for k in range(12)]
    rows: list[list[object]] = [["Sample", *(f"P{k}" for k in range(12))], ["Label", *groups]]
    rows += [[f"met{j}", *((7 * k + j * j) % 11 / 2 for k in range(12))] for j in range(8)]
    (folder / "peaks.csv").write_text(lines(rows, ","))
    done = command("inspect", "peaks.csv", cwd=folder)
    assert "--label Label --transpose" in " ".join(done.out.split()).replace("\\ ", "")
    assert "the second line tells the class of each column" in done.out
    asked = command("chain", "mim:top=1", "on", "peaks.csv", cwd=folder)
    assert asked.code == 4 and "peaks.csv --label Label --transpose" in asked.err
    data = read(folder, "peaks.csv", label="Label", transpose=True)
    assert data.classes == ("case", "control") and data.n_features == 8
    # A first column that names genes: no sample is proposed as the label.
    (folder / "peaks.csv").write_text(lines([["Gene names", *rows[0][1:]], *rows[2:]], ","))
    done = command("inspect", "peaks.csv", cwd=folder)
    assert "Suggested command" not in done.out and "(--samples FILE)" in done.out


def test_a_study_file_names_it_beside_itself(folder: Path) -> None:
    (folder / "study.toml").write_text(
        'chains = ["anova-f:top=2 knn", "mim:top=2 knn"]\nfolds = 3\nrepeats = 1\n[[tables]]\n'
        'path = "expr.tsv"\ntranspose = true\nsamples = "about.csv"\nlabel = "group"\n'
    )
    done = command("study", str(folder / "study.toml"), "--dry-run", cwd=folder.parent, code=0)
    assert f"table  expr: {N} × {P}, label: group" in done.out


def clinical(folder: Path, **columns: list[object]) -> dict[str, object]:
    """A table about the samples with these columns, and how it is given."""
    frame = polars.DataFrame({"id": NAMES, "group": GROUPS, **columns}, strict=False)
    frame.write_csv(folder / "clinical.csv")
    return {"transpose": True, "samples": folder / "clinical.csv"}


def test_numbers_of_batches_are_adjusted_for_as_levels(folder: Path) -> None:
    given = clinical(folder, batch=[1 + k // 2 % 3 for k in range(N)])
    data = read(folder, adjust="batch", categorical=["batch"], **given)
    assert data.covariates.nominal.tolist() == [True] and not data.categorical.any()
    assert not any("batch" in note for note in data.warnings)
    plain = read(folder, adjust="batch", **given)
    assert plain.covariates.nominal.tolist() == [False]
    assert any("'batch' is adjusted for as a number; if its" in note for note in plain.warnings)
    said = command("inspect", "expr.tsv", "--transpose", "--samples", "clinical.csv", cwd=folder)
    proposed = " ".join(said.out.replace("\\", "").split()).partition("Suggested command:")[2]
    assert "--categorical batch --adjust batch" in proposed


def test_dates_about_samples_are_an_order_and_no_other_text_is(folder: Path) -> None:
    days = [f"2024-{1 + k % 12:02d}-{1 + k:02d}" for k in range(N)]
    data = read(folder, time="drawn", **clinical(folder, drawn=days))
    order = np.argsort(data.times.values[:, 0]).tolist()
    assert order == sorted(range(N), key=lambda k: days[k])
    turned = clinical(folder, drawn=["/".join(day.split("-")[::-1]) for day in days])
    with pytest.raises(DataError, match="'01/01/2024' is neither a number nor a date, which is"):
        read(folder, time="drawn", **turned)


def test_names_of_samples_may_differ_in_signs_and_capitals(folder: Path) -> None:
    """R writes X1.a for a column 1-A, and two names that would be the same are not guessed at."""
    tidy = turned(folder)
    text = (folder / "expr.tsv").read_text()
    (folder / "expr.tsv").write_text(text.replace("\tS", "\tX1.s", N))
    about = (folder / "about.csv").read_text()
    (folder / "about.csv").write_text(about.replace("\nS", "\n1-S"))
    data = turned(folder)
    assert data.y.tolist() == tidy.y.tolist()
    (note,) = set(data.warnings) - set(tidy.warnings)
    assert note.startswith("samples are named otherwise in about.csv: 'X1.s00' is '1-S00'")
    (folder / "about.csv").write_text(about.replace("\nS", "\n1-S") + "1_s00,normal,30,P0\n")
    with pytest.raises(DataError, match="no row for 24 of the 24 samples"):
        turned(folder)


@pytest.mark.parametrize(("begin", "end"), [("LFQ intensity ", ""), ("bam/", ".sorted.bam")])
def test_columns_may_have_the_names_of_samples_in_theirs(
    folder: Path, begin: str, end: str
) -> None:
    """As MaxQuant and featureCounts write them, between columns about the features."""
    head = ["Protein IDs", "Score", *(f"{begin}{name}{end}" for name in NAMES), "Reverse"]
    rows: list[list[object]] = [[g, 7 * k, *x, "+" * (k == 2)] for k, (g, *x) in enumerate(GENES)]
    (folder / "groups.txt").write_text(lines([head, *rows]))
    with pytest.raises(DataError, match="names the columns of that table: say --transpose"):
        read(folder, "groups.txt", samples=folder / "about.csv")
    data = turned(folder)
    result = read(folder, "groups.txt", transpose=True, samples=folder / "about.csv")
    assert result.X.tobytes() == data.X.tobytes() and result.y.tobytes() == data.y.tobytes()
    assert result.feature_names == data.feature_names
    notes = "\n".join(result.warnings)
    assert f"samples are the columns called '{begin}…{end}'" in notes
    assert "columns about the features, not samples: 'Score', 'Reverse'" in notes
    (folder / "half.txt").write_text(lines([row[: 2 + N // 2] for row in [head, *rows]]))
    with pytest.raises(DataError, match="no row for 13 of the 13 samples"):
        read(folder, "half.txt", transpose=True, samples=folder / "about.csv")
    twice = [[*row[:-1], *row[2:-1], row[-1]] for row in rows]
    more = [*head[:-1], *(f"iBAQ {name}" for name in NAMES), head[-1]]
    (folder / "groups.txt").write_text(lines([more, *twice]))
    with pytest.raises(DataError, match=r"several columns for each sample of .*'iBAQ …'"):
        read(folder, "groups.txt", transpose=True, samples=folder / "about.csv")
