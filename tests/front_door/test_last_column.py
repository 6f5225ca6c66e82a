"""What stands last in a table need not be its label; and what `inspect` finds in the others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars
import pytest

import fsframe
from fsframe.errors import UntidyTableError
from fsframe.show.inspection import inspect_table
from fsframe.table.files.cells import Sheet
from tests.front_door.conftest import told

ROWS = 60
EVERY = range(ROWS)


def measurements(**last: list[object]) -> polars.DataFrame:
    """Numbers, the first of which go with classes, and more columns behind the classes."""
    draw = np.random.default_rng(8)
    y = np.arange(ROWS) % 2
    columns = {f"g{k}": (draw.normal(size=ROWS) + 2 * y * (k == 1)).round(3) for k in range(5)}
    return polars.DataFrame({**columns, "grp": ["ab"[k] for k in y], **last})


def with_columns(frame: polars.DataFrame, **columns: object) -> polars.DataFrame:
    """The frame, and columns of these cells behind or in place of its own."""
    return frame.with_columns(**{name: polars.Series(cells) for name, cells in columns.items()})


def visits(**others: object) -> polars.DataFrame:
    """Measurements, other columns, and a label that varies within every three rows."""
    return with_columns(measurements().drop("grp"), **others, y=[*"ab"] * (ROWS // 2))


LAST = {
    "identifies the rows": {"sample_id": [*range(500, 500 + ROWS)]},
    "holds free text": {"Comments": ["", "haemolysed", "thawed twice"] * (ROWS // 3)},
    "holds dates": {"drawn": [f"2021-03-{1 + k % 28:02d}" for k in range(ROWS)]},
    "has one value only": {"cohort": ["main"] * ROWS},
}


@pytest.mark.parametrize("why", LAST)
def test_a_last_column_that_nobody_would_predict_is_no_label(call, inspected, ran, why):
    (name,) = LAST[why]
    frame = measurements(**LAST[why])
    said = inspected(frame).said
    assert "label: grp, a guess (2 classes: a 30, b 30)" in said
    assert f"doubt: the last column, '{name}', {why}" in said
    done = call("chain mim:top=1 on t.csv --no-out", code=4)
    assert f"the last column, {name!r}, may not be it: 'grp' looks more like one" in done.err
    (way,) = [line for line in done.err.splitlines() if line.startswith("  fsframe ")]
    assert "--label grp" in way and "--categorical grp" not in way
    assert ran(way)["selected"] == ["g1"]
    with pytest.raises(UntidyTableError, match="'grp' looks more like one"):
        fsframe.select("mim:top=1", frame.to_pandas())


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
def test_a_last_column_that_is_rather_a_feature_is_asked_about(call, here, inspected, label):
    doubt, last = BEHIND[label]
    said = inspected(measurements(**last).rename({"grp": label})).said
    assert f"label: {label}, a guess" in said and f"doubt: {doubt}" in said
    assert f"--label {label}" in call("chain mim:top=1 on t.csv --no-out", code=4).err
    # Alone among measurements it is the label.
    measurements(**last).drop("grp").write_csv(here / "t.csv")
    call("chain mim:top=1 on t.csv --no-out", code=0)


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
def test_times_until_an_event_are_neither_features_nor_classes(call, inspected, ran, last):
    inspection = inspected(survival((0, 1), last=last))
    assert (
        "label: os_months, a guess (time to" in inspection.said
        and "features: 3 (" in inspection.said
    )
    assert "cox-score:alpha=0.05 on t.csv --label os_months --event os_status" in inspection.way
    done = call("chain cox-score:top=1 on t.csv --no-out")
    assert done.code == 4 and "look like times until an event" in done.err
    ways = [line for line in done.err.splitlines() if line.startswith("  fsframe ")]
    assert ran(ways[0])["selected"] == ["g0"]
    if last:
        assert ways[1].endswith("--label os_status --drop os_months")
    with pytest.raises(UntidyTableError, match="look like times until an event"):
        fsframe.select("mim", survival((0, 1), last=last).to_pandas())


EVENTS = [("0:LIVING", "1:DECEASED"), ("alive", "dead"), ("FALSE", "TRUE"), (1, 2)]


@pytest.mark.parametrize("codes", EVENTS, ids=str)
def test_events_in_other_codes_are_events(here, inspected, codes):
    survival((0, 1), last=False).write_csv(here / "plain.csv")
    frame = survival(codes, last=False)
    inspection = inspected(frame)
    assert "cox-score:alpha=0.05 on t.csv --label os_months --event os_status" in inspection.way
    assert inspected(frame, "--label os_months --event os_status").way == inspection.way
    plain, coded, of_frame = (
        fsframe.read(table, label="os_months", event="os_status")
        for table in (here / "plain.csv", here / "t.csv", frame)
    )
    assert coded.y.tobytes() == of_frame.y.tobytes() == plain.y.tobytes()
    assert coded.feature_names == plain.feature_names
    (note,) = set(coded.warnings) - set(plain.warnings)
    assert "is an event" in note and "is censored" in note
    # A name may say that the column holds the opposite, unless the cells are words for events.
    other = frame.rename({"os_status": "is_alive"})
    doubted = " ".join(fsframe.read(other, label="os_months", event="is_alive").warnings)
    assert ("other way round" in doubted) == (codes in EVENTS[2:])


def test_categories_beside_times_until_an_event_are_encoded(inspected, ran):
    table = survival((0, 1), last=True)
    inspection = inspected(with_columns(table, arm=[*"pqr"] * 20).select("arm", *table.columns))
    assert "--encode onehot" in inspection.way
    assert ran(inspection.way)["chain"].startswith("cox-score")


def test_events_may_stand_in_a_table_about_the_samples(call, here, ran):
    table = survival(("alive", "dead"), last=True)
    names = [f"S{k}" for k in range(len(table))]
    genes = table.drop("os_months", "os_status").transpose(
        include_header=True, header_name="gene", column_names=names
    )
    genes.write_csv(here / "genes.csv")
    about = table.select("os_months", "os_status").insert_column(0, polars.Series("id", names))
    about.write_csv(here / "about.csv")
    result = told(call("inspect genes.csv --transpose --samples about.csv").out)
    way = "--label os_months --event os_status --samples about.csv --transpose"
    assert way in result.way
    assert ran(f"fsframe chain cox-score:top=1 on genes.csv {way}")["selected"] == ["g0"]


def test_a_time_beside_events_that_are_not_understood_is_left_out(call, inspected):
    inspection = inspected(survival(("a", "b"), last=False))
    assert "label: os_status, a guess" in inspection.said and "--drop os_months" in inspection.way
    assert "write 'os_status' as 1 (event) and 0 (censored)" in inspection.said
    done = call("chain cox-score on t.csv --label os_months --event os_status --no-out")
    assert done.code == 4 and "words such as dead and alive, not 'a', 'b'" in done.err


def test_what_tells_the_label_too_well_is_named(inspected):
    y = np.arange(ROWS) % 2
    draw = np.random.default_rng(4)
    columns = {
        "marker": draw.normal(size=ROWS) + y,
        "class_code": y + 1,
        "level": ["low" if v else "high" for v in y],
        "risk": 0.8 * y + draw.uniform(0, 0.1, ROWS),
        "lab": np.where(y == 1, np.nan, draw.normal(size=ROWS)),
        "kept": np.where(draw.random(ROWS) < 0.3, np.nan, draw.normal(size=ROWS)),
        "set": ["train" if k < 40 else "test" for k in EVERY],
        "fold": 1 + np.arange(ROWS) // 3 % 5,
        "class": ["ill" if v else "well" for v in y],
    }
    inspection = inspected(polars.DataFrame(columns, nan_to_null=True))
    said = inspection.said.replace("fold, set", "set, fold")
    assert "class_code, level: one value for each class: class in another form" in said
    assert "set, fold: says which rows are for training or testing" in said
    assert "risk: separates the classes without an error" in said
    assert "lab: missing in 100% of ill and 0% of well" in said
    assert "marker: sep" not in said and "kept: missing" not in said
    before, dropped = inspection.way.split("--drop ")
    assert "chain anova-f" in before and before.endswith("on t.csv --label class ")
    assert set(dropped.split()[0].split(",")) == {"class_code", "level", "set", "fold"}


class Case(NamedTuple):
    """A table; what `inspect` says of it, what it proposes, and what it does not."""

    frame: polars.DataFrame
    said: tuple[str, ...] = ()
    way: tuple[str, ...] = ()
    neither: tuple[str, ...] = ()
    options: str = ""


def _cases() -> dict[str, Case]:
    genes = ("TP53", "BRCA1", "EGFR")
    rows = [(f"S{k:02d}", gene, 0.1 * k, "ab"[k % 2]) for k in range(20) for gene in genes]
    long = polars.DataFrame(rows, schema=["sample", "gene", "value", "class"], orient="row")
    days = polars.concat([with_columns(long, day=[day] * ROWS) for day in (1, 8)])

    visitors = np.random.default_rng(0).poisson(40, ROWS)
    towns = measurements(price=(2.5 * visitors + 0.1 * np.arange(ROWS)).tolist(), town=["x"] * ROWS)
    cars = measurements(seats=[*range(2, 14)] * 5, price=(visitors * 100).tolist())
    letters = polars.DataFrame({"x": [*range(520)], "letter": [1 + k % 26 for k in range(520)]})

    patients = visits(Patient=[f"P{k // 3:02d}" for k in EVERY])
    target = with_columns(patients, y=np.linspace(3.1, 9.7, ROWS).round(2))
    places = [(f"land {k}", year) for k in range(12) for year in range(2000, 2010)]
    panel = polars.DataFrame(places, schema=["country", "year"], orient="row")
    draw = np.random.default_rng(4)
    panel = with_columns(panel, **{f"x{k}": draw.normal(size=120).round(3) for k in range(4)})

    dead = [k % 3 == 0 for k in EVERY]
    ends = {
        "vital_status": ["Dead" if lost else "Alive" for lost in dead],
        "days_to_death": [str(90 + k) if dead[k] else "'--" for k in EVERY],
        "year_of_death": [str(2001 + k % 9) if dead[k] else "'--" for k in EVERY],
        "days_to_last_follow_up": ["[Not Available]" if dead[k] else f"{365 - k}" for k in EVERY],
    }
    control = ["QC" if k % 10 == 0 else "Blank" if k % 15 == 7 else "ab"[k % 2] for k in EVERY]

    count = {"count": [1 + k % 7 for k in EVERY]}
    snps = [["C/T", "C/C", "T/T", "0/0"][j % 4] for j in EVERY]
    coded = [["0/1", "1/1", "0/0"][j % 3] for j in EVERY]

    drawn = np.random.default_rng(2).choice(99_999, ROWS, replace=False)
    persons = measurements(SEQN=drawn, **{"Matrikel-Nr.": drawn + 3_000_000}, Number=drawn)
    zips = measurements(postcode=[10115 + 37 * k for k in EVERY], zip=[8000 + k % 4 for k in EVERY])
    living = measurements(
        visits=[k % 12 for k in EVERY],
        BMI=[0.0 if k % 10 == 3 else round(20 + k / 7, 1) for k in EVERY],
        BloodPressure=[0 if k % 20 == 7 else 70 + k for k in EVERY],
    ).with_columns(grp=np.random.default_rng(9).integers(1, 9, ROWS))
    living = living.rename({"grp": "class"})

    noise = np.random.default_rng(6)
    y = noise.lognormal(size=ROWS).round(3)
    risen = {
        "near": (y + noise.normal(0, 0.01, ROWS)).round(3),
        "cents": 100 * y,
        "rounded": np.floor(y),
        "less": -np.log(y),
        "rare": (y == y.max()).astype(float),
        "price": y,
    }

    def reads(deep: int) -> polars.DataFrame:
        """Of genes, sampled evenly or up to eight times as deep in some rows as in others."""
        draw = np.random.default_rng(6)
        depth, level = draw.uniform(1, deep, ROWS), draw.lognormal(3, 1.5, 40)
        counts = draw.poisson(np.outer(depth, level))
        columns = {f"g{k}": counts[:, k] for k in range(40)}
        return polars.DataFrame({**columns, "grp": [*"ab"] * (ROWS // 2)})

    sums = ("the features are counts whose sum over a row ranges from",)
    source = "says which rows come from the same source"
    leak = "as a feature it would leak the label"
    return {
        "times beside a label that is said": Case(
            survival((0, 1), last=True),
            (f"{leak} --event os_status",), ("--label os_months --event os_status",),
            options="--label os_months"),
        "events beside a label that is said": Case(
            survival((0, 1), last=True),
            (f"{leak} --drop os_months",), ("--label os_status --drop os_months",),
            options="--label os_status"),
        "rows that are measurements of a subject": Case(
            long, ("each sample has one row for each gene: rows are measurements",)),
        "one measurement lacking": Case(long.head(59), neither=("rows are measurements",)),
        "measurements of two days": Case(
            days, ("one row for each gene and day: rows are measurements",)),
        "counts as a target": Case(
            measurements(visitors=visitors).drop("grp"),
            ("label: visitors, a guess (regression: ",), ("--label visitors --task regression",)),
        "a target before a constant": Case(
            towns.select("town", polars.col("grp").alias("zone"), "g1", "price"),
            ("label: price, a guess (regression: ",)),
        "a price before a last column without classes": Case(
            cars.select("g0", polars.col("price").alias("selling_price"), "g1", "seats"),
            ("label: selling_price, a guess (regression: ",
             "doubt: it is not the last column, which is 'seats'")),
        "a price of something else": Case(
            cars.select("g0", polars.col("price").alias("fuel_price"), "g1", "seats"),
            ("label: seats, a guess",)),
        "a mark of one pupil alone": Case(
            measurements(mark=[*range(1, 12)] + [*range(2, 9)] * 7).drop("grp"),
            way=("--label mark --task regression",)),
        "letters by number": Case(letters, neither=("--task",), options="--label letter"),
        "rows of one patient": Case(
            patients, (f"Patient: {source}",), ("--groups Patient",), ("--categorical Patient",)),
        "rows of one patient and a target": Case(
            target, (f"Patient: {source}",), ("--groups Patient",), ("--categorical Patient",)),
        "ages and towns name nobody": Case(
            visits(**{"patient age": [30 + k // 3 for k in EVERY]},
                   town=[f"t{k // 3}" for k in EVERY]),
            neither=("of repeated rows", "y --groups")),
        "a place in several years": Case(
            panel, (f"* country: {source}",), ("--groups country",), options="--label x3"),
        "a place with several rows of a year": Case(
            panel.with_columns(polars.col("year") // 2),
            neither=("--groups",), options="--label x3"),
        "few people": Case(
            visits(subj=[1 + k // 10 for k in EVERY]), way=("--label y --groups subj",)),
        "consecutive plots": Case(
            visits(plot=[101 + k for k in reversed(EVERY)]), way=("--label y --drop plot",)),
        "pairs": Case(
            measurements(pair_id=[f"P{k // 2}" for k in EVERY], status=["case", "control"] * 30)
            .drop("grp"), (f"pair_id: {source}",), ("--groups pair_id",)),
        "a word for people with few values": Case(
            measurements().rename({"grp": "customer"}),
            ("label: customer, a guess (2 classes: a 30, b 30)",)),
        "classes in columns": Case(
            measurements(**{f"type_{name}": [int(k % 3 == j) for k in EVERY]
                            for j, name in enumerate("ABC")}).drop("grp"),
            ("type_A, type_B: like type_C 0 or 1, with 1 in only one of them in each row",),
            ("--drop type_A,type_B",)),
        "a code among labels": Case(
            measurements(phenotype=[[1, 2, 1, 2, -9][k % 5] for k in EVERY]).drop("grp"),
            ("phenotype: -9 occurs 12 times",), ("--na -9 --missing-label drop",)),
        "a code for no class in few rows": Case(
            measurements(PHENOTYPE=[-9 if k in (5, 17) else 1 + k % 2 for k in EVERY]).drop("grp"),
            ("--na -9 --missing-label drop",), neither=("few rows of a class",)),
        "samples of quality control": Case(
            with_columns(measurements(), grp=control),
            ("'QC' is taken as a class", "--na QC --missing-label drop",
             "'Blank' is taken as a class", "--na Blank --missing-label drop")),
        "even sums of counts": Case(reads(1), neither=sums),
        "uneven sums of counts": Case(reads(8), sums),
        "times of the dead and of the living": Case(
            measurements(**ends).drop("grp"),
            ("days_to_last_follow_up, days_to_death: times until vital_status, and for",
             "make it the label (--label), with --event vital_status")),
        "codes of no genotype, and counts of rows": Case(
            with_columns(measurements(), rs0=snps, rs1=snps, **count),
            ("* rs0, rs1: genotypes except for '0/0': missing values?", "--weight count",
             "* count: if each row stands for that many cases, declare it as the weight;"),
            ("--na 0/0",), options="--label grp"),
        "a genotype beside 0/1 and 1/1": Case(
            with_columns(measurements(), rs0=coded, rs1=coded, **count),
            neither=("genotypes except",), options="--label grp"),
        "codes of places": Case(
            zips.select("postcode", "zip", "g0", "g1", "grp"),
            ("postcode: numeric codes with too many different values",),
            ("--drop postcode --categorical zip",)),
        "numbers of rows": Case(
            measurements(EmployeeNumber=[2 * k + 1 for k in EVERY],
                         MitoticNumber=[k * k for k in EVERY])
            .select("EmployeeNumber", "MitoticNumber", "g1", "g2", "grp"),
            way=("--drop EmployeeNumber",), neither=("--drop MitoticNumber", ",MitoticNumber")),
        "numbers of persons": Case(
            persons.select("SEQN", "Matrikel-Nr.", "Number", "g1", "grp"),
            way=("--drop SEQN,Matrikel-Nr.",), neither=("Nr.,Number",)),
        "zeros of the living, and scores as classes": Case(
            living,
            ("* BMI, BloodPressure: 0 in 6, 3 rows, which is impossible in a living person: are",
             "* class: 8 whole numbers are taken as classes; predict counts or scores")),
        "scores as a target": Case(
            living, neither=("whole numbers are taken",), options="--task regression"),
        "what rises with a target": Case(
            polars.DataFrame(risen),
            ("cents: rises with price without an exception: was it made from price",
             "rounded: rises with price", "less: falls with price"),
            neither=("near: ", "rare: "), options="--label price"),
    }  # fmt: skip


CASES = _cases()


@pytest.mark.parametrize("what", CASES)
def test_inspect_tells_what_stands_in_a_table_and_proposes_what_settles_it(inspected, what):
    case = CASES[what]
    inspection = inspected(case.frame, case.options)
    assert [part for part in case.said if part not in inspection.said] == []
    assert [part for part in case.way if part not in inspection.way] == []
    assert [part for part in case.neither if part in inspection.said + inspection.way] == []


def test_outcomes_and_unknown_classes_are_asked_about(inspected):
    table = measurements(death30=[0, 1, 1] * 20, readmitted=["no", "yes", "unknown"] * 20)
    inspection = inspected(table.drop("grp"))
    assert (
        "death30: looks like an outcome: leave it out unless it is known before" in inspection.said
    )
    assert "'unknown' is taken as a class; if it means that the class is unknown" in inspection.said
    assert (
        "--na unknown --missing-label drop" in inspection.said
        and "--drop death30" in inspection.said
    )
    assert "unknown" not in inspection.way and "death30" not in inspection.way


def test_a_repeated_id_is_whose_rows_they_are_and_stretches_of_time_are_no_features(inspected):
    draw = np.random.default_rng(2)
    rows = [(k // 3, k % 3 * 50 + k, k % 3 * 50 + 50 + k) for k in range(90)]
    frame = with_columns(
        polars.DataFrame(rows, schema=["id", "tstart", "tstop"], orient="row"),
        event=[int(k % 3 == 2 and k % 2) for k in range(90)],
        age=draw.integers(30, 80, 90),
        bili=draw.normal(size=90).round(2),
    )
    inspection = inspected(frame)
    assert "* id: says which rows come from the same source" in inspection.said
    assert (
        "* tstart, tstop: the stretch of time, until an event, that a row stands" in inspection.said
    )
    assert " of class 0, " in inspection.said
    options = inspect_table("t.csv").options
    assert options["groups"] == "id" and options["drop"] == ["tstart", "tstop"]
    # Few numbers called so are categories.
    few = with_columns(frame, region_id=draw.integers(1, 6, 90))
    few.select("region_id", *frame.columns).write_csv("t.csv")
    options = inspect_table("t.csv").options
    assert options["groups"] == "id" and options["categorical"] == ["region_id"]
    # Start and end on a chromosome are features, and so is the number of a batch.
    plain = frame.rename({"id": "batch_id", "tstart": "start", "tstop": "end", "event": "kind"})
    plain.write_csv("t.csv")
    options = inspect_table("t.csv").options
    assert "groups" not in options and not {"start", "end"} & {*options.get("drop", ())}
    # One time alone, or two others, are no stretch.
    frame.rename({"tstart": "opened"}).write_csv("t.csv")
    assert not {"opened", "tstop"} & {*inspect_table("t.csv").options.get("drop", ())}


@pytest.mark.parametrize("named", ["rs", "q"])
def test_many_columns_alike_are_proposed_in_a_word(call, inspected, ran, named):
    draw = np.random.default_rng(6)
    texts = ["AA", "AG", "GG"] if named == "rs" else ["never", "sometimes", "always"]
    columns = {f"{named}{k}": draw.choice(texts, ROWS) for k in range(30)}
    inspection = inspected(polars.DataFrame({**columns, **measurements().to_dict()}))
    option = "--categorical 'rs*'" if named == "rs" else "--ordinal 'q*=never<sometimes<always'"
    assert inspection.said.count(option) == 1 and option in inspection.way
    assert "g1" in ran(inspection.way)["selected"]
    assert option in call("chain mim:top=1 on t.csv --no-out").err


def test_a_text_is_read_as_often_for_many_columns_of_text_as_for_one(here, monkeypatch):
    read, taken = [], Sheet.take
    monkeypatch.setattr(Sheet, "take", lambda *given: read.append(1) or taken(*given))
    times = []
    for many in (1, 8):
        visits(**{f"t{k}": [*"uvw"] * 20 for k in range(many)}).write_csv("t.csv")
        read.clear()
        inspect_table("t.csv")
        times.append(len(read))
    assert times[0] == times[1] <= 5


def test_inspect_tells_orders_several_answers_and_texts_for_missing_values(call, inspected, ran):
    draw = np.random.default_rng(3)
    agree = ["Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree"]
    scale = ["1 - bad", "2", "3", "4 - good"]
    media = ["TV, Web", "Web", "TV, Print, Web", "Print", "TV", "TV, Print"]
    texts = {
        "ads": [agree[k % 5] for k in EVERY],
        "rate": [scale[int(k)] for k in draw.integers(0, 4, ROWS)],
        "tone": [*"rgb"] * (ROWS // 3),
        "media": [media[int(k)] for k in draw.integers(0, 6, ROWS)],
        "ct1": ["Undetermined" if k % 9 == 4 else str(20 + k / 8) for k in EVERY],
        "ct2": ["Undetermined" if k == 5 else str(21 - k / 8) for k in EVERY],
    }
    inspection = inspected(with_columns(measurements(), **texts).select(*texts, "g0", "g1", "grp"))
    for part in (
        "* ads: text with an order: Strongly disagree < Disagree < Neutral < Agree <",
        "* media: several answers in a cell (TV, Print, Web): to use them, give each a",
        "* ct1, ct2: numbers except for 'Undetermined' (8 times): missing values?",
    ):
        assert part in inspection.said
    options = inspect_table("t.csv").options
    assert options["ordinal"] == {"ads": (*agree,), "rate": (*scale,)}
    assert options["na"] == ["Undetermined"]
    assert options["categorical"] == ["tone", "media"]
    assert ran(inspection.way)["selected"] == ["g1"]
    # The message of a command that was told nothing proposes the same.
    asked = call("chain mim:top=1 on t.csv --label grp --no-out")
    assert asked.code == 4 and "--ordinal 'ads=Strongly disagree<Disagree<" in asked.err


@pytest.mark.parametrize("named", [["GENE"], ["TP", "KRAS", "k__B;p__P"]])
def test_counts_of_many_genes_are_no_label_beside_a_text_of_classes(call, inspected, named):
    draw = np.random.default_rng(4)
    counts = {f"{named[k % len(named)]}{k}": draw.poisson(1, ROWS).tolist() for k in range(20)}
    cells = {"cell": [f"ACGT-{k}" for k in EVERY], "type": [*"ab"] * (ROWS // 2)}
    inspection = inspected(polars.DataFrame(cells | counts))
    assert "label: type, a guess (2 classes: a 30, b 30)" in inspection.said
    assert "t.csv --label type --drop cell" in call("chain mim:top=2 on t.csv", code=4).err
    # The last column may be the label where no text of classes stands elsewhere.
    polars.DataFrame(counts).write_csv("t.csv")
    assert inspect_table("t.csv").label == 19


def test_infinite_cells_are_asked_about_and_the_command_runs(inspected, ran):
    cells = [float(k % 9) for k in EVERY]
    ratio, less = [*cells[:-2], np.inf, np.inf], [-np.inf, *cells[1:]]
    frame = measurements(ratio=ratio, less=less).select("ratio", "less", "g1", "g2", "grp")
    inspection = inspected(frame)
    assert "ratio: inf in 2 rows: a division by zero?" in inspection.said
    assert "--na inf --na -inf" in inspection.said + inspection.way
    (chain, *_) = inspect_table("t.csv").proposals
    ran(chain.command)


@pytest.mark.parametrize(
    ("time", "event", "codes", "way"),
    [
        # Events of two kinds (censored, transplanted, dead); none censored; as TCGA names them.
        ("time", "status", (0, 1, 2), "--label status --drop time"),
        ("time", "event", (1,), "--label time --event event"),
        ("OS.time", "OS", (0, 1), "--label OS.time --event OS"),
        ("time", "censored", (0, 1), "--label time --event censored"),
    ],
)
def test_times_beside_events_of_any_kind_are_no_feature(inspected, ran, time, event, codes, way):
    draw = np.random.default_rng(7)
    columns = {time: draw.integers(10, 900, ROWS), event: [codes[k % len(codes)] for k in EVERY]}
    columns |= {f"x{k}": draw.normal(size=ROWS).round(3) for k in range(3)}
    columns |= {"PFI": np.arange(ROWS) % 3 % 2, "PFI.time": draw.integers(10, 900, ROWS)}
    inspection = inspected(polars.DataFrame(columns))
    assert way in inspection.way
    answer = ran(inspection.way)
    assert event not in answer["selected"]
    assert not any("one value only" in warning for warning in answer["warnings"])
    doubt = "1 is an event, 0 is censored; is it the other way round, as its name says?"
    assert (doubt in inspection.said) == (event == "censored")
    if "OS" in event:
        assert "PFI, PFI.time: looks like an outcome" in inspection.said


@pytest.mark.parametrize("endpoint", [False, True])
def test_genes_that_are_named_like_endpoints_are_no_outcomes(inspected, endpoint):
    draw = np.random.default_rng(7)
    columns = {name: draw.normal(size=ROWS).round(3) for name in ("OS9", "AAK1", "EFS")}
    if endpoint:
        columns["EFS_event"] = np.arange(ROWS) % 2
    columns["grade"] = [("III", "IV")[k % 3 % 2] for k in EVERY]
    said = inspected(polars.DataFrame(columns)).said
    assert ("EFS, EFS_event: looks like an outcome" in said) == endpoint
    assert ("looks like an outcome" in said) == endpoint


def test_a_data_frame_is_inspected_as_a_file_is(call, here):
    draw = np.random.default_rng(1)
    frame = with_columns(
        measurements(age=draw.integers(20, 80, ROWS).tolist()),
        id=[k // 3 for k in EVERY],
        kind=polars.Series([*"uuvvw"] * (ROWS // 5), dtype=polars.Categorical),
        town=[*"xyz"] * (ROWS // 3),
        same=polars.Series([*"uv"] * (ROWS // 2), dtype=polars.Categorical),
        **{f"q{k}": draw.choice(["no", "maybe", "yes"], ROWS) for k in range(10)},
    )
    frame.write_csv(here / "t.csv")
    of_file, of_frame = (fsframe.inspect(each, label="grp") for each in (here / "t.csv", frame))
    # The frame says itself which column is categorical; a copy of the label is left out of both.
    assert of_file.options["categorical"] == ["kind", *of_frame.options["categorical"]]
    assert of_file.options["drop"] == of_frame.options["drop"] == ["same"]
    assert of_file.options["groups"] == of_frame.options["groups"] == "id"
    assert of_file.chain == of_frame.chain
    said = str(of_frame)
    assert "\n    categorical=['town', 'q*']\n" in said and "Suggested call:" in said
    assert "--" not in said and said == repr(of_frame)
    # The chain itself takes long.
    assert of_frame.command.count(repr(of_frame.chain)) == 1
    command = of_frame.command.replace(repr(of_frame.chain), repr("anova-f:top=2"))
    kept = eval(command, {"fsframe": fsframe, "data": frame}).selected_names
    of_table = fsframe.select("anova-f:top=2", here / "t.csv", **of_file.options)
    assert kept == of_table.selected_names
    # The paths, and with them the breaks of lines, differ.
    printed = call("inspect t.csv --label grp").out
    assert str(of_file).split("\n\n", 1)[1].split("Suggested")[0] in printed
    for wrong in ({"data": [[1.0]]}, {"data": frame, "na": "-9"}):
        with pytest.raises(fsframe.RequestError, match=r"not for DataFrame|not list"):
            fsframe.inspect(**wrong)


def test_decimal_commas_in_a_frame_are_numbers_and_odd_words_are_asked_about(here):
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
    asked = "b: numbers except for 'ill' (1 time): missing values? If so, make such cells missing"
    for given in (frame, here / f"{frame.width}.parquet"):
        result = " ".join(str(fsframe.inspect(given, label="grp")).split())
        assert asked in result and "What would settle" not in result and "--na" not in result
    frame.drop("b", "share").write_csv(here / "mixed.csv", separator=";")
    told = " ".join(str(fsframe.inspect(here / "mixed.csv", label="grp")).split())
    assert "a: numbers with decimal commas, but g1 with points: write all of them" in told


def test_inspect_leaves_columns_whose_role_is_said_and_says_what_no_chain_takes():
    draw = np.random.default_rng(5)
    frame = measurements(
        when=list(range(ROWS)),
        person=[k // 3 for k in range(ROWS)],
        w=[1 + k % 3 for k in range(ROWS)],
    ).with_columns(y=polars.Series(draw.normal(size=ROWS).round(3)))
    inspection = fsframe.inspect(frame, label="grp", time="when", weight="w", groups="person")
    assert inspection.options["time"] == "when" and "drop" not in inspection.options
    assert {"time", "weight", "groups", "label"} <= {*inspection.roles.values()}
    # Nothing can be adjusted for in time.
    batches = frame.with_columns(batch=polars.Series([*"abc"] * (ROWS // 3)))
    inspection = fsframe.inspect(batches, label="y", time="when", drop=["grp", "person", "w"])
    assert inspection.options["drop"][-1] == "batch" and "adjust" not in inspection.options
    assert inspection.proposals and "a time, gaps or small strata" in " ".join(
        str(inspection).split()
    )
    # A number that varies within groups, with weights: nothing is proposed, and it is said why.
    inspection = fsframe.inspect(
        frame, label="y", groups="person", weight="w", drop=["when", "grp"]
    )
    assert not inspection.proposals and "Suggested" not in str(inspection)
    assert "the label varies within 'person'" in " ".join(str(inspection).split())


def test_a_frame_of_samples_in_columns_is_to_be_transposed():
    samples = {f"case_{k}": [0.5 * j + k / 7 for j in range(20)] for k in range(12)}
    for first in ("Gene names", "name"):
        said = str(
            fsframe.inspect(polars.DataFrame({first: [f"G{j}" for j in range(20)], **samples}))
        )
        assert "transpose the frame" in " ".join(said.split()) and "--" not in said
