"""What is told before any work starts, and what each test says of a feature on every screen."""

from __future__ import annotations

import warnings

import attrs
import numpy as np
import pytest

from fsframe.chains.chain import Chain
from fsframe.errors import Forewarning, RequestError
from fsframe.method.ranking import ADDING, INTERACTING, NEEDED, RELEVANT, Statement
from fsframe.method.run import Cost
from fsframe.method.statistics import PermutationTest
from fsframe.registry import selectors
from fsframe.show.display import result_lines, result_object
from fsframe.show.methods_text import methods_paragraph
from fsframe.show.page import report_page
from fsframe.storage import RunRecord
from fsframe.table.dataset import Dataset
from tests.evaluation.tables import separated
from tests.same_process import fsframe


def table() -> Dataset:
    return separated(40, 40, signal=4.0)


@pytest.mark.parametrize("correction", ["none", "bonferroni", "benjamini-hochberg"])
@pytest.mark.parametrize("permutations", [1, 19, 20, 99, 999])
@pytest.mark.parametrize("level", [0.01, 0.05, 0.1])
def test_the_number_needed_is_that_of_the_adjusted_p_values(correction, permutations, level):
    """By scipy's adjustment of k smallest p-values among m, the others at one."""
    from scipy.stats import false_discovery_control

    m = 23
    needed = PermutationTest(permutations=permutations, level=level, correction=correction)
    for k in range(1, m + 1):
        p = np.ones(m)
        p[:k] = 1 / (permutations + 1)
        if correction == "benjamini-hochberg":
            p = false_discovery_control(p)
        elif correction == "bonferroni":
            p = np.minimum(1, p * m)
        assert bool((p <= level + 1e-12).any()) == (k >= needed.needed(m)), k


@pytest.mark.parametrize(
    ("chain", "told"),
    [
        ("relieff:permutations=99", "relieff: with permutations=99, p is at least 1/100"),
        ("mim:top=30 relieff:permutations=99,level=0.05", "over 30 features"),
        ("relieff:permutations=99,level=0.05 npfs:n=20,null=published", "if at least 8 of"),
        ("jmi:stop=significant,test=permutation,alpha=0.01,permutations=19", "no feature can be"),
        ("stability-study:base=relieff:permutations=99,n=3", "relieff: with permu"),
        ("cross-validation:base=(relieff:permutations=99 knn),folds=2", "relieff: with permu"),
        ("mim:top=5 relieff:permutations=99", ""),
        ("mim relieff:permutations=19", ""),
        ("relieff:permutations=99,correction=none", ""),
        ("relieff npfs", ""),
    ],
)  # fmt: skip
def test_chains_tell_what_their_tests_cannot_reach(chain, told):
    result = list(Chain.parse(chain).forewarnings(table()))
    assert len(result) == bool(told)
    assert told in "".join(result)


def test_a_run_warns_once_before_it_starts_and_its_record_says_so():
    told: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        record = Chain.parse("relieff:permutations=9").run(
            table(), listener=lambda _: told.extend(str(w.message) for w in caught)
        )
    mine = [w for w in caught if issubclass(w.category, Forewarning)]
    assert len(mine) == 1
    assert "permutations=799 is enough" in str(mine[0].message)
    assert sum("p is at least 1/10;" in text for text in record.all_warnings()) == 1


# What chains cost, by what their methods declare

RELIEFF = 1e-3 + 5e-11 * 200**2 * 30


@pytest.mark.parametrize(
    ("text", "n", "p", "seconds"),
    [
        ("mim:top=10", 100, 1000, 1e-3 + 3e-6 * 1000 + 2.5e-9 * 100 * 1000),
        ("mim:top=10 relieff", 100, 1000, 1e-3 + 3e-3 + 2.5e-4 + 1e-3 + 5e-11 * 100**2 * 10),
        ("relieff npfs", 100, 20, 1091 * (1e-3 + 5e-11 * 100**2 * 20)),
        ("npfs:base=(mim:top=5),n=30,null=published", 100, 20, 30 * (1e-3 + 6e-5 + 5e-6)),
        # A corrected test above 200 features: 200 + 450 · 2 fits, and one on the whole table.
        ("mim:top=100 npfs", 100, 2000, 1101 * (1e-3 + 6e-3 + 5e-4)),
        ("cross-validation:folds=5,repeats=3,base=(relieff knn)", 200, 30, 15 * RELIEFF),
        ("cross-validation:scheme=five-by-two,base=(relieff knn)", 200, 30, 10 * RELIEFF),
        ("stability-study:n=7,base=relieff", 200, 30, 7 * RELIEFF),
        ("ensemble:n=12,base=relieff", 200, 30, 12 * RELIEFF),
        # A stage that declares nothing is not forecast.
        ("cross-validation:scheme=leave-one-out,base=(relieff knn)", 9, 3, None),
        ("mim:top=5 turf:base=jmi", 50, 9, None),
        ("jmi npfs", 50, 9, None),
    ],
)
def test_costs_of_stages_add_up_and_multiply(text, n, p, seconds):
    cost = Chain.parse(text).cost(n, p)
    assert (cost and cost.seconds) == (seconds and pytest.approx(seconds))


@pytest.mark.parametrize(
    ("text", "n", "p", "seconds"),
    [
        ("im4e", 500, 2000, 0.85),
        ("im4e", 5000, 20, 0.78),
        ("bim", 200, 40, 2.1),
        ("bim", 1000, 10, 8.9),
        ("simba", 4000, 200, 1.5),
        ("simba:passes=5", 6000, 30, 1.7),
        ("simba-mbiw", 3000, 50, 0.52),
        ("mbiw", 4000, 200, 1.1),
        ("irelief", 5000, 200, 6.2),
        ("lfe", 200, 1000, 3.9),
        ("logo", 1000, 500, 6.0),
        ("logo", 5000, 20, 8.8),
        ("gflip", 3000, 50, 3.9),
        ("rfe", 3000, 20, 2.2),
        ("rfe:of=LinearSVC", 5000, 40, 0.5),
        ("rfe:step=0.1,of=RandomForestClassifier", 300, 40, 1.7),
        ("rfecv", 1500, 15, 1.9),
        ("sequential:top=3", 300, 50, 2.2),
        ("lasso", 1000, 500, 4.7),
        ("elastic-net", 3000, 50, 0.81),
        ("importance:of=LogisticRegression", 5000, 50, 0.21),
        ("importance:measure=held-out", 1000, 60, 12.4),
        ("vls", 3000, 300, 4.2),
        ("turf:base=relieff", 2000, 100, 1.05),
    ],
)
def test_forecasts_are_within_a_factor_of_three_of_measured_seconds(text, n, p, seconds):
    assert seconds / 3 < Chain.parse(text).cost(n, p).seconds < 3 * seconds


@pytest.mark.parametrize(
    ("chain", "n", "p", "words"),
    [
        ("immigrate npfs", 40_000, 9, ["immigrate:prototypes=1000"]),
        ("surf npfs", 12_000, 300, ["Screen first (mim:top=100)", "surf:m=1000"]),
        ("rfe:top=3 npfs", 40_000, 9, ["rfe:of=LinearSVC"]),
        ("boruta npfs", 40, 40, ["forecast: about 21."]),
        ("rfe:of=LinearSVC npfs", 40_000, 9, []),
        ("immigrate:prototypes=100 npfs:n=20", 40_000, 9, []),
        ("boruta:trees=5,max_runs=5 npfs:n=10", 40, 40, []),
    ],
)
def test_a_forecast_of_hours_says_what_makes_it_less_on_this_table(chain, n, p, words):
    data = Dataset.from_arrays(np.zeros((n, p)), np.arange(n) % 2)
    told = [w for w in Chain.parse(chain).forewarnings(data) if "hours" in w]
    assert len(told) == bool(words)
    assert all(word in text for text in told for word in words)
    assert p > 40 or not any("Screen" in text for text in told)


def test_a_run_of_minutes_is_told_with_what_divides_it(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n" + "".join(f"{k},{k % 7},{k % 2}\n" for k in range(30)))
    words = ["chain", "mim", "ensemble:n=2", "on", str(path), "--no-out"]
    monkeypatch.setattr("fsframe.chains.stage.available_processors", lambda: 3)
    assert "forecast" not in fsframe(*words).err
    monkeypatch.setattr(Chain, "cost", lambda *_: Cost(seconds=200.0, formula="200"))
    told = fsframe(*words).err
    assert "forecast: about 3 min of processor time" in told
    assert "; --workers 3 divides the resamples" in told
    assert "workers" not in fsframe(*words[:2], *words[3:]).err
    monkeypatch.setattr(Chain, "cost", lambda *_: Cost(seconds=7200.0, formula="7200"))
    told = fsframe(*words).err
    assert told.count("forecast") == 1 and "2.0 hours" in told and "--workers 3" in told
    # Runs of a comparison are alike: one note tells of all.
    monkeypatch.setattr(Chain, "cost", lambda *_: Cost(seconds=200.0, formula="200"))
    many = fsframe("compare", "mim knn", "variance knn", "on", str(path), "--folds", "2",
                   "--repeats", "1").err  # fmt: skip
    assert many.count("forecast") == 1


# What each test says of a feature, relevant or needed, and that every screen says it


LEVELS = {"alpha", "level", "false_selections", "correction"}
"""Parameters that only methods with p-values or an error rate have."""

SETTINGS = {"permutations": 99, "stop": "significant"}
"""What makes tests of methods that test by request only."""


def settings_of(name: str) -> dict[str, object]:
    """Of `SETTINGS`, those of a method; permutations of one with a bound are a choice of it."""
    names = {field.name for field in attrs.fields(selectors[name])}
    left_out = {"permutations"} if "bound" in names else set()
    return {key: value for key, value in SETTINGS.items() if key in names - left_out}


def with_levels() -> list[str]:
    """Every installed method that can control an error rate."""
    return [
        offer.name
        for offer in selectors.offers()
        if LEVELS & {field.name for field in attrs.fields(selectors[offer.name])}
    ]


def test_methods_that_can_control_an_error_rate_are_known() -> None:
    assert {"npfs", "cpss", "ipss", "knockoffs", "anova-f", "chi2", "boruta", "interactions",
            "interactions-split", "cox-score", "relieff", "mrmr"} <= set(with_levels())  # fmt: skip


FEW = {"trees": 5, "max_runs": 3}
"""Little work, where a method has such a parameter; `permutations` are those of `SETTINGS`."""


def flat(record: RunRecord) -> str:
    """The screen of a run, in one line."""
    return " ".join(" ".join(result_lines(record, None)).split())


def stated(text: str) -> list[tuple[str, Statement]]:
    return list(Chain.parse(text).statements())


@pytest.mark.parametrize("name", with_levels())
def test_every_method_that_controls_an_error_rate_states_what_it_tests(name: str) -> None:
    method = selectors[name]
    names = {field.name for field in attrs.fields(method)}
    draw = np.random.default_rng(0)
    X, task = draw.normal(size=(60, 4)), sorted(method.tasks)[0]
    y = np.arange(60) % 2 if task == "classification" else draw.exponential(size=60)
    data = Dataset.from_arrays(
        X, y, task=None if task == "survival" else task,
        event=np.ones(60) if task == "survival" else None,
    )  # fmt: skip
    wrapped = "correlation:threshold=1,top=2 " if getattr(method, "wrapping", False) else ""
    few = {key: value for key, value in FEW.items() if key in names}
    few |= {"n": 5, "permutations": 19, "alpha": 0.2} if name == "npfs" else {}
    given = [f"{key}={value}" for key, value in (settings_of(name) | few).items()]
    text = f"{wrapped}{name}{':' if given else ''}{','.join(given)}"
    try:
        record = Chain.parse(text).run(data)
    except RequestError as error:  # Of a family with permutations, but without them itself.
        assert "permutations are not supported" in str(error) and method().statement() is None
        assert result_object(Chain.parse(name).run(data), None)["statements"] == []
        return
    result = result_object(record, None)["statements"]
    said = Chain.parse(record.chain).stages[-1].method.statement()
    assert said is not None and said.kind in ("marginal", "conditional")
    stated_of = [(one["stage"], one["kind"], one["word"]) for one in result]
    assert stated_of == [(name, said.kind, said.word)]
    assert all(one["sentence"] in flat(record) for one in result)


@pytest.mark.parametrize(
    ("chain", "expected"),
    [
        ("anova-f:alpha=0.05", [("anova-f", RELEVANT)]),
        ("mim:top=20 immigrate npfs", [("npfs", RELEVANT)]),
        ("lasso:top=4 cpss", [("cpss", NEEDED)]),
        ("mim:top=4 cpss", [("cpss", RELEVANT)]),
        ("cpss:base=(anova-f elastic-net:top=4)", [("cpss", NEEDED)]),
        ("lasso:top=9 ipss", [("ipss", NEEDED)]),
        ("relieff ipss", [("ipss", RELEVANT)]),
        ("importance ipss", [("ipss", RELEVANT)]),  # Copies share the importance of a cause.
        ("correlation:threshold=1 knockoffs", [("knockoffs", NEEDED)]),
        ("boruta interactions", [("boruta", RELEVANT), ("interactions", INTERACTING)]),
        ("relieff:permutations=99", [("relieff", RELEVANT)]),
        ("relieff", []),
        ("jmi:stop=significant", [("jmi", ADDING)]),
        ("jmi lasso", []),
        ("anova-f ensemble", []),
    ],
)
def test_what_is_stated_depends_on_the_test_and_on_what_it_resamples(
    chain: str, expected: list[tuple[str, Statement]]
) -> None:
    assert stated(chain) == expected


@pytest.mark.parametrize(
    ("chain", "adjust", "sentence"),
    [
        (
            "lasso:top=2 cpss:pairs=5",
            None,
            "cpss tests whether a feature is needed (conditional): whether it carries information "
            "about the label beyond all other features.",
        ),
        (
            "anova-f",
            "age",
            "anova-f tests whether a feature is relevant (marginal): whether it carries "
            "information about the label, even if other features carry the same, given age.",
        ),
        ("mim:top=2", None, ""),
    ],
)
def test_screen_report_and_methods_text_say_it(
    chain: str, adjust: str | None, sentence: str
) -> None:
    X, y = np.random.default_rng(0).normal(size=(60, 4)), np.arange(60) % 2
    data = Dataset.from_arrays(X, y, ["a", "b", "c", "age"])
    record = Chain.parse(chain).run(data.with_roles(adjust=adjust) if adjust else data)
    screen = flat(record)
    shown = result_object(record, None)["statements"]
    assert [one["sentence"] for one in shown] == [sentence] * bool(sentence)
    for text in (screen, report_page(record), methods_paragraph(record)):
        assert (sentence in text) if sentence else " tests whether " not in text


@pytest.mark.parametrize(("chain", "tests"), [("anova-f", False), ("anova-f:alpha=0.5", True)])
def test_a_ranking_of_rows_that_belong_together_tests_nothing(chain: str, tests: bool) -> None:
    draw = np.random.default_rng(0)
    people = np.repeat(np.arange(15), 4)
    data = Dataset.from_arrays(draw.normal(size=(60, 4)), people % 2, groups=people)
    record = Chain.parse(chain).run(data)
    assert ("tests whether" in flat(record)) == tests
    assert bool(result_object(record, None)["statements"]) == tests
    assert ("p_values" in record.stages[0].selection.tables) == tests  # type: ignore[union-attr]
