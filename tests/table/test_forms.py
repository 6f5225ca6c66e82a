"""One table in many forms: any name, packed, other delimiters, decimals, encodings and codes."""

from __future__ import annotations

import io
import sys
from functools import cache

import numpy as np
import polars
import pytest

import fsframe
from fsframe.errors import DataError, RequestError
from fsframe.show.inspection import inspect_table
from fsframe.table.columns import likely_codes
from fsframe.table.read import contents, read, read_table
from fsframe.table.spelling import text_file
from fsframe.table.table_columns import write_reduced

IDS = [f'"{{""ImportId"":""QID{k}""}}"' for k in range(3)]
"""Cells that Qualtrics writes below names and questions."""
PLAIN = "a,b,class\n1,2.5,ill\n3,-4e2,well\n5,6.125,ill\n7,8,well\n"


@pytest.fixture
def plain(put):
    return read(put(PLAIN, "plain.csv"))


@pytest.mark.parametrize("sign", ["|", " ", "   ", " \t"])
def test_bars_and_blanks_are_found_as_delimiters(put, plain, sign):
    data = read(put(PLAIN.replace(",", sign), "data"))
    assert data.sha256 == plain.sha256


def test_blanks_at_the_ends_of_lines_do_not_count_where_blanks_delimit(put, plain):
    text = "\n".join(f"  {line}  " for line in PLAIN.replace(",", " ").splitlines())
    assert read(put(text, "data")).sha256 == plain.sha256
    text = 'a b class\n1 "2.5" "very ill"\n3 4 well\n5 6 "very ill"\n7 8 well\n'
    assert read(put(text, "data")).classes == ("very ill", "well")


def test_decimal_commas_are_read_where_they_are_said_or_nothing_else_fits(put, plain):
    path = put(PLAIN.replace(",", ";").replace(".", ","), "german.csv")
    assert read(path, decimal=",").sha256 == plain.sha256
    assert read(path).sha256 == plain.sha256
    assert "numbers have decimal commas (--decimal ,)" in read(path).warnings
    with pytest.raises(DataError, match=r"'2,5' is not a number; .*decimal=',', --decimal ,"):
        read(path, decimal=".")
    for table in (PLAIN, PLAIN.replace("2.5", "0.250")):
        with pytest.raises(DataError, match=r"'[02]\.2?50?' is not a number; with decimal commas"):
            read(put(table.replace(",", ";")), decimal=",")
    with pytest.raises(RequestError, match="cannot be both the delimiter and the decimal mark"):
        read(path, decimal=",", delimiter=",")
    # Between commas, in quotes, as pandas and spreadsheets of the web write them.
    quoted = put('a,b,class\n1,"2,50",ill\n3,-400,well\n5,"6,125",ill\n7,"0,8",well\n')
    for given in ({}, {"decimal": ","}, {"decimal": ",", "delimiter": ","}):
        assert read(quoted, **given).X.tolist() == [[1, 2.5], [3, -400], [5, 6.125], [7, 0.8]]
    assert read(quoted).reading["decimal"] == ","
    with pytest.raises(DataError, match=r"'2,50' is not a number"):
        read(quoted, decimal=".")
    answers = put('q,a,class\n"1,3",1,x\n2,2,y\n"2,3",3,x\n"1,4",4,y\n', "survey.csv")
    with pytest.raises(DataError, match="is not a number"):
        read(answers)
    with pytest.raises(RequestError, match="a point or a comma"):
        read(path, decimal="'")


_ROWS = ("S1;170;70,9;a", "S2;165;61,2;b", "S3;180;80,5;a", "S4;177;77,0;b")
_TITLES = "Patient;Height;CRP;Outcome"


@pytest.mark.parametrize(
    ("names", "values"),
    [
        # Commas in names, in a file that ends in .csv.
        ("Subject;Height, cm;Weight, kg;group", [170, 70.9]),
        # Neither the names nor the units have a comma, and all rows below have one.
        (f"{_TITLES}\n;cm;mg/L;", [170, 70.9]),
        (_TITLES, [170, 70.9]),
    ],
)
def test_the_sign_that_parts_all_lines_is_the_delimiter(put, names, values):
    data = read(put("\n".join([names, *_ROWS]) + "\n"), drop=[0])
    assert (data.X[0].tolist(), data.classes) == (values, ("a", "b"))


@pytest.mark.parametrize("width", [3, 20_000])
def test_a_title_is_found_above_few_names_and_above_more_than_a_megabyte(put, width):
    names = [f"{'x' * 60}{k}" for k in range(width)]
    row = ",".join(["1.5"] * width)
    rows = [f"{row},{label}" for label in "abab"]
    data = read(put("\n".join(["A study, 2021", ",".join([*names, "class"]), *rows]) + "\n"))
    assert (data.n_features, data.n_samples) == (width, 4)
    assert any("were taken as a title" in said for said in data.warnings)


def test_a_line_above_the_table_states_the_delimiter_as_for_excel(put, plain):
    text = PLAIN.replace(",", "~")
    for line in ("sep=~", "SEP=~", '"sep=~"\nA study'):
        assert read(put(f"{line}\n{text}")).sha256 == plain.sha256
    with pytest.raises(DataError, match=r"line 3.* is not a number"):
        read(put(f"sep=~\n{text.replace('2.5', 'x')}"))
    with pytest.raises(DataError, match="no rows"):
        read(put("sep=;\n"))


def test_a_longer_row_is_reported_by_the_delimiter_of_the_others(put):
    with pytest.raises(DataError, match=r"line 3 has 5 fields.* \(delimiter: comma\)"):
        read(put("a,b,c,class\n1,2,3,x\n1,2,3,4,y\n1,2,3,x\n"))


def test_what_r_writes_with_quoted_names_alone_in_the_first_line_is_read(put):
    rows = ('"1" 50.5 26 "dead"', '"2" 61 31.5 "alive"', '"3" 48 22 "dead"', '"4" 50 21 "alive"')
    data = read(put("\n".join(['"age" "the bmi" "outcome"', *rows, ""]), "t.txt"))
    assert data.feature_names == ("age", "the bmi")
    assert (data.X[1].tolist(), data.classes) == ([61, 31.5], ("alive", "dead"))


def test_amounts_of_money_are_numbers(put):
    data = read(put('a,b,class\n"$1,024.50",3 €,x\n$7.25,12 €,y\n-$3,5 €,x\n"$2,000",1 €,y\n'))
    assert data.X.T.tolist() == [[1024.5, 7.25, -3, 2000], [3, 12, 5, 1]]
    assert any("the unit '$' and separators of thousands" in said for said in data.warnings)
    # Commas in all cells are points or none: the same numbers in another unit.
    books = read(
        put('a,b,class\n"1,024","(1,100)",x\n"17,250","3,000",y\n"9,999","(950)",x\n"1,500",0,y\n')
    )
    assert books.X.T.tolist() == [[1024, 17250, 9999, 1500], [-1100, 3000, -950, 0]]
    assert any("with numbers in parentheses negative" in said for said in books.warnings)
    with pytest.raises(DataError, match="is not a number"):
        read(put('a,class\n"1,024",x\n2048,y\n"3,125",x\n"4,250",y\n'))
    with pytest.raises(DataError, match="text"):
        read(put("a,b,class\n$1,3,x\n£2,4,y\n$3,5,x\n"))
    rents = "".join(f"{k} m²,{50 * k + 0.5} €/month\n" for k in range(20, 40))
    rented = read(put(f"area,rent\n{rents}"))
    assert rented.task == "regression" and rented.y[0] == 1000.5 and rented.X[0, 0] == 20
    assert "column 'rent' was read as numbers without the unit '€/month'" in rented.warnings
    frame = polars.read_csv(io.StringIO(f"area,rent\n{rents}"))
    assert fsframe.read(frame, label="rent").y.tolist() == rented.y.tolist()
    # Classes where they are said to be; a few doses are, too.
    twice = "".join(f"{k},{k % 12} mg\n" for k in range(24))
    for given in (put(f"a,dose\n{twice}"), polars.read_csv(io.StringIO(f"a,dose\n{twice}"))):
        assert "7 mg" in fsframe.read(given, label="dose", task="classification").classes
    doses = "".join(f"{k},{[5, 10, 20][k % 3]} mg\n" for k in range(12))
    assert read(put(f"a,dose\n{doses}")).classes == ("10 mg", "20 mg", "5 mg")


def test_signs_of_laboratories_beside_numbers_are_left_out(put):
    cells = [("5.1 H", "~2", "12,34,567"), ("4", "3*", "1,00,000"), ("3.2 L", "4", "90,000")]
    cells += [(f"{k}", f"{k + 1}†", f"{k}0,000") for k in range(1, 6)]
    rows = "".join(f'{a},{b},"{c}",{"xy"[k % 2]}\n' for k, (a, b, c) in enumerate(cells))
    data = read(put(f"flagged,marked,rupees,class\n{rows}"))
    assert data.X[:3].tolist() == [[5.1, 2, 1234567], [4, 3, 100000], [3.2, 4, 90000]]
    told = "\n".join(data.warnings)
    assert "'flagged' was read as numbers without the flag 'H' and the flag 'L'" in told
    assert "without the sign '*' and the sign '~' and the sign '†'" in told
    # Few numbers with marks are levels.
    with pytest.raises(DataError, match=r"'1\*' is not a number"):
        read(put("a,b,class\n1,1*,x\n2,2*,y\n3,1,x\n4,2,y\n"))


def test_zeros_in_front_of_numbers_are_told_unless_they_are_declared_as_codes(put):
    path = put('zip,b,n,class\n"00123",0,0.5,01\n4567,1,10,2\n123,10,20,1\n5,2,3,2\n')
    told = "column {!r} was read as numbers without the zeros in front"
    assert set(read(path).warnings) == {told.format("zip"), told.format("class")}
    assert not read(path, "b", drop=["class"], categorical=["zip"], task="regression").warnings


def test_k_and_m_behind_numbers_are_thousands_and_millions(put):
    money = ("€565K", "€1.5M", "€0", "€1,234", "€2K", "€3M")
    rows = [f'"{cell}",{k + 20}k,{"xy"[k % 2]}' for k, cell in enumerate(money)]
    data = read(put("\n".join(["worth,income,class", *rows, ""])))
    assert data.X[:, 0].tolist() == [565e3, 1.5e6, 0, 1234, 2e3, 3e6]
    assert data.X[:, 1].tolist() == [20e3, 21e3, 22e3, 23e3, 24e3, 25e3]
    assert any("'worth' was read as numbers without the unit '€' and" in w for w in data.warnings)
    # Units behind blanks or other letters stay units, in some cells alone too.
    for unit in ("mM", "nM", "µM", "K", "M"):
        cells = [f"{k} {unit}" if k % 2 else str(k) for k in range(8)]
        rows = [f"{cell},{k},{'xy'[k % 2]}" for k, cell in enumerate(cells)]
        data = read(put("\n".join(["a,b,class", *rows, ""])))
        assert data.X[:, 0].tolist() == [*range(8)], unit
    # Kelvins, and stages of few values, are no thousands.
    for cells in (["300K", "310K"] * 3, ["3b", "2a"] * 3, ["5M", "6M", "7M", "8M", "9M", "4M"]):
        rows = [f"{cell},{k},{'xy'[k % 2]}" for k, cell in enumerate(cells)]
        with pytest.raises(DataError, match="text"):
            read(put("\n".join(["a,b,class", *rows, ""])))


def test_typographic_minus_signs_are_minus_signs(put):
    data = read(put("a,b,class\n\u22121.5,\u20132,x\n2,7,y\n\u22120.25,\u20131 mg,x\n3,8,y\n"))
    assert data.X.T.tolist() == [[-1.5, 2, -0.25, 3], [-2, 7, -1, 8]]
    assert any("'a' was read as numbers with typographic minus" in said for said in data.warnings)


@pytest.mark.parametrize("names", ["a,b,class,", "a,b,class"])
@pytest.mark.parametrize("end", ["\n", ""])
def test_a_delimiter_behind_every_row_is_no_column(put, names, end):
    data = read(put(f"{names}\n1,2,x,\n3,4,y,\n5,6,x,\n7,8,y,{end}"))
    assert (data.feature_names, data.classes, data.n_samples) == (("a", "b"), ("x", "y"), 4)
    assert data.X[:, 1].tolist() == [2, 4, 6, 8]


def test_a_last_column_with_a_name_or_a_value_stays(put):
    assert contents(put("a,class,b\n1,x,\n3,y,\n5,x,\n")).columns[2].kind == "empty"
    assert len(contents(put("a,class,\n1,x,\n3,y,4\n5,x,\n")).columns) == 3
    with pytest.raises(DataError, match=r"line 3 has 3 fields.* it ends in a comma"):
        read(put("a,class\n1,x\n3,y,\n5,x\n"))


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"$FL2@(#) SPSS DATA FILE", "SPSS"),
        (b"<stata_dta><header>", "Stata"),
        (b"r\x02\x01\0<\0", "Stata"),
        (b"<html><table><tr><td>a,b</td></tr></table>", "HTML"),
        (b"\x80\x04\x95\x1c\0", "a pickle"),
        (bytes(12) + b"\xc2\xea\x81\x60", "SAS"),
        (b'[{"a":1,"class":"x"},{"a":2,"class":"y"}]', "JSON"),
        (b"RDX3\nX\n", "R workspace"),
        (b"##fileformat=VCFv4.2\n#CHROM\tPOS\ts1\ts2\n1\t7\t0/1\t./.\n", "VCF"),
    ],
)
def test_files_of_other_programs_are_named_with_a_way(put, content, what):
    way = r"(CSV|write\.csv|recode A)"
    with pytest.raises(DataError, match=rf"is not a text table: it is .*{what}.*{way}"):
        read(put(content, "t.dat"))


def test_a_byte_order_mark_says_that_text_is_utf_16(put):
    text = "größe\tb\tclass\n1\t2\té\n3\t4\tß\n5\t6\té\n7\t8\tß\n"
    for encoding in ("utf-16", "utf-32"):
        assert read(put(text.encode(encoding), "t.txt")).feature_names == ("größe", "b")


def test_a_target_with_decimal_commas_is_a_number(put):
    data = read(put("a;t\n1;0,5\n2;1,25\n3;2\n", "t.csv"), decimal=",")
    assert (data.task, data.y.tolist()) == ("regression", [0.5, 1.25, 2.0])


@pytest.mark.parametrize("name", ["latin-1", "windows-1252", "utf-16", "utf-8-sig", "cp437"])
def test_an_encoding_can_be_said(put, name):
    text = "größe,b,class\n1,2,é\n3,4,ß\n5,6,é\n7,8,ß\n"
    data = read(put(text.encode(name)), encoding=name)
    assert (data.feature_names, data.classes) == (("größe", "b"), ("ß", "é"))
    with pytest.raises(RequestError, match="not known"):
        read(put(text), encoding="klingon")
    with pytest.raises(DataError, match=r"is not in ascii|is not UTF-8"):
        read(put(text.encode("latin-1")), encoding="ascii")


@pytest.mark.parametrize(
    ("words", "encoding", "named"),
    [("血糖,结果", "gb18030", "gb18030"), ("возраст,исход", "windows-1251", "windows-1251"),
     ("血圧,データ", "shift_jis", "shift_jis"), ("Größe,Alter", "latin-1", "Latin-1")],
)  # fmt: skip
def test_the_encoding_that_a_text_may_have_is_named(put, words, encoding, named):
    path = put(f"{words},class\n1,2,x\n2,3,y\n3,1,x\n4,5,y\n".encode(encoding), "t.csv")
    with pytest.raises(DataError, match=named):
        read(path)
    assert read(path, encoding=encoding).feature_names == tuple(words.split(","))


def test_standard_input_is_read_once_and_asked_for_by_a_dash(put, plain, monkeypatch):
    once = cache(text_file._standard_input.__wrapped__)
    monkeypatch.setattr(text_file, "_standard_input", once)

    class Input:
        buffer = io.BytesIO(PLAIN.encode())

    monkeypatch.setattr(sys, "stdin", Input)
    data = read("-")
    assert (data.sha256, data.name) == (plain.sha256, "stdin")


def test_codes_of_missing_values_are_taken_as_missing_however_they_are_spelled(put):
    text = "a,b,class\n-999,x,u\n2,y,v\n-999.0,none,u\n4,x,v\n-9.99e2,y,u\n"
    data = read(put(text), na=[-999, "none"], categorical="b")
    np.testing.assert_array_equal(data.X[:, 0], [np.nan, 2, np.nan, 4, np.nan])
    np.testing.assert_array_equal(data.X[:, 1], [0, 1, np.nan, 0, 1])
    assert any("4 cells that hold -999, none were taken as missing" in w for w in data.warnings)
    assert not any("no cell" in w for w in data.warnings)
    joined = read(put(text), na=["-999,none", "NA"], categorical="b")
    assert [w for w in joined.warnings if "no cell" in w] == [
        "no cell that was read holds the code '-999,none' (--na, na=); give each code by itself"
    ]
    left = read(put("a,class\n1,u\n2,v\n3,u\n4,v\n5,?u\n"), na="?u", missing_label="drop")
    assert not any("no cell" in w for w in left.warnings)
    with pytest.raises(DataError, match=r"line 4, column 3 .*label is missing"):
        read(put("a,b,class\n1,2,5\n3,4,6\n5,6,-999\n7,8,5\n"), na="-999")


def test_codes_count_in_arrays_too_in_memory_and_in_parts(tmp_path):
    import h5py

    X = np.array([[1, -999], [2, 3], [-999, 4], [5, 5]], dtype=np.int16)
    np.savez(tmp_path / "t.npz", X=X, y=[0, 1, 0, 1])
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["X"], file["y"] = X, [0, 1, 0, 1]
    found = [read(tmp_path / "t.npz", na=-999)]
    found += [read(tmp_path / "t.h5", na=-999)]
    assert len({data.sha256 for data in found}) == 1
    np.testing.assert_array_equal(np.isnan(found[1].X), X == -999)
    # In parts, too; codes that are no numbers have no effect on numbers.
    parts = read(tmp_path / "*.h5", na=["?", -999])
    np.testing.assert_array_equal(np.isnan(parts.columns(0, 2)), X == -999)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([31, -999, 45, -999, 52, 60], "a (-999, 2 times)"),
        ([31, 999, 45, 999, 52, 60], "a (999, 2 times)"),
        ([0, 3, -9, 7, -9, 80], "a (-9, 2 times)"),
        ([-999, -998, -999, -997, -996, -995], ""),
        ([31, -999, 45, 33, 52, 60], ""),
        ([99, 98, 99, 97, 96, 95], ""),
        ([0, 99, 0, 99, 0, 99], ""),
        ([-200, *range(10, 20), -200, -200], "a (-200, 3 times)"),
        ([-20, *range(10, 20), -20, -20], "a (-20, 3 times)"),
        ([-20, *range(0, 500, 40), -20, -20], ""),
        ([-200, *range(5), -200, -200], ""),
    ],
)
def test_a_repeated_extreme_value_is_reported_if_it_looks_like_a_code(put, values, told):
    rows = "".join(f"{v},{k * k % 5},{'xy'[k % 2]}\n" for k, v in enumerate(values))
    notes = " ".join(read(put("a,b,class\n" + rows)).warnings)
    assert ("looks like a code" in notes) == bool(told)
    assert told in notes


def test_a_guessed_label_that_looks_like_a_measurement_is_doubted(put):
    rows = [(k % 3, k * k % 11, k % 7 + k / 100) for k in range(60)]
    path = put("kind,b,t\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    doubts = [w for w in read(path).warnings if "like a measurement" in w]
    assert len(doubts) == 1
    assert "'t'" in doubts[0]
    assert "--label" in doubts[0]
    assert not any("like a measure" in w for w in read(path, label="t").warnings)
    assert not any("like a measure" in w for w in read(path, label="kind").warnings)


def test_all_columns_that_cannot_be_used_are_reported_at_once_with_the_options(put):
    text = "id,a,b,c,class\np,1,z,2,0\nq,2,1,inf,1\nr,3,4,5,0\ns,3,4,5,1\n"
    with pytest.raises(DataError) as caught:
        read(put(text))
    for part in (
        "line 2, column 1 (id): 'p' is not a number",
        "column 3 (b): 1 cell, 'z'",
        "What would settle it",
        "Cells of column 4 (c) are infinite or too large",
    ):
        assert part in str(caught.value)


def test_how_a_table_was_read_is_kept_and_reads_it_again(put):
    path = put("a;b;k\n1,5;-9;u\n2,5;3;v\n3;4;u\n4;5;v\n", "t.csv")
    data = read(path, "k", decimal=",", na=-9)
    assert data.reading == {"label": "k", "decimal": ",", "na": ["-9"]}
    assert read(path, **data.reading).sha256 == data.sha256
    assert read(put(PLAIN)).reading == {}


def test_a_table_delimited_by_blanks_is_reduced_as_it_was_spelled(put, tmp_path):
    table = read_table(put('a  b "c d"\n 1 2.50 x\n3   4 "y z"\n', "t"), delimiter="space")
    out = write_reduced(tmp_path / "o.txt", table, ["b", "c d"])
    assert out.read_text() == 'b "c d"\n2.50 x\n4 "y z"\n'


YEARS = ["10+ years", "< 1 year", "1 year", *(f"{k} years" for k in range(2, 8))]


def test_limits_of_detection_are_numbers_with_a_warning(put):
    crp = ["<0.5", "1.5", "2", "<0.5", "3 ", "4", "5", ">300", "7", "8"]
    told = "".join(f"{cell},{'ab'[k % 2]}\n" for k, cell in enumerate(crp))
    data = read(put(f"crp,class\n{told}"))
    assert data.X[:, 0].tolist() == [0.25, 1.5, 2, 0.25, 3, 4, 5, 300, 7, 8]
    note = "column 'crp' was read as numbers with '<0.5' as 0.25 (2 cells), '>300' as 300 (1 cell)"
    assert note in data.warnings
    new = read_table(put("crp\n<0.5\n", "new.csv"))
    assert new.numbers(["crp"]).tolist() == [[0.25]]
    marked = read(put(f"crp,class\n{told}"), na=["<0.5", ">300"])
    assert np.isnan(marked.X[[0, 3, 7], 0]).all()
    with_more = "".join(f"{cell},{'ab'[k % 2]}\n" for k, cell in enumerate([*YEARS, *YEARS]))
    seen = read(put(f"worked,class\n{with_more}"))
    assert seen.X[:9, 0].tolist() == [10, 0.5, 1, 2, 3, 4, 5, 6, 7]
    assert "without the unit 'year'" in seen.warnings[0] and "'10+ years' as 10" in seen.warnings[0]
    # Of few different numbers they may be levels.
    levels = "".join(f"{cell},{'ab'[k % 2]}\n" for k, cell in enumerate(["<2", "2", "3", ">3"] * 3))
    few = read(put(f"n,class\n{levels}"), categorical=["n"])
    assert set(few.kinds["n"].levels) == {"2", "3", "<2", ">3"}
    few_years = "".join(f"{cell},{'ab'[k % 2]}\n" for k, cell in enumerate(YEARS[:4] * 5))
    inspected = inspect_table(put(f"worked,class\n{few_years}", "years.csv"))
    assert inspected.options["categorical"] == ["worked"] and not inspected.refused


def test_what_looks_like_free_text_but_is_not_is_told(put):
    cells = [
        f"{110 + k % 30}/{70 + k % 30},{k % 24}:{k % 2:02d} pm,{1 + k % 28}/{1 + k % 3}/2024,"
        f"2024{1 + k % 3:02d}{1 + k % 28:02d},{k}"
        for k in range(40)
    ]
    rows = "".join(f"{row},{'ab'[k % 2]}\n" for k, row in enumerate(cells))
    path = put(f"bp,taken,drawn,seen,g,class\n{rows}")
    said = {finding.option: finding.what for finding in inspect_table(path).findings}
    assert said["--drop bp"].startswith("two numbers in a cell: give each a column")
    assert said["--drop taken"].startswith("times of day: write them as 14:30")
    assert said["--drop drawn"].startswith("dates in another form: write them as 2024-12-31")
    assert said["--drop seen"].startswith("numbers that look like dates, such as 20241231")
    with pytest.raises(DataError, match="'1/1/2024' is not a number; write dates as 2024-12-31"):
        read(path, drop=["bp", "taken"], dates="days")


@pytest.mark.parametrize("option", ["x", "y"])
def test_paths_inside_a_file_are_refused_for_text(put, option):
    with pytest.raises(RequestError, match=f"is read as text, where {option} does not apply"):
        read(put(PLAIN), **{option: "other"})


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (PLAIN + ",,\n,,\n", "2 rows without any value are left out"),
        (PLAIN.replace("\n", ",,\n"), ""),
        (PLAIN + "Source: the ward\n", "a line below the rows is left out: 'Source: the ward'"),
        (PLAIN + "\nExported 2024\n,,\n", "a line below the rows is left out: 'Exported 2024'"),
        (PLAIN.replace("3,", "a,b,class\n3,"), "a line that repeats the names is left out"),
        (
            PLAIN.replace("class\n", 'class\nAge?,"Say\nmore",Ill?\n' + ",".join(IDS) + "\n"),
            "the questions and import IDs below the names are left out",
        ),
    ],
    ids=["empty rows", "empty columns", "source", "exported", "names again", "questions"],
)
def test_what_spreadsheets_leave_behind_is_no_row(put, plain, text, note):
    data = read(put(text, "plain.csv"))
    assert data.X.tobytes() == plain.X.tobytes() and data.classes == plain.classes
    assert note in data.warnings or not note


def test_a_last_row_that_was_cut_off_is_still_an_error(put):
    with pytest.raises(DataError, match="line 6 has 1 field"):
        read(put(PLAIN + "9.25", "plain.csv"))


MILES = "".join(
    f'{20 + k % 5}.0   {4 + k % 3}   {300 - 7 * (k % 4)}.0      {90 + k % 6}.5   1\t"car {k}"\n'
    for k in range(9)
)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        # Adult and WDBC of the UCI repository, as they are delivered.
        ("39, State-gov, 13, Male, <=50K\n50, Private, 13, Male, >50K\n38, Private, 9, Female, "
         "<=50K\n53, State-gov, 7, Male, <=50K\n", None),
        ("842302,M,17.99\n842517,M,20.57\n84300903,B,19.69\n84348301,M,11.42\n", None),
        ("p,x,s\ne,x,s\np,y,t\ne,y,s\n", None),
        # Answers that were given or not; samples by number; names that stand twice.
        ("TV,Radio,Print\nTV,,Print\n,Radio,\nTV,Radio,\n", ["TV", "Radio", "Print"]),
        ("place,2019,2020\nGraz,1,2\nWien,3,4\nLinz,5,6\n", ["place", "2019", "2020"]),
        ("a,b,c\nx,y,z\na,b,c\nx,t,z\n", ["a", "b", "c"]),
        # A text that names each row, behind numbers; bands of a spectrum, and of a mass one.
        (MILES, None),
        ("name,400,410,390,420\n" + "".join(f"s{k},{k}.5,{9 - k},1,{k}\n" for k in range(7)),
         ["name", "400", "410", "390", "420"]),
        ("name,2.5,3.5,5.5,7.1\n" + "".join(f"s{k},{k},{9 - k},{k},{8 - k}\n" for k in range(9)),
         ["name", "2.5", "3.5", "5.5", "7.1"]),
        ("gene,4,7,3,8\n" + "".join(f"g{k},{k},{9 - k},{k},{8 - k}\n" for k in range(9)),
         ["gene", "4", "7", "3", "8"]),
        ("place,7.1,5.5,3.5,2.5\n" + "".join(f"p{k},{k},{9 - k},{k},{8 - k}\n" for k in range(9)),
         ["place", "7.1", "5.5", "3.5", "2.5"]),
    ],
)  # fmt: skip
def test_a_first_row_of_words_that_occur_below_it_holds_no_names(put, text, names):
    result = contents(put(text, "t.data"))
    assert result.table.named is (names is not None)
    assert [c.name for c in result.columns] == (names or [c.name for c in result.columns])
    said = contents(put(text, "t.data"), header=True)
    assert said.table.named


def test_numbers_for_no_answer_are_asked_about(put):
    """77, 88 and 99 behind scales; not where another column may well hold them."""
    codes = {7: 77, 11: 88, 13: 88, 17: 99}
    rows = [
        f"{codes.get(k, k % 5)},{codes.get(k + 4, k % 4)},{k % 2 + k / 7:.2f}" for k in range(60)
    ]
    labels = ["ab"[k % 3 == 0] for k in range(60)]
    path = put("q1,q2,time,y\n" + "".join(f"{r},{y}\n" for r, y in zip(rows, labels, strict=True)))
    inspection = inspect_table(path)
    asked = {finding.columns: finding for finding in inspection.findings}
    assert asked["q1", "q2"].what.startswith("77, 88, 99 lie far from the other answers")
    assert asked["q1", "q2"].option == "--na 77 --na 88 --na 99"
    assert inspection.options["na"] == ["77", "88", "99"]
    assert np.isnan(read(path, na=inspection.options["na"]).X).sum() == 8
    aged = [",".join((*row.split(",")[:2], str(k + 30))) for k, row in enumerate(rows)]
    ages = put("q1,q2,age,y\n" + "".join(f"{r},{y}\n" for r, y in zip(aged, labels, strict=True)))
    inspection = inspect_table(ages)
    asked = {finding.columns: finding for finding in inspection.findings}
    assert "as age may well hold such numbers as values, empty" in asked["q1", "q2"].what
    assert "na" not in inspection.options


@pytest.mark.parametrize("cells", [[1, 2, 3, 99] * 9, [1, 40, 70, 77, 88], [0.5, 1, 2, 77, 88]])
def test_a_number_alone_or_of_a_wide_scale_is_none_for_no_answer(cells):
    assert not any(code in (77, 88) for code, _ in likely_codes(np.array(cells, dtype=float)))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_few_cells_of_a_column_known_to_be_numbers_are_read_alike_from_all_files(tmp_path, ending):
    def table(dose):
        frame, path = polars.DataFrame({"dose": dose, "b": [1, 2]}), tmp_path / f"t.{ending}"
        frame.write_csv(path) if ending == "csv" else frame.write_parquet(path)
        return read_table(path)

    assert table(["<4", "7"]).numbers(["dose", "b"]).tolist() == [[2, 1], [7, 2]]
    with pytest.raises(DataError, match=r"column .*dose.*: 'x' is not a number; correct it"):
        table(["x", "7"]).numbers(["dose"])


def test_truth_values_of_a_frame_are_known_as_the_words_of_a_text(tmp_path):
    frame = polars.DataFrame({"a": [1, 2, 3, 4], "on": [True, False] * 2, "y": [0, 0, 1, 1]})
    kinds = fsframe.read(frame, label="y").kinds
    for words in ("True,FALSE,", "yes,no,", "1,0,NA", "0.5,1,0"):
        new = "".join(f"{row},{word}\n" for row, word in enumerate(words.split(",")))
        path = tmp_path / "new.csv"
        path.write_text("a,on\n" + new)
        expected = [0.5, 1, 0] if words.startswith("0.5") else [1, 0, np.nan]
        np.testing.assert_array_equal(read_table(path).numbers(["on"], kinds)[:, 0], expected)
