"""What stands last in a table need not be its label; and whose rows the rows are."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars
import pytest

import fsframe
from fsframe.errors import UntidyTableError
from fsframe.show.inspection import inspect_table
from fsframe.table.sheet import Sheet
from tests.command_line import Done

Call = Callable[..., Done]
ROWS = 60


def measurements(**last: list[object]) -> polars.DataFrame:
    """Numbers, the first of which go with classes, and more columns behind the classes."""
    draw = np.random.default_rng(8)
    y = np.arange(ROWS) % 2
    columns = {f"g{k}": (draw.normal(size=ROWS) + 2 * y * (k == 1)).round(3) for k in range(5)}
    return polars.DataFrame({**columns, "grp": ["ab"[k] for k in y], **last})


LAST = {
    "identifies the rows": {"sample_id": [*range(500, 500 + ROWS)]},
    "holds free text": {"Comments": ["", "haemolysed", "thawed twice"] * (ROWS // 3)},
    "holds dates": {"drawn": [f"2021-03-{1 + k % 28:02d}" for k in range(ROWS)]},
    "has one value only": {"cohort": ["main"] * ROWS},
}


@pytest.mark.parametrize("why", LAST)
def test_a_last_column_that_nobody_would_predict_is_no_label(
    call: Call, here: Path, why: str
) -> None:
    (name,) = LAST[why]
    measurements(**LAST[why]).write_csv(here / "t.csv")
    done = call("chain mim:top=1 on t.csv --no-out")
    assert done.code == 4
    assert f"the last column, {name!r}, may not be it: 'grp' looks more like one" in done.err
    (way,) = [line for line in done.err.splitlines() if line.startswith("  fsframe ")]
    assert "--label grp" in way and "--categorical grp" not in way
    ran = call(*shlex.split(way)[1:], "--json")
    assert ran.code == 0 and ran.json["selected"] == ["g1"], ran.err
    said = call("inspect t.csv").out
    assert "label: grp, a guess (2 classes: a 30, b 30)" in said
    assert re.search(rf"doubt: the last column, '{name}', {why}", said)


BEHIND = {
    "Survived": ("it is not the last column, which is 'Embarked'", {"Embarked": [*"SCQ"] * 20}),
    "churned": ("it is not the last column, which is 'tariff'", {"tariff": [*"SCQ"] * 20}),
    "condition": ("the last column, 'batch', describes how samples", {"batch": [1, 2, 3] * 20}),
    "grp": ("the last column, 'sex', describes the person", {"sex": [*"mf"] * 30}),
    "loan_status": ("it is not the last column, which is 'left'", {"left": [*range(12)] * 5}),
    "vital_status": (
        "it is not the last column, which is 'treatment'",
        {"treatment": ["a", "b", "c"] * 20},
    ),
}


@pytest.mark.parametrize("label", BEHIND)
def test_a_last_column_that_is_rather_a_feature_is_asked_about(
    call: Call, here: Path, label: str
) -> None:
    doubt, last = BEHIND[label]
    measurements(**last).rename({"grp": label}).write_csv(here / "t.csv")
    said = told(call("inspect t.csv"))
    assert f"label: {label}, a guess" in said and f"doubt: {doubt}" in said
    done = call("chain mim:top=1 on t.csv --no-out")
    assert done.code == 4 and f"--label {label}" in done.err
    # Alone among measurements it is the label.
    measurements(**last).drop("grp").write_csv(here / "t.csv")
    assert call("chain mim:top=1 on t.csv --no-out").code == 0


def told(done: Done) -> str:
    """What a command printed, without its lines."""
    return " ".join(done.out.replace("\\\n", "").split())


def survival(status: tuple[object, object], *, last: bool) -> polars.DataFrame:
    draw = np.random.default_rng(2)
    g = draw.normal(size=(ROWS, 3)).round(3)
    about = {
        "os_months": draw.exponential(np.exp(-2 * g[:, 0]) * 30).round(1),
        "os_status": [status[k % 3 != 0] for k in range(ROWS)],
    }
    genes = {f"g{k}": g[:, k] for k in range(3)}
    return polars.DataFrame(genes | about if last else about | genes)


@pytest.mark.parametrize("last", [True, False])
def test_times_until_an_event_are_neither_features_nor_classes(
    call: Call, here: Path, last: bool
) -> None:
    survival((0, 1), last=last).write_csv(here / "t.csv")
    said = told(call("inspect t.csv"))
    assert "label: os_months, a guess (time to" in said and "features: 3 (" in said
    assert "cox-score:alpha=0.05 on t.csv --label os_months --event os_status" in said
    done = call("chain cox-score:top=1 on t.csv --no-out")
    assert done.code == 4 and "look like times until an event" in done.err
    ways = [line for line in done.err.splitlines() if line.startswith("  fsframe ")]
    ran = call(*shlex.split(ways[0])[1:], "--json")
    assert ran.code == 0 and ran.json["selected"] == ["g0"]
    if last:
        assert ways[1].endswith("--label os_status --drop os_months")
    with pytest.raises(UntidyTableError, match="look like times until an event"):
        fsframe.select("mim", survival((0, 1), last=last).to_pandas())


EVENTS = [("0:LIVING", "1:DECEASED"), ("alive", "dead"), ("FALSE", "TRUE"), (1, 2)]


@pytest.mark.parametrize("codes", EVENTS, ids=str)
def test_events_in_other_codes_are_events(
    call: Call, here: Path, codes: tuple[object, object]
) -> None:
    survival((0, 1), last=False).write_csv(here / "plain.csv")
    survival(codes, last=False).write_csv(here / "t.csv")
    said = told(call("inspect t.csv"))
    assert "cox-score:alpha=0.05 on t.csv --label os_months --event os_status" in said
    asked = told(call("inspect t.csv --label os_months --event os_status"))
    assert asked.endswith(said.partition("Suggested command:")[2])
    plain, coded = (fsframe.read(here / f, label="os_months", event="os_status")
                    for f in ("plain.csv", "t.csv"))  # fmt: skip
    assert coded.y.tobytes() == plain.y.tobytes() and coded.feature_names == plain.feature_names
    (note,) = set(coded.warnings) - set(plain.warnings)
    assert "is an event" in note and "is censored" in note
    frame = fsframe.read(survival(codes, last=False), label="os_months", event="os_status")
    assert frame.y.tobytes() == plain.y.tobytes()


def test_categories_beside_times_until_an_event_are_encoded(call: Call, here: Path) -> None:
    arms = polars.Series("arm", [*"pqr"] * (ROWS // 3))
    table = survival((0, 1), last=True)
    table.with_columns(arms).select("arm", *table.columns).write_csv(here / "t.csv")
    done = call("inspect t.csv")
    assert "    --encode onehot" in done.out.splitlines()
    way = done.out.partition("Suggested command:")[2].partition("forecast")[0]
    ran = call(*shlex.split(way.replace("\\\n", ""))[1:], "--json", "--no-out")
    assert ran.code == 0 and ran.json["chain"].startswith("cox-score"), ran.err


def test_events_may_stand_in_a_table_about_the_samples(call: Call, here: Path) -> None:
    table = survival(("alive", "dead"), last=True)
    names = [f"S{k}" for k in range(len(table))]
    genes = table.drop("os_months", "os_status").transpose(
        include_header=True, header_name="gene", column_names=names
    )
    genes.write_csv(here / "genes.csv")
    about = table.select("os_months", "os_status").insert_column(0, polars.Series("id", names))
    about.write_csv(here / "about.csv")
    said = told(call("inspect genes.csv --transpose --samples about.csv"))
    way = "--label os_months --event os_status --samples about.csv --transpose"
    assert way in said.partition("Suggested command:")[2]
    ran = call(f"chain cox-score:top=1 on genes.csv {way} --no-out --json")
    assert ran.code == 0 and ran.json["selected"] == ["g0"], ran.err


def test_a_time_beside_events_that_are_not_understood_is_left_out(call: Call, here: Path) -> None:
    survival(("a", "b"), last=False).write_csv(here / "t.csv")
    said = told(call("inspect t.csv"))
    assert "label: os_status, a guess" in said and "--drop os_months" in said
    assert "write 'os_status' as 1 (event) and 0 (censored)" in said
    done = call("chain cox-score on t.csv --label os_months --event os_status --no-out")
    assert done.code == 4 and "words such as dead and alive, not 'a', 'b'" in done.err


@pytest.mark.parametrize(
    ("label", "way"), [("os_months", "--event os_status"), ("os_status", "--drop os_months")]
)
def test_the_other_of_time_and_event_is_no_feature_of_a_label_that_is_said(
    call: Call, here: Path, label: str, way: str
) -> None:
    survival((0, 1), last=True).write_csv(here / "t.csv")
    said = told(call(f"inspect t.csv --label {label}"))
    assert f"as a feature it would leak the label {way}" in said
    assert f"--label {label} {way}" in said.split("Suggested command:")[1]


def test_what_tells_the_label_too_well_is_named(call: Call, here: Path) -> None:
    y = np.arange(ROWS) % 2
    draw = np.random.default_rng(4)
    columns = {
        "marker": draw.normal(size=ROWS) + y,
        "class_code": y + 1,
        "level": ["low" if v else "high" for v in y],
        "risk": 0.8 * y + draw.uniform(0, 0.1, ROWS),
        "lab": np.where(y == 1, np.nan, draw.normal(size=ROWS)),
        "kept": np.where(draw.random(ROWS) < 0.3, np.nan, draw.normal(size=ROWS)),
        "set": ["train" if k < 40 else "test" for k in range(ROWS)],
        "fold": 1 + np.arange(ROWS) // 3 % 5,
        "class": ["ill" if v else "well" for v in y],
    }
    polars.DataFrame(columns, nan_to_null=True).write_csv(here / "t.csv")
    said = told(call("inspect t.csv"))
    remarks, way = said.split("Suggested command:")
    assert "class_code, level: one value for each class: class in another form" in remarks
    said = remarks.replace("fold, set", "set, fold")
    assert "set, fold: says which rows are for training or testing" in said
    assert "risk: separates the classes without an error" in remarks
    assert "lab: missing in 100% of ill and 0% of well" in remarks
    assert "marker: sep" not in remarks and "kept: missing" not in remarks
    (dropped,) = re.findall(r"chain anova-f\S* on t.csv --label class --drop (\S+)", way)
    assert set(dropped.split(",")) == {"class_code", "level", "set", "fold"}


def test_rows_that_are_measurements_of_a_subject_are_named(call: Call, here: Path) -> None:
    genes = ("TP53", "BRCA1", "EGFR")
    rows = [(f"S{k:02d}", gene, 0.1 * k, "ab"[k % 2]) for k in range(20) for gene in genes]
    table = polars.DataFrame(rows, schema=["sample", "gene", "value", "class"], orient="row")
    table.write_csv(here / "long.csv")
    said = told(call("inspect long.csv"))
    assert "each sample has one row for each gene: rows are measurements" in said
    table.head(59).write_csv(here / "lacking.csv")
    assert "rows are measurements" not in told(call("inspect lacking.csv"))
    days = [(*row, day) for day in (1, 8) for row in rows]
    polars.DataFrame(days, schema=[*table.columns, "day"], orient="row").write_csv(here / "t.csv")
    assert "one row for each gene and day: rows are measurements" in told(call("inspect t.csv"))


def test_whole_numbers_of_many_values_are_a_target(call: Call, here: Path) -> None:
    visitors = np.random.default_rng(0).poisson(40, ROWS)
    measurements(visitors=visitors.tolist()).drop("grp").write_csv(here / "t.csv")
    said = told(call("inspect t.csv"))
    assert "label: visitors, a guess (regression: " in said
    assert "--label visitors --task regression" in said
    refused = call("chain anova-f:top=1 on t.csv --label visitors --no-out")
    assert refused.code == 4 and "--task regression" in refused.err
    towns = measurements(price=(2.5 * visitors + 0.1 * np.arange(ROWS)).tolist(), town=["x"] * ROWS)
    towns.select("town", "grp", "g1", "price").rename({"grp": "zone"}).write_csv(here / "t.csv")
    assert "label: price, a guess (regression: " in told(call("inspect t.csv"))
    # A price before a last column that has no classes.
    cars = measurements(seats=[*range(2, 14)] * 5, selling_price=(visitors * 100).tolist())
    cars.drop("grp").select("g0", "selling_price", "g1", "seats").write_csv(here / "t.csv")
    said = told(call("inspect t.csv"))
    assert "label: selling_price, a guess (regression: " in said
    assert "doubt: it is not the last column, which is 'seats'" in said
    fuel = cars.rename({"selling_price": "fuel_price"}).drop("grp")
    fuel.select("g0", "fuel_price", "g1", "seats").write_csv(here / "t.csv")
    assert "label: seats, a guess" in told(call("inspect t.csv"))
    # A mark of one pupil alone.
    marks = measurements(mark=[*range(1, 12)] + [*range(2, 9)] * 7)
    marks.drop("grp").write_csv(here / "t.csv")
    assert "--label mark --task regression" in told(call("inspect t.csv"))
    # Letters by number are classes: many rows of each.
    letters = polars.DataFrame({"x": [*range(520)], "letter": [1 + k % 26 for k in range(520)]})
    letters.write_csv(here / "letters.csv")
    assert "--task" not in call("inspect letters.csv --label letter").out


def test_python_refuses_an_identifier_as_the_label_too() -> None:
    frame = measurements(id=[*range(1, ROWS + 1)]).to_pandas()
    with pytest.raises(UntidyTableError, match="'grp' looks more like one"):
        fsframe.select("mim:top=1", frame)


def visits(**others: list[object]) -> polars.DataFrame:
    """Measurements, other columns, and a label that varies within every three rows."""
    label = ["ab"[k % 2] for k in range(ROWS)]
    return (
        measurements()
        .drop("grp")
        .with_columns(
            **{name: polars.Series(cells) for name, cells in others.items()}, y=polars.Series(label)
        )
    )


def test_rows_of_one_patient_are_grouped_whatever_the_label_is(call: Call, here: Path) -> None:
    table = visits(Patient=[f"P{k // 3:02d}" for k in range(ROWS)])
    numeric = table.with_columns(y=polars.Series(np.linspace(3.1, 9.7, ROWS).round(2)))
    for each in (table, numeric):
        each.write_csv(here / "visits.csv")
        said = call("inspect visits.csv").out
        assert "Patient: says which rows come from the same source" in said
        assert "--groups Patient" in said and "--categorical Patient" not in said


def test_a_repeated_id_is_whose_rows_they_are_and_stretches_of_time_are_no_features(
    call: Call, here: Path
) -> None:
    draw = np.random.default_rng(2)
    rows = [(k // 3, k % 3 * 50 + k, k % 3 * 50 + 50 + k) for k in range(90)]
    event = [int(k % 3 == 2 and k % 2) for k in range(90)]
    frame = polars.DataFrame(rows, schema=["id", "tstart", "tstop"], orient="row").with_columns(
        event=polars.Series(event),
        age=polars.Series(draw.integers(30, 80, 90)),
        bili=polars.Series(draw.normal(size=90).round(2)),
    )
    frame.write_csv(here / "t.csv")
    done = call("inspect t.csv")
    said = " ".join(done.out.split())
    assert "* id: says which rows come from the same source" in said
    assert "* tstart, tstop: the stretch of time, until an event, that a row stands for" in said
    options = inspect_table(here / "t.csv").options
    assert options["groups"] == "id" and options["drop"] == ["tstart", "tstop"]
    assert " of class 0, " in said
    # Few numbers called so are categories.
    few = frame.with_columns(region_id=polars.Series(draw.integers(1, 6, 90)))
    few.select("region_id", *frame.columns).write_csv(here / "t.csv")
    options = inspect_table(here / "t.csv").options
    assert options["groups"] == "id" and options["categorical"] == ["region_id"]
    # Start and end on a chromosome are features, and so is the number of a batch.
    plain = frame.rename({"id": "batch_id", "tstart": "start", "tstop": "end", "event": "kind"})
    plain.write_csv(here / "t.csv")
    options = inspect_table(here / "t.csv").options
    assert "groups" not in options and not {"start", "end"} & {*options.get("drop", ())}


@pytest.mark.parametrize("named", ["rs", "q"])
def test_many_columns_alike_are_proposed_in_a_word(call: Call, here: Path, named: str) -> None:
    draw = np.random.default_rng(6)
    texts = ["AA", "AG", "GG"] if named == "rs" else ["never", "sometimes", "always"]
    columns = {f"{named}{k}": draw.choice(texts, ROWS) for k in range(30)}
    polars.DataFrame({**columns, **measurements().to_dict()}).write_csv(here / "t.csv")
    done = call("inspect t.csv")
    option = "--categorical 'rs*'" if named == "rs" else "--ordinal 'q*=never<sometimes<always'"
    remarks, _, way = done.out.partition("Suggested command:")
    assert remarks.count(option) == 1 and option in way
    way = way.partition("forecast")[0].replace("\\\n", "")
    ran = call(*shlex.split(way)[1:], "--json", "--no-out")
    assert ran.code == 0 and "g1" in ran.json["selected"], ran.err
    assert option in call("chain mim:top=1 on t.csv --no-out").err


def test_only_names_of_people_group_rows_whatever_the_label_is(call: Call, here: Path) -> None:
    ages = [30 + k // 3 for k in range(ROWS)]
    towns = [f"t{k // 3}" for k in range(ROWS)]
    visits(**{"patient age": ages, "town": towns}).write_csv(here / "t.csv")
    said = call("inspect t.csv").out
    assert "of repeated rows" not in said and "--groups" not in said.split("Suggested")[1]


def test_a_word_for_people_with_few_values_may_be_the_label(call: Call, here: Path) -> None:
    table = measurements().rename({"grp": "customer"})
    table.write_csv(here / "t.csv")
    assert "label: customer, a guess (2 classes: a 30, b 30)" in call("inspect t.csv").out
    assert call("chain mim:top=1 on t.csv --no-out --json").json["selected"] == ["g1"]


def test_a_text_is_read_as_often_for_many_columns_of_text_as_for_one(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, taken = [], Sheet.take
    monkeypatch.setattr(Sheet, "take", lambda *given: read.append(1) or taken(*given))
    times = []
    for many in (1, 8):
        cells = ["uvw"[k % 3] for k in range(ROWS)]
        visits(**{f"t{k}": cells for k in range(many)}).write_csv(here / "t.csv")
        read.clear()
        inspect_table("t.csv")
        times.append(len(read))
    assert times[0] == times[1] <= 5


TELLING = {
    "classes in columns": (
        {f"type_{name}": [int(k % 3 == j) for k in range(ROWS)] for j, name in enumerate("ABC")},
        "--drop type_A,type_B",
        "type_A, type_B: like type_C 0 or 1, with 1 in only one of them in each row",
    ),
    "codes of a label": (
        {"phenotype": [[1, 2, 1, 2, -9][k % 5] for k in range(ROWS)]},
        "--na -9 --missing-label drop",
        "phenotype: -9 occurs 12 times",
    ),
    "pairs": (
        {"pair_id": [f"P{k // 2}" for k in range(ROWS)], "status": ["case", "control"] * 30},
        "--groups pair_id",
        "pair_id: says which rows come from the same source",
    ),
}


@pytest.mark.parametrize("what", TELLING)
def test_inspect_takes_apart_what_the_label_is(call: Call, here: Path, what: str) -> None:
    columns, option, said = TELLING[what]
    measurements(**columns).drop("grp").write_csv(here / "t.csv")
    words = " ".join(call("inspect t.csv").out.replace("\\\n", "").split())
    assert said in words
    assert option in words.partition("Suggested command:")[2]


def test_inspect_asks_about_outcomes_and_unknown_classes(call: Call, here: Path) -> None:
    table = measurements(death30=[0, 1, 1] * 20, readmitted=["no", "yes", "unknown"] * 20)
    table.drop("grp").write_csv(here / "t.csv")
    words = " ".join(call("inspect t.csv").out.replace("\\\n", "").split())
    asked, _, proposed = words.partition("Suggested command:")
    assert "death30: looks like an outcome: leave it out unless it is known before" in asked
    assert "'unknown' is taken as a class; if it means that the class is unknown" in asked
    assert "--na unknown --missing-label drop" in asked and "--drop death30" in asked
    assert "unknown" not in proposed and "death30" not in proposed


@pytest.mark.parametrize("deep", [1, 8])
def test_counts_whose_sums_differ_are_said_to(call: Call, here: Path, deep: int) -> None:
    """Reads of genes, sampled evenly or up to eight times as deep in some rows as in others."""
    draw = np.random.default_rng(6)
    depth, level = draw.uniform(1, deep, ROWS), draw.lognormal(3, 1.5, 40)
    counts = draw.poisson(np.outer(depth, level))
    columns = {f"g{k}": counts[:, k] for k in range(40)}
    table = polars.DataFrame({**columns, "grp": ["ab"[k % 2] for k in range(ROWS)]})
    table.write_csv(here / "t.csv")
    asked = "the features are counts whose sum over a row ranges from"
    assert (asked in " ".join(call("inspect t.csv").out.split())) == (deep > 1)


def test_inspect_tells_orders_several_answers_and_texts_for_missing_values(
    call: Call, here: Path
) -> None:
    draw = np.random.default_rng(3)
    agree = ["Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree"]
    scale = ["1 - bad", "2", "3", "4 - good"]
    media = ["TV, Web", "Web", "TV, Print, Web", "Print", "TV", "TV, Print"]
    told: dict[str, list[object]] = {
        "ads": [agree[k % 5] for k in range(ROWS)],
        "rate": [scale[int(k)] for k in draw.integers(0, 4, ROWS)],
        "tone": [*"rgb"] * (ROWS // 3),
        "media": [media[int(k)] for k in draw.integers(0, 6, ROWS)],
        "ct1": ["Undetermined" if k % 9 == 4 else 20 + k / 8 for k in range(ROWS)],
        "ct2": ["Undetermined" if k == 5 else 21 - k / 8 for k in range(ROWS)],
    }
    texts = {name: [str(value) for value in values] for name, values in told.items()}
    frame = measurements().with_columns(**{name: polars.Series(v) for name, v in texts.items()})
    frame.select(*texts, "g0", "g1", "grp").write_csv(here / "t.csv")
    done = call("inspect t.csv")
    said = " ".join(done.out.split())
    assert "* ads: text with an order: Strongly disagree < Disagree < Neutral < Agree <" in said
    assert "* media: several answers in a cell (TV, Print, Web): to use them, give each a" in said
    assert "* ct1, ct2: numbers except for 'Undetermined' (8 times): missing values?" in said
    options = inspect_table(here / "t.csv").options
    assert options["ordinal"] == {"ads": (*agree,), "rate": (*scale,)}
    assert options["na"] == ["Undetermined"]
    assert options["categorical"] == ["tone", "media"]
    way = done.out.partition("Suggested command:")[2].partition("forecast")[0].replace("\\\n", "")
    ran = call(*shlex.split(way)[1:], "--json", "--no-out")
    assert ran.code == 0 and ran.json["selected"] == ["g1"], ran.err
    # The message of a command that was told nothing proposes the same.
    asked = call("chain mim:top=1 on t.csv --label grp --no-out")
    assert asked.code == 4 and "--ordinal 'ads=Strongly disagree<Disagree<" in asked.err


def test_who_is_seen_at_several_times_is_a_group(call: Call, here: Path) -> None:
    draw = np.random.default_rng(4)
    places, years = [f"land {k}" for k in range(12)], range(2000, 2010)
    rows = [(place, year) for place in places for year in years]
    frame = polars.DataFrame(
        {"country": [p for p, _ in rows], "year": [y for _, y in rows]}
        | {f"x{k}": draw.normal(size=len(rows)).round(3) for k in range(4)}
    )
    frame.write_csv(here / "t.csv")
    said = call("inspect t.csv --label x3").out
    assert "* country: says which rows come from the same source" in said
    assert "--groups country" in said.partition("Suggested command:")[2]
    # Not where the same place has several rows of one year.
    frame.with_columns(year=polars.Series([y // 2 for _, y in rows])).write_csv(here / "t.csv")
    assert "--groups" not in call("inspect t.csv --label x3").out


def test_few_people_are_groups_and_consecutive_plots_name_the_rows(call: Call, here: Path) -> None:
    visits(subj=[1 + k // 10 for k in range(ROWS)]).write_csv(here / "t.csv")
    assert "--label y --groups subj" in told(call("inspect t.csv"))
    visits(plot=[101 + k for k in reversed(range(ROWS))]).write_csv(here / "t.csv")
    assert "--label y --drop plot" in told(call("inspect t.csv"))


def test_times_of_the_dead_and_of_the_living_in_two_columns_are_said_to_be(
    call: Call, here: Path
) -> None:
    dead = [k % 3 == 0 for k in range(ROWS)]
    days = {
        "days_to_death": [str(90 + k) if lost else "'--" for k, lost in enumerate(dead)],
        "year_of_death": [str(2001 + k % 9) if lost else "'--" for k, lost in enumerate(dead)],
        "days_to_last_follow_up": [
            "[Not Available]" if lost else f"{365 - k}" for k, lost in enumerate(dead)
        ],
    }
    ends = ["Dead" if lost else "Alive" for lost in dead]
    measurements(vital_status=ends, **days).drop("grp").write_csv(here / "t.csv")
    said = told(call("inspect t.csv"))
    assert "days_to_last_follow_up, days_to_death: times until vital_status, and for" in said
    assert "make it the label (--label), with --event vital_status" in said


def test_samples_of_quality_control_are_asked_about(call: Call, here: Path) -> None:
    kinds = ["QC" if k % 10 == 0 else "Blank" if k % 15 == 7 else "ab"[k % 2] for k in range(ROWS)]
    measurements().with_columns(grp=polars.Series(kinds)).write_csv(here / "t.csv")
    said = call("inspect t.csv").out
    for name in ("QC", "Blank"):
        assert (
            f"'{name}' is taken as a class" in said and f"--na {name} --missing-label drop" in said
        )


def test_a_code_for_no_class_is_no_rare_class(call: Call, here: Path) -> None:
    cases = [-9 if k in (5, 17) else 1 + k % 2 for k in range(ROWS)]
    measurements(PHENOTYPE=cases).drop("grp").write_csv(here / "t.csv")
    said = told(call("inspect t.csv"))
    assert "--na -9 --missing-label drop" in said and "few rows of a class" not in said


def test_codes_of_no_genotype_and_counts_of_rows_are_asked_about(call: Call, here: Path) -> None:
    snps = {f"rs{k}": [["C/T", "C/C", "T/T", "0/0"][j % 4] for j in range(ROWS)] for k in range(2)}
    count = [1 + k % 7 for k in range(ROWS)]
    frame = measurements().with_columns(**{name: polars.Series(v) for name, v in snps.items()})
    frame.with_columns(count=polars.Series(count)).write_csv(here / "t.csv")
    said = call("inspect t.csv --label grp").out
    assert "* rs0, rs1: genotypes except for '0/0': missing values?" in said
    assert "--na 0/0" in said.partition("Suggested command:")[2]
    assert "* count: if each row stands for that many cases, declare it as the weight;" in said
    assert "--weight count" in said
    # Beside 0/1 and 1/1 it is a genotype.
    coded = [["0/1", "1/1", "0/0"][j % 3] for j in range(ROWS)]
    frame.with_columns(rs0=polars.Series(coded), rs1=polars.Series(coded)).write_csv(here / "t.csv")
    assert "genotypes except" not in call("inspect t.csv --label grp").out


@pytest.mark.parametrize("named", [["GENE"], ["TP", "KRAS", "k__B;p__P"]])
def test_counts_of_many_genes_are_no_label_beside_a_text_of_classes(
    call: Call, here: Path, named: list[str]
) -> None:
    draw = np.random.default_rng(4)
    counts = {f"{named[k % len(named)]}{k}": draw.poisson(1, ROWS).tolist() for k in range(20)}
    cells = {"cell": [f"ACGT-{k}" for k in range(ROWS)], "type": ["ab"[k % 2] for k in range(ROWS)]}
    polars.DataFrame(cells | counts).write_csv(here / "t.csv")
    assert "label: type, a guess (2 classes: a 30, b 30)" in call("inspect t.csv").out
    asked = call("chain mim:top=2 on t.csv")
    assert asked.code == 4 and "t.csv --label type --drop cell" in asked.err
    # The last column may be the label where no text of classes stands elsewhere.
    polars.DataFrame(counts).write_csv(here / "t.csv")
    assert inspect_table(here / "t.csv").label == 19


def test_infinite_cells_are_asked_about_and_the_command_runs(call: Call, here: Path) -> None:
    cells = [float(k % 9) for k in range(ROWS)]
    ratio, less = [*cells[:-2], np.inf, np.inf], [-np.inf, *cells[1:]]
    frame = measurements(ratio=ratio, less=less).select("ratio", "less", "g1", "g2", "grp")
    frame.write_csv(here / "t.csv")
    found = call("inspect t.csv")
    assert "ratio: inf in 2 rows: a division by zero?" in found.out
    assert "--na inf --na -inf" in " ".join(found.out.replace("\\\n", "").split())
    (chain, *_) = inspect_table(here / "t.csv").proposals
    assert call(f"{chain.command.removeprefix('fsframe ')} --no-out").code == 0


def test_codes_of_places_are_no_numbers(call: Call, here: Path) -> None:
    frame = measurements(
        postcode=[10115 + 37 * k for k in range(ROWS)], zip=[8000 + k % 4 for k in range(ROWS)]
    )
    frame.select("postcode", "zip", "g0", "g1", "grp").write_csv("t.csv")
    said = " ".join(call("inspect t.csv").out.split())
    assert "postcode: numeric codes with too many different values" in said
    assert "--drop postcode --categorical zip" in said.replace("\\ ", "")


def test_a_number_of_each_row_identifies_it(call: Call, here: Path) -> None:
    numbers = [2 * k + 1 for k in range(ROWS)]
    frame = measurements(EmployeeNumber=numbers, MitoticNumber=[k * k for k in range(ROWS)])
    frame.select("EmployeeNumber", "MitoticNumber", "g1", "g2", "grp").write_csv(here / "t.csv")
    assert inspect_table(here / "t.csv").options["drop"] == ["EmployeeNumber"]
    drawn = np.random.default_rng(2).choice(99_999, ROWS, replace=False)
    numbers = {"SEQN": drawn.tolist(), "Matrikel-Nr.": (drawn + 3_000_000).tolist()}
    frame = measurements(**numbers, Number=drawn.tolist())
    frame.select("SEQN", "Matrikel-Nr.", "Number", "g1", "grp").write_csv(here / "t.csv")
    assert inspect_table(here / "t.csv").options["drop"] == ["SEQN", "Matrikel-Nr."]


def test_zeros_of_the_living_and_scores_as_classes_are_asked_about(call: Call, here: Path) -> None:
    draw = np.random.default_rng(9)
    bmi = [0.0 if k % 10 == 3 else 20 + k / 7 for k in range(ROWS)]
    frame = measurements(
        visits=[k % 12 for k in range(ROWS)],
        BMI=[round(value, 1) for value in bmi],
        BloodPressure=[0 if k % 20 == 7 else 70 + k for k in range(ROWS)],
    ).with_columns(grp=polars.Series(draw.integers(1, 9, ROWS)))
    frame.rename({"grp": "class"}).write_csv(here / "t.csv")
    said = " ".join(call("inspect t.csv").out.split())
    assert (
        "* BMI, BloodPressure: 0 in 6, 3 rows, which is impossible in a living person: are" in said
    )
    assert "* class: 8 whole numbers are taken as classes; predict counts or scores" in said
    assert "whole numbers are taken" not in call("inspect t.csv --task regression").out


def test_what_rises_with_a_numeric_target_is_asked_about(call: Call, here: Path) -> None:
    draw = np.random.default_rng(6)
    y = draw.lognormal(size=ROWS).round(3)
    columns = {
        "near": (y + draw.normal(0, 0.01, ROWS)).round(3),
        "cents": 100 * y,
        "rounded": np.floor(y),
        "less": -np.log(y),
        "rare": (y == y.max()).astype(float),
        "price": y,
    }
    polars.DataFrame(columns).write_csv(here / "t.csv")
    said = told(call("inspect t.csv --label price"))
    assert "cents: rises with price without an exception: was it made from price" in said
    assert "rounded: rises with price" in said and "less: falls with price" in said
    assert "near: " not in said and "rare: " not in said


@pytest.mark.parametrize(
    ("time", "event", "codes", "way"),
    [
        # Events of two kinds (censored, transplanted, dead); none censored; as TCGA names them.
        ("time", "status", (0, 1, 2), "--label status --drop time"),
        ("time", "event", (1,), "--label time --event event"),
        ("OS.time", "OS", (0, 1), "--label OS.time --event OS"),
    ],
)
def test_times_beside_events_of_any_kind_are_no_feature(
    call: Call, here: Path, time: str, event: str, codes: tuple[int, ...], way: str
) -> None:
    draw = np.random.default_rng(7)
    columns = {
        time: draw.integers(10, 900, ROWS),
        event: [codes[k % len(codes)] for k in range(ROWS)],
    }
    columns |= {f"x{k}": draw.normal(size=ROWS).round(3) for k in range(3)}
    columns |= {"PFI": np.arange(ROWS) % 3 % 2, "PFI.time": draw.integers(10, 900, ROWS)}
    polars.DataFrame(columns).write_csv(here / "t.csv")
    done = call("inspect t.csv")
    suggested = told(done).partition("Suggested command:")[2]
    assert way in suggested
    command = suggested.partition("forecast")[0]
    ran = call(*shlex.split(command)[1:], "--json", "--no-out")
    assert ran.code == 0, ran.err
    assert "one value only" not in ran.err and event not in ran.json["selected"]
    if "OS" in event:
        assert "PFI, PFI.time: looks like an outcome" in told(done)


def test_a_data_frame_is_inspected_as_a_file_is(call: Call, here: Path) -> None:
    draw = np.random.default_rng(1)
    frame = measurements(age=draw.integers(20, 80, ROWS).tolist()).with_columns(
        id=polars.Series([k // 3 for k in range(ROWS)]),
        kind=polars.Series([*"uuvvw"] * (ROWS // 5), dtype=polars.Categorical),
        town=polars.Series([*"xyz"] * (ROWS // 3)),
        same=polars.Series([*"uv"] * (ROWS // 2), dtype=polars.Categorical),
        **{f"q{k}": polars.Series(draw.choice(["no", "maybe", "yes"], ROWS)) for k in range(10)},
    )
    frame.write_csv(here / "t.csv")
    of_file, of_frame = (
        fsframe.inspect(here / "t.csv", label="grp"),
        fsframe.inspect(frame, label="grp"),
    )
    # The frame says itself which column is categorical; a copy of the label is left out of both.
    assert of_file.options["categorical"] == ["kind", *of_frame.options["categorical"]]
    assert of_file.options["drop"] == of_frame.options["drop"] == ["same"]
    assert of_file.options["groups"] == of_frame.options["groups"] == "id"
    assert of_file.chain == of_frame.chain
    said = str(of_frame)
    assert "\n    categorical=['town', 'q*']\n" in said and "Suggested call:" in said
    assert "--" not in said and said == repr(of_frame)
    kept = eval(of_frame.command, {"fsframe": fsframe, "data": frame}).selected_names
    assert kept == fsframe.select(of_file.chain, here / "t.csv", **of_file.options).selected_names
    # The paths, and with them the breaks of lines, differ.
    printed = call("inspect t.csv --label grp").out
    assert str(of_file).split("\n\n", 1)[1].split("Suggested")[0] in printed
    for wrong in ({"data": [[1.0]]}, {"data": frame, "na": "-9"}):
        with pytest.raises(fsframe.RequestError, match=r"not for DataFrame|not list"):
            fsframe.inspect(**wrong)


def test_decimal_commas_in_a_frame_are_numbers_and_odd_words_are_asked_about(here: Path) -> None:
    """As pandas reads a table whose decimal mark nobody told it."""
    said = [f"{k / 8:.2f}".replace(".", ",") for k in range(ROWS)]
    frame = measurements(a=said, share=[f"{text} %" for text in said], b=["ill", *said[1:]]).select(
        "a", "share", "b", "g1", "grp"
    )
    data = fsframe.read(frame.drop("b"), label="grp")
    assert data.X[9, :2].tolist() == [1.12, 1.12]
    assert "column 'a' was read as numbers with decimal commas" in data.warnings
    # Of many such columns one note, and plain numbers that are text are numbers here, too.
    table = measurements(**dict.fromkeys("abcd", said))
    many = table.with_columns(polars.col("^g.$").cast(str)).drop("g4")
    notes = "4 columns hold text, and were read as numbers ('g0', 'g1', 'g2', 'g3')"
    commas = "4 columns were read as numbers with decimal commas ('a', 'b', 'c', 'd')"
    assert {notes, commas} <= {*fsframe.read(many, label="grp").warnings}
    # A file that keeps text holds the same.
    for table in (frame, many):
        table.write_parquet(here / f"{table.width}.parquet")
    for given in (many, here / f"{many.width}.parquet"):
        told = " ".join(str(fsframe.inspect(given, label="grp")).split())
        assert notes in told and "free text" not in told and "features: 8 (number 8)" in told
    asked = "b: numbers except for 'ill' (1 time): missing values? If so, make them missing"
    for given in (frame, here / f"{frame.width}.parquet"):
        found = " ".join(str(fsframe.inspect(given, label="grp")).split())
        assert asked in found and "What would settle" not in found and "--na" not in found


def test_inspect_leaves_columns_whose_role_is_said_and_says_what_no_chain_takes(here: Path) -> None:
    draw = np.random.default_rng(5)
    frame = measurements(
        when=list(range(ROWS)),
        person=[k // 3 for k in range(ROWS)],
        w=[1 + k % 3 for k in range(ROWS)],
    ).with_columns(y=polars.Series(draw.normal(size=ROWS).round(3)))
    found = fsframe.inspect(frame, label="grp", time="when", weight="w", groups="person")
    assert found.options["time"] == "when" and "drop" not in found.options
    assert {"time", "weight", "groups", "label"} <= {*found.roles.values()}
    # Nothing can be adjusted for in time.
    batches = frame.with_columns(batch=polars.Series([*"abc"] * (ROWS // 3)))
    found = fsframe.inspect(batches, label="y", time="when", drop=["grp", "person", "w"])
    assert found.options["drop"][-1] == "batch" and "adjust" not in found.options
    assert found.proposals and "a time, gaps or small strata" in " ".join(str(found).split())
    # A number that varies within groups, with weights: nothing is proposed, and it is said why.
    found = fsframe.inspect(frame, label="y", groups="person", weight="w", drop=["when", "grp"])
    assert not found.proposals and "Suggested" not in str(found)
    assert "the label varies within 'person'" in " ".join(str(found).split())


def test_a_frame_of_samples_in_columns_is_to_be_transposed() -> None:
    samples = {f"case_{k}": [0.5 * j + k / 7 for j in range(20)] for k in range(12)}
    for first in ("Gene names", "name"):
        said = str(
            fsframe.inspect(polars.DataFrame({first: [f"G{j}" for j in range(20)], **samples}))
        )
        assert "transpose the frame" in " ".join(said.split()) and "--" not in said
