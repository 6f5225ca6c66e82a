"""Guess from the name of a column what it holds: a label, a time, people, samples, batches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from fsframe.table.spelling.text_file import is_number


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


USUAL_LABELS = ("class", "label", "target", "y", "outcome")
"""Names that mean the label wherever the column is."""

_LIKELY = _words("""
    class classes label labels target outcome response status disease condition state result
    survival progression event subtype type group grade stage case control treatment arm severity
    verdict quality risk
""")
_STRONG = _words("""
    diagnosis dx responder survived relapse recurrence remission death died deceased mortality
    readmitted malignant phenotype churn churned attrition fraud exited converted response responded
    toxicity failure failed defects
""")
"""Words of columns that are hardly ever features."""

FACTORS = _words("type group treatment arm control condition state stage grade")
"""Words of labels that are more likely features if the table also has an outcome."""

_STATUS_OF = _words("vital loan survival case disease affection approval application")
"""Words that, together with ``status``, name an outcome."""

TARGETS = _words("price saleprice sales mpg medv yield")
"""Words of columns of many numbers that are hardly ever features."""

_OF_TARGETS = _words("""
    sale selling sold final median house crop grain daily weekly monthly total item outlet store
""")
"""Words that may accompany those of `TARGETS`; a fuel price is more likely a feature."""

QUANTITIES = TARGETS | {
    "revenue", "cost", "costs", "salary", "income", "wage", "charges", "score", "strength",
    "demand", "consumption", "count", "cnt",
}  # fmt: skip
"""Words of last columns that are predicted as numbers."""

_LATER = _STRONG | {"outcome", "dead", "alive", "survived", "censored"}
_LATER -= {"diagnosis", "dx", "malignant", "phenotype", "fraud", "failure", "failed", "defects"}
"""Words of columns that tell what happened in the end."""

_UNKNOWN = frozenset({
    "unknown", "unk", "missing", "undetermined", "indeterminate", "not known", "not reported",
    "not available", "not applicable", "n.d.", "nd", "n.a.", "-", "--", ".",
    "unbekannt", "keine angabe", "k.a.", "inconnu", "desconocido", "desconhecido", "sconosciuto",
    "onbekend",
    "qc", "quality control", "pool", "pooled", "pooled qc", "blank", "solvent", "ntc",
})  # fmt: skip
"""Names of classes, in lower case, that mean an unknown class or a sample of quality control."""

LABEL_WORDS = _LIKELY | _STRONG
"""Words of columns that may be the label."""

CENSORING = _words("cens censor censored censoring alive living survived")
"""Words of columns that tell events, and by their name the opposite of what 1 means."""
EVENTS = CENSORING | _words("event status death died dead deceased fustat")
_TIMES = _words("time survival surv followup futime os pfs dfs rfs efs tte rfstime survtime")
# When the time that a row covers starts and stops, in tables with events.
STARTS = _words("start tstart starttime entry begin")
STOPS = _words("stop tstop stoptime end tend endtime exit")
_UNITS = _words("days weeks months years")
_ENDPOINTS = _words("os pfs dfs dss pfi dfi rfs efs css mfs dmfs bcr")
"""Names of events in trials and TCGA; the time until one has the same name and ``time``."""

TECHNICAL = _words("""
    batch plate centre center site hospital clinic ward run lot lane chip slide scanner operator
    machine instrument lab laboratory kit
""")
"""Words in names of columns that tell how samples were taken or measured."""

PERSONAL = _words("age sex gender race ethnicity smoker smoking")
"""Words in names of columns that describe a person."""

_PEOPLE = _words("""
    patient subject person participant proband donor individual volunteer animal mouse rat pupil
    student customer client user pair pairs match matchset stratum strata litter twin twins
    household couple subj subjid usubjid pid pat ptid patid patientennummer
    paciente paziente sujet sujeto proefpersoon
""")
CODES = _words("""
    zip zipcode postcode postal postleitzahl plz fips sic naics icd phone telephone fax
""")
"""Words in names of columns whose numbers are codes (of places, trades, …) and not quantities."""

OF_FEATURES = _words("""
    gene genes geneid hugo symbol ensembl transcript probe probeset otu asv taxon protein peptide
    metabolite compound cpg
""")
"""Words in the name of a first column that lists features, so that features are in rows."""

ABOUT_FEATURES = _words("""
    chr chrom chromosome start end strand length effective_length width position entrez_gene_id
    entrezid description symbol gene_symbol gene_name gene_id gene_biotype biotype taxonomy
""")
"""Names, in lower case, of columns that tools write between the names of features and samples."""

_OF_THE_LIVING = _words("""
    bmi pressure bp sbp dbp trestbps glucose cholesterol chol weight height pulse hemoglobin
    haemoglobin insulin thickness albumin sodium potassium creatinine platelets
""")
_OF_MEASURES = _words("""
    blood skin body systolic diastolic serum plasma fasting mean total resting baseline kg cm mg dl
    mmol l mm hg m g
""")
_WHEN = _words("""
    year quarter month week day date visit wave round period session season time timepoint point
""")
_OF_NAMES = _words("id ids no nr num number code name key")
CONSECUTIVE = _PEOPLE | {"plot", "sample", "specimen", "case", "record", "row", "order", "unit"}
"""Words of columns whose consecutive whole numbers name the rows."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_FEWEST_PEOPLE = 4


def name_words(name: str) -> list[str]:
    """The words of a column name, in lower case.

    >>> name_words("ER_status"), name_words("PatientID"), name_words("Batch no. 2")
    (['er', 'status'], ['patient', 'id'], ['batch', 'no', '2'])
    """
    return [word.lower() for word in _WORD.findall(name)]


def is_outcome(name: str) -> bool:
    """Whether a column of that name is an outcome, hardly ever a feature."""
    words = set(name_words(name))
    return bool(words & _STRONG) or ("status" in words and bool(words & _STATUS_OF))


def is_target(name: str) -> bool:
    """Whether a column of many numbers with that name is hardly ever a feature.

    >>> is_target("selling_price"), is_target("yield_t_ha"), is_target("Fuel_Price")
    (True, True, False)
    """
    words = set(name_words(name))
    # Short words are units: yield_t_ha, price_eur.
    others = {word for word in words - TARGETS - _OF_TARGETS if len(word) > 3}
    return bool(words & TARGETS) and not others


def is_usual_label(name: str) -> bool:
    """Whether a name is one of `USUAL_LABELS`, in any case."""
    return name.strip().lower() in USUAL_LABELS


def names_raise_doubts(names: Sequence[str]) -> bool:
    """Whether the names alone are a reason to examine all columns before the last is the label.

    >>> names_raise_doubts(["Survived", "deck"]), names_raise_doubts(["g1", "sex"])
    (True, True)
    >>> names_raise_doubts(["g1", "time", "status"]), names_raise_doubts(["time", "g1", "grade"])
    (True, False)
    >>> names_raise_doubts(["g1", "sex", "grade"]), names_raise_doubts(["weeks", "status", "y"])
    (False, False)
    """
    if not names:
        return False
    last = set(name_words(names[-1]))
    strong = any(is_outcome(name) or is_target(name) for name in names[:-1])
    return (
        strong or bool(last & (TECHNICAL | PERSONAL)) or any(True for _ in times_and_events(names))
    )


def times_and_events(names: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Pairs of neighbouring columns, in either order, that are named like a time and an event."""
    words = [set(name_words(name)) for name in names]
    for k in range(len(names) - 1):
        for time, event in ((k, k + 1), (k + 1, k)):
            ends = words[event] & EVENTS and not words[time] & EVENTS
            units = words[time] & _UNITS and words[event] != {"status"}
            timed = ends and (words[time] & _TIMES or units) and not words[time] & PERSONAL
            endpoint = len(words[event]) == 1 and words[event] <= _ENDPOINTS & words[time]
            if timed or (endpoint and words[time] - words[event] <= _UNITS | {"time"}):
                yield time, event


def likely_names(names: Sequence[str]) -> list[str]:
    """The names that labels often have.

    >>> likely_names(["age", "Diagnosis", "ER_status", "g1"])
    ['Diagnosis', 'ER_status']
    """
    return [name for name in names if LABEL_WORDS & set(name_words(name))]


def names_people(name: str, different: int) -> bool:
    """Whether a column of that name, with that number of different values, identifies people.

    >>> names_people("PatientID", 40), names_people("Pat.-Nr", 32), names_people("customer", 2)
    (True, True, False)
    >>> names_people("patient age", 40)
    False
    """
    words = set(name_words(name))
    named = bool(words & _PEOPLE) and words <= _PEOPLE | _OF_NAMES
    return named and different >= _FEWEST_PEOPLE


def names_samples(name: str) -> bool:
    """Whether a column of that name tells which sample or person something was measured on.

    >>> names_samples("SampleID"), names_samples("OlinkID")
    (True, False)
    """
    return bool(set(name_words(name)) & (_PEOPLE | {"sample", "specimen"}))


def names_sources(name: str) -> bool:
    """Whether a column of that name, if its values repeat, identifies what rows were taken from.

    >>> names_sources("id"), names_sources("family_id"), names_sources("batch ID")
    (True, True, False)
    """
    words = name_words(name)
    return words[-1:] == ["id"] and not TECHNICAL & set(words)


def is_never_zero(name: str) -> bool:
    """Whether a column of that name holds a quantity that is above zero in living people.

    >>> is_never_zero("BloodPressure"), is_never_zero("BMI"), is_never_zero("weight change")
    (True, True, False)
    """
    words = set(name_words(name))
    return bool(words & _OF_THE_LIVING) and words <= _OF_THE_LIVING | _OF_MEASURES


def names_times(name: str) -> bool:
    """Whether a column of that name says when a row was measured: year, visit, wave, …

    >>> names_times("Year"), names_times("visit_no"), names_times("years of schooling")
    (True, True, False)
    """
    words = set(name_words(name))
    return bool(words & _WHEN) and words <= _WHEN | _OF_NAMES


def names_duration(name: str) -> bool:
    """Whether a column of that name tells how long something took.

    >>> names_duration("days_to_death"), names_duration("OS.time"), names_duration("year_of_death")
    (True, True, False)
    """
    return bool(set(name_words(name)) & (_UNITS | _TIMES))


def names_time_alone(name: str) -> bool:
    """Whether a column of that name tells a time, and no other word says of what.

    >>> [names_time_alone(name) for name in ("time", "Survival (months)", "time_to_surgery")]
    [True, True, False]
    """
    words = set(name_words(name))
    return bool(words & _TIMES) and words <= _TIMES | _UNITS


def is_outcome_name(name: str, endpoint: bool) -> bool:
    """Whether a column of that name tells an outcome, and so is not a feature of another outcome.

    Genes are named like endpoints, too: BCR, EFS, OS9. `endpoint` is whether such a name means one.

    >>> is_outcome_name("death30", True), is_outcome_name("diagnosis", True)
    (True, False)
    >>> [is_outcome_name(name, False) for name in ("OS.time", "BCR", "dead", "living_area")]
    [True, False, True, False]
    """
    words = set(name_words(name))
    endpoint = endpoint or bool(words & (_UNITS | {"time"}))
    return bool(words & _LATER or (endpoint and words & _ENDPOINTS))


def says_unknown(label: str) -> bool:
    """Whether the name of a class means a missing value or a sample of quality control.

    >>> says_unknown("Unknown"), says_unknown("unbekannt"), says_unknown("other")
    (True, True, False)
    """
    return label.strip().lower() in _UNKNOWN


def name_rows(
    cells: Sequence[str], missing: Callable[[str], bool], *, counting: bool = False
) -> bool:
    """Whether the cells of a nameless first column are an index from a spreadsheet or data frame.

    These are different in each row, and are text or whole numbers, such as those that a part of the
    rows keeps in pandas. With `counting`, numbers have to count the rows.

    >>> name_rows(["0", "1", "2"], lambda text: not text), name_rows(["a", "b", "a"], bool)
    (True, False)
    >>> [name_rows(["58", "40", "3"], bool, counting=counting) for counting in (False, True)]
    [True, False]
    """
    if len(set(cells)) != len(cells):
        return False
    if not all(is_number(cell) for cell in cells):
        # Text is an index, but numbers with gaps are data.
        return not all(is_number(cell) or missing(cell) for cell in cells)
    numbers = [float(cell) for cell in cells]
    counts = numbers[0] in (0.0, 1.0) and all(b - a == 1 for a, b in pairwise(numbers))
    return counts or (not counting and all(map(str.isdigit, cells)))
